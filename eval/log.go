package eval

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/report"
)

// A log is a file of records that one run at a time appends to.
type log struct {
	path   string
	file   *os.File
	done   map[string]bool // identifiers of the records that were in it
	failed int             // of these, with an error
	torn   bool            // whether a torn line was cut off
}

// openLog opens the file, or makes it, and reads what is there. A last line
// without an end is cut off: its utterance will be run again. Records of another
// run, lines that are no records and another process at the same file are errors.
func openLog(path string, run report.Run, watch func(*report.Record)) (*log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	l := &log{path: path, file: f, done: map[string]bool{}}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another process is writing it: %w", path, err)
	}
	if err = l.mend(); err == nil {
		err = l.load(run, watch)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// mend cuts off what follows the last end of a line.
func (l *log) mend() error {
	size, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	whole, err := lastEnd(l.file, size)
	if err != nil || whole == size {
		return err
	}
	l.torn = true
	return l.file.Truncate(whole)
}

// lastEnd returns the place behind the last end of a line, 0 if there is none.
func lastEnd(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 1<<12)
	for end := size; end > 0; {
		part := buf[:min(end, int64(len(buf)))]
		end -= int64(len(part))
		if _, err := f.ReadAt(part, end); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return end + int64(i) + 1, nil
		}
	}
	return 0, nil
}

// load reads the records that are there.
func (l *log) load(run report.Run, watch func(*report.Record)) error {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for r, err := range report.Read(l.path, l.file) {
		if err != nil {
			return err
		}
		if err := sameRun(l.path, r.Run, run); err != nil {
			return err
		}
		if l.done[r.ID] {
			return fmt.Errorf("%s: utterance %s is there twice", l.path, r.ID)
		}
		l.done[r.ID] = true
		if r.Error != "" {
			l.failed++
		}
		if watch != nil {
			watch(r)
		}
	}
	return nil
}

// sameRun compares everything that text depends on.
func sameRun(path string, got, want report.Run) error {
	for _, x := range []struct{ thing, got, want string }{
		{"code", got.Code, want.Code},
		{"model", got.Model, want.Model},
		{"model id", got.ModelID, want.ModelID},
		{"assistant", got.Assistant, want.Assistant},
		{"dataset", got.Dataset, want.Dataset},
		{"options", spell(got.Options), spell(want.Options)},
	} {
		if x.got != x.want {
			return &MismatchError{path, x.thing, x.got, x.want}
		}
	}
	return nil
}

func spell(options map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(options)) {
		fmt.Fprintf(&b, " --%s=%s", name, options[name])
	}
	return strings.TrimPrefix(b.String(), " ")
}

// append writes a record with one write.
func (l *log) append(r *report.Record) error {
	line, err := r.Line()
	if err != nil {
		return fmt.Errorf("record %s: %w", r.ID, err)
	}
	_, err = l.file.Write(line)
	return err
}

func (l *log) sync() error { return l.file.Sync() }

func (l *log) close() { l.file.Close() } // sync has reported what went wrong
