package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"verity/internal/output"
)

// mend removes failures and an incomplete last line from the file.
func (l *log) mend() error {
	if l.failed > 0 {
		return l.rewrite(l.names(), false)
	}
	if !l.torn {
		return nil
	}
	whole, err := lastEnd(l.file, l.size)
	if err == nil {
		err = l.file.Truncate(whole)
	}
	l.size = whole
	return err
}

// lastEnd returns the offset after the last line end, 0 if there is none.
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

// names returns the identifiers of the records in the file, in order.
func (l *log) names() []string {
	ids := make([]string, len(l.done))
	for id, e := range l.done {
		ids[e.at] = id
	}
	return ids
}

// rewrite atomically replaces the file by one with the records of these names, in this
// order. Records of failures are left out unless failures is set. The new file is
// locked before it replaces the old one, so that no other process can open it in
// between.
func (l *log) rewrite(ids []string, failures bool) error {
	if l.file == nil {
		return nil
	}
	if err := l.check(); err != nil {
		return err
	}
	lines, err := l.lines(failures)
	if err != nil {
		return err
	}
	to := l.path + ".new"
	f, err := l.write(to, ids, lines)
	if err != nil {
		os.Remove(to)
		return fmt.Errorf("%s: rewriting it: %w", l.name, err)
	}
	if !replacesOpen {
		f.Close()
		l.close()
		return cmp.Or(disk.rename(to, l.path), l.open())
	}
	if err := disk.rename(to, l.path); err != nil {
		f.Close()
		os.Remove(to)
		return err
	}
	l.close()
	l.file = f
	_, l.size, err = l.same(f)
	return err
}

// write creates a file with lines of the log.
func (l *log) write(to string, ids []string, lines map[string]span) (*os.File, error) {
	f, err := output.Own(to, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if err = cmp.Or(lock(f), f.Truncate(0)); err == nil {
		if info, problem := l.file.Stat(); problem == nil {
			err = f.Chmod(info.Mode().Perm())
		}
	}
	b := bufio.NewWriterSize(f, 1<<16)
	for _, id := range ids {
		if line := lines[id]; err == nil {
			_, err = io.Copy(b, io.NewSectionReader(l.file, line.from, line.size))
		}
	}
	if err = cmp.Or(err, b.Flush()); err == nil {
		err = disk.sync(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// A span is the position of a line in the file.
type span struct{ from, size int64 }

// lines returns the position of each record's line. Failures are left out unless
// wanted.
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
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
		}
		if failures || r.Error == "" {
			found[r.ID] = span{at, int64(len(line))}
		}
		at += int64(len(line))
	}
}
