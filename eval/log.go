package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"verity/eval/report"
	"verity/internal/output"
	"verity/transcript"
)

// A log is the record files of some arms, one for a plain run: record i of every file is
// of the same utterance. One process at a time appends to them. A log without files
// stores nothing.
type log struct {
	files  []*logFile
	done   map[string]uint64 // by id, rowOf of utterances with a record in every file, without failures
	failed int               // records of failures found
	torn   bool              // a file had an incomplete last line
	order  []string          // utterances of the records, as they stand in the files
	ids    []string          // of the pass over the rows so far
}

// A logFile is one file of a log.
type logFile struct {
	*os.File
	name string
	run  transcript.Maker
	size int64 // of all that is known to be in it
}

// disk holds the file operations that may fail. Tests replace them.
var disk = struct {
	rename func(from, to string) error
	sync   func(*os.File) error
}{
	//verity:writes a variable for tests; rewrite replaces records that it has checked
	os.Rename, (*os.File).Sync,
}

// openLog opens or creates the files of arms in a folder, reads the records of an earlier
// run and passes them to found, an utterance at a time. What is not whole is removed, to
// be run again: records of failures, of utterances that an arm lacks because the run was
// killed, and incomplete last lines. Records of another run, lines that are not records
// and another process that has a file open are errors, and leave the files unchanged. An
// empty folder gives a log without files.
func openLog(dir string, arms []Arm, found func([]*report.Record) error) (l *log, err error) {
	l = &log{done: map[string]uint64{}}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if dir == "" {
		return l, nil
	}
	//verity:writes an empty directory does no harm
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return l, err
	}
	for _, arm := range arms {
		f := &logFile{name: filepath.Join(dir, arm.Name+".jsonl"), run: arm.Run}
		if err := f.open(); err != nil {
			return l, err
		}
		l.files = append(l.files, f)
	}
	dropped, err := l.load(found)
	if err == nil && (dropped || l.torn) {
		err = l.rewrite(l.order, false)
	}
	return l, err
}

func (f *logFile) open() (err error) {
	if f.File, err = openLocked(f.name); err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			f.size = info.Size()
		}
	}
	return err
}

// kept returns an error unless the file is what was found and written: another program may
// have cut, replaced or moved it, and records would be lost without a word.
func (f *logFile) kept() error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(f.name)
	switch {
	case err != nil:
		return fmt.Errorf("another program took it away during the run: %w", err)
	case !os.SameFile(mine, there):
		return fmt.Errorf("%s: another program replaced it during the run: remove it, and run again", f.name)
	case mine.Size() != f.size:
		return fmt.Errorf("%s: another program wrote to it during the run: got %d bytes, want %d: run again for what is missing", f.name, mine.Size(), f.size)
	}
	return nil
}

