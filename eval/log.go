package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"

	"verity/report"
)

// A log is a file of records that one run at a time appends to.
type log struct {
	path   string
	file   *os.File
	done   map[string]entry // records that were in it, but for failures
	failed int              // records of failures, taken out: they are tried again
	torn   bool             // whether a torn line was cut off
}

// An entry is a record that is there.
type entry struct {
	row uint64 // what it is a record of
	at  int    // its place among the records, from 0
}

// rowOf tells rows of one name apart: a record is of the row that has its sound, its
// text and its place in the sound.
func rowOf(audio, text string, offset float64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %v", audio, text, offset)
	return h.Sum64()
}

// openLog opens the file, or makes it, and reads what is there. A last line
// without an end is cut off and records of failures are taken out: their utterances
// will be run again. Records of another run, lines that are no records and another
// process at the same file are errors.
func openLog(path string, run report.Run, watch func(*report.Record)) (*log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	l := &log{path: path, done: map[string]entry{}}
	if err := l.open(); err != nil {
		return nil, err
	}
	err := l.mend()
	if err == nil {
		err = l.load(run, watch)
	}
	if err == nil && l.failed > 0 {
		err = l.rewrite(l.names(), false)
	}
	if err == nil {
		_, err = l.file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// open opens the file for this process alone.
func (l *log) open() error {
	for {
		f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		if err := lock(f); err != nil {
			f.Close()
			return fmt.Errorf("%s: another process is writing it: %w", l.path, err)
		}
		mine, err := f.Stat()
		if err == nil {
			var there os.FileInfo
			if there, err = os.Stat(l.path); err == nil && os.SameFile(mine, there) {
				l.file = f
				return nil
			}
		}
		f.Close()
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		// Who had the lock has put another file in this one's place.
	}
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
		if thing, got, want := r.Run.Differs(run); thing != "" {
			return &MismatchError{l.path, thing, got, want}
		}
		if r.Error != "" {
			l.failed++
			continue
		}
		if _, twice := l.done[r.ID]; twice {
			return fmt.Errorf("%s: utterance %s is there twice", l.path, r.ID)
		}
		l.done[r.ID] = entry{rowOf(r.Audio, r.Reference, r.Offset), len(l.done)}
		if watch != nil {
			watch(r)
		}
	}
	return nil
}

// names are the identifiers of the records that were there, in their order.
func (l *log) names() []string {
	ids := make([]string, len(l.done))
	for id, e := range l.done {
		ids[e.at] = id
	}
	return ids
}

// rewrite puts a file with the records of these names, in this order, in the place
// of the one that is there, at once: a kill leaves one or the other. Records of
// failures go with them only if asked for.
func (l *log) rewrite(ids []string, failures bool) error {
	lines, err := l.lines(failures)
	if err != nil {
		return err
	}
	to := l.path + ".new"
	if err := l.write(to, ids, lines); err != nil {
		os.Remove(to)
		return err
	}
	l.close() // some systems do not put a file in the place of an open one
	return cmp.Or(os.Rename(to, l.path), l.open())
}

// write copies lines of the file to another one.
func (l *log) write(to string, ids []string, lines map[string]span) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<16)
	for _, id := range ids {
		if line := lines[id]; err == nil {
			_, err = io.Copy(b, io.NewSectionReader(l.file, line.from, line.size))
		}
	}
	return cmp.Or(err, b.Flush(), f.Sync(), f.Close())
}

// A span is where a line stands in the file.
type span struct{ from, size int64 }

// lines finds the line of every record, or of every one that is no failure.
func (l *log) lines(failures bool) (map[string]span, error) {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	found, at := map[string]span{}, int64(0)
	for b := bufio.NewReaderSize(l.file, 1<<16); ; {
		line, err := b.ReadBytes('\n')
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		var r struct{ ID, Error string }
		if len(bytes.TrimSpace(line)) > 0 {
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, fmt.Errorf("%s: %w", l.path, err)
			}
		}
		if failures || r.Error == "" {
			found[r.ID] = span{at, int64(len(line))}
		}
		at += int64(len(line))
	}
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

// A sequence watches a pass over the rows, to tell whether the records will stand in
// their order.
type sequence struct {
	log     *log
	ids     []string // of the pass so far
	last    int      // place of the last record that was there
	pending bool     // a row has come that had none
	broken  bool     // the order of the file is not that of the rows
}

// next takes a row in and reports whether it has a record.
func (s *sequence) next(it item) (bool, error) {
	id := it.ID
	if it.bad != nil && it.bad.ID != "" {
		if _, ok := s.log.done[it.bad.ID]; ok {
			id = it.bad.ID // it was heard before it broke
		}
	}
	s.ids = append(s.ids, id)
	e, ok := s.log.done[id]
	if !ok {
		s.pending = true
		return false, nil
	}
	if it.bad == nil && e.row != rowOf(it.Audio.Path, it.Text, it.Offset) {
		return false, fmt.Errorf("%s: utterance %s had another sound or text when it was recorded: name another folder, or remove its line", s.log.path, id)
	}
	s.broken = s.broken || s.pending || e.at < s.last
	s.last = e.at
	return true, nil
}

// settle puts the records into the order of the rows, if they are not: records of
// rows that failed once have come behind others. Those of rows that were not in
// this pass, because of a limit, stay at the end.
func (s *sequence) settle() error {
	if !s.broken {
		return nil
	}
	passed := make(map[string]bool, len(s.ids))
	for _, id := range s.ids {
		passed[id] = true
	}
	rest := slices.DeleteFunc(s.log.names(), func(id string) bool { return passed[id] })
	return s.log.rewrite(append(s.ids, rest...), true)
}