// openLocked opens and locks a file. If another process replaces it meanwhile, it opens
// the new one.
func openLocked(name string) (*os.File, error) {
	for {
		f, err := output.Own(name, os.O_RDWR|os.O_APPEND)
		if err != nil {
			return nil, err
		}
		if !lock(f) {
			f.Close()
			return nil, fmt.Errorf("%s: another process is writing it", name)
		}
		mine, err := f.Stat()
		if there, problem := os.Stat(name); err == nil && problem == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// lockWait is how long lock waits: a process that was just killed may still be exiting.
var lockWait = 3 * time.Second

// lock keeps other processes from writing f, until this one ends, however it ends. On Windows
// it would keep them from reading, too.
func lock(f *os.File) bool {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		ok, _ := output.TryLock(f)
		if ok || runtime.GOOS == "windows" || time.Since(began) > lockWait {
			return ok || runtime.GOOS == "windows"
		}
	}
}

// load reads all files in parallel, and reports whether records must be removed.
func (l *log) load(found func([]*report.Record) error) (dropped bool, err error) {
	next := make([]func() (*report.Record, error, bool), len(l.files))
	for i, f := range l.files {
		var stop func()
		next[i], stop = iter.Pull2(l.records(f))
		defer stop()
	}
	for {
		records, failed := make([]*report.Record, 0, len(next)), false
		for _, pull := range next {
			switch r, err, ok := pull(); {
			case err != nil:
				return false, err
			case ok:
				records, failed = append(records, r), failed || r.Error != ""
			}
		}
		if len(records) == 0 {
			return dropped, nil
		}
		if failed {
			l.failed++
		}
		if failed || len(records) < len(next) {
			dropped = true
			continue // check the rest: it must be of this run, too
		}
		if err := l.add(records); err != nil {
			return false, err
		}
		if err := found(records); err != nil {
			return false, err
		}
	}
}

// records yields the records of a file. Records of another run and lines that are not
// records end it with an error. An incomplete last line sets torn.
func (l *log) records(f *logFile) iter.Seq2[*report.Record, error] {
	return func(yield func(*report.Record, error) bool) {
		some := false
		for r, err := range report.Read(f.name, io.NewSectionReader(f, 0, 1<<62)) {
			if errors.Is(err, report.ErrTorn) {
				l.torn = true
				if !some && !ours(f.File) {
					yield(nil, fmt.Errorf("%s: it holds no records: name another folder, or remove the file", f.name))
				}
				return
			}
			if err != nil && !some {
				err = fmt.Errorf("%s: it holds no records: name another folder, or remove the file (%w)", f.name, err)
			}
			if err == nil {
				some = true
				if thing, got, want := r.Run.Differs(f.run); thing != "" {
					err = fmt.Errorf("%s holds records of another run: %s: got %q, want %q; name another folder, or remove the file",
						f.name, thing, got, want)
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// ours reports whether a file begins as a record does, as far as it goes: else it is not ours
// to change.
func ours(f *os.File) bool {
	const begin = `{"schema":"` + report.RecordSchema + `"`
	head := make([]byte, len(begin))
	n, err := f.ReadAt(head, 0)
	return (err == nil || err == io.EOF) && strings.HasPrefix(begin, string(head[:n]))
}

// add notes an utterance that has its records.
func (l *log) add(records []*report.Record) error {
	first := records[0]
	for i, r := range records {
		if r.ID != first.ID {
			return fmt.Errorf("%s and %s are not of one comparison: utterance %s is paired with %s",
				l.files[0].name, l.files[i].name, first.ID, r.ID)
		}
	}
	if _, twice := l.done[first.ID]; twice {
		return fmt.Errorf("%s: utterance %s is there twice", l.files[0].name, first.ID)
	}
	l.done[first.ID] = rowOf(first.Audio, first.Reference, first.Offset)
	l.order = append(l.order, first.ID)
	return nil
}

// rowOf is a hash of what may differ between rows of one name.
func rowOf(audio, text string, offset float64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %v", audio, text, offset)
	return h.Sum64()
}

// recorded processes a row of the pass, and reports whether it has its records.
func (l *log) recorded(it Row) (bool, error) {
	id := it.ID
	if it.Broken != nil && it.Broken.ID != "" {
		if _, ok := l.done[it.Broken.ID]; ok {
			id = it.Broken.ID // it has a record from before the row broke
		}
	}
	l.ids = append(l.ids, id)
	row, ok := l.done[id]
	if !ok {
		return false, nil
	}
	if it.Broken == nil && row != rowOf(it.Audio.Path, it.Text, it.Offset) {
		return false, fmt.Errorf("%s: utterance %s had another sound or text when it was recorded: "+
			"name another folder, or remove its line", l.files[0].name, id)
	}
	return true, nil
}

// append appends the records of an utterance, each with one write.
func (l *log) append(records ...*report.Record) error {
	l.order = append(l.order, records[0].ID)
	for i, f := range l.files {
		line, err := records[i].Line()
		if err != nil {
			return err
		}
		n, err := f.Write(line)
		if f.size += int64(n); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the pass: all is on the disk, in the order of the rows. Records of rows
// beyond the pass's limit stay at the end.
func (l *log) finish() error {
	for _, f := range l.files {
		if err := f.kept(); err != nil {
			return err
		}
	}
	passed := make(map[string]bool, len(l.ids))
	for _, id := range l.ids {
		passed[id] = true
	}
	var sorted, rest []string
	for _, id := range l.order {
		if passed[id] {
			sorted = append(sorted, id)
		} else {
			rest = append(rest, id)
		}
	}
	if !slices.Equal(sorted, l.ids) {
		return l.rewrite(slices.Concat(l.ids, rest), true)
	}
	var err error
	for _, f := range l.files {
		err = errors.Join(err, disk.sync(f.File))
	}
	return err
}

func (l *log) rewrite(ids []string, failures bool) error {
	for _, f := range l.files {
		if err := f.rewrite(ids, failures); err != nil {
			return fmt.Errorf("%s: rewriting it: %w", f.name, err)
		}
	}
	return nil
}

// rewrite atomically replaces the file by one with the records of these names, in this
// order, those of failures only if wanted.
func (f *logFile) rewrite(ids []string, failures bool) (err error) {
	lines, err := f.lines(failures)
	if err != nil {
		return err
	}
	to, err := f.beside()
	if err != nil {
		return err
	}
	//verity:writes the temporary file that this function created
	defer os.Remove(to.Name()) // fails after a rename
	if info, problem := f.Stat(); problem == nil {
		err = to.Chmod(info.Mode().Perm())
	}
	b := bufio.NewWriterSize(to, 1<<16)
	for _, id := range ids {
		if line := lines[id]; err == nil {
			_, err = io.Copy(b, io.NewSectionReader(f, line[0], line[1]))
		}
	}
	if err = cmp.Or(err, b.Flush()); err == nil {
		err = disk.sync(to)
	}
	if err = cmp.Or(err, to.Close()); err != nil {
		return err
	}
	f.Close() // some systems do not replace an open file
	if err := disk.rename(to.Name(), f.name); err != nil {
		return err
	}
	return f.open()
}

// beside makes an empty file beside f, or empties one that a run left which was killed. What
// else has such a name stays, and another is taken.
func (f *logFile) beside() (to *os.File, err error) {
	for _, end := range []string{".new", ".new1", ".new2"} {
		if to, err = output.Own(f.name+end, os.O_RDWR); err != nil {
			continue
		}
		if ours(to) {
			return to, to.Truncate(0)
		}
		to.Close()
		err = fmt.Errorf("%s%s holds no records: remove it", f.name, end)
	}
	return nil, err
}

// lines returns the offset and the length of each record's line.
func (f *logFile) lines(failures bool) (map[string][2]int64, error) {
	found, at := map[string][2]int64{}, int64(0)
	for b := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 1<<16); ; {
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
				return nil, err
			}
		}
		if failures || r.Error == "" {
			found[r.ID] = [2]int64{at, int64(len(line))}
		}
		at += int64(len(line))
	}
}

func (l *log) close() {
	for _, f := range l.files {
		f.Close() // finish has reported the error
	}
}
