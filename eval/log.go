package eval

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/internal/output"
	"verity/report"
	"verity/transcript"
)

// A log is a file of records that one process at a time appends to. A log without a
// file stores nothing.
type log struct {
	name   string // as given by the caller
	path   string // likewise
	file   *os.File
	size   int64            // of the file, after the last write of this process
	wrote  int              // records written by this process
	done   map[string]entry // records in the file, without failures
	failed int              // records of failures in the file
	torn   bool             // the last line has no line end
}

// An entry is a record in the file.
type entry struct {
	row uint64 // hash of its row
	at  int    // index among the records
}

// rowOf identifies a row by its sound, text and offset, which may differ between rows
// of one name.
func rowOf(audio, text string, offset float64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %v", audio, text, offset)
	return h.Sum64()
}

// disk holds the file operations that may fail. Tests replace them.
var disk = struct {
	rename func(from, to string) error
	sync   func(*os.File) error
}{os.Rename, (*os.File).Sync}

// openLog opens or creates the file and reads the records of an earlier run. An
// incomplete last line and records of failures are removed; those utterances will be
// run again. Records of another run, lines that are not records and another process
// that has the file open are errors, and leave the file unchanged. An empty path gives
// a log without a file.
func openLog(path string, run transcript.Maker, watch func(*report.Record)) (*log, error) {
	l := &log{name: path, path: path, done: map[string]entry{}}
	if path == "" {
		return l, nil
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	var err error
	for r, problem := range l.records(run) {
		if err = problem; err != nil {
			break
		}
		if r.Error != "" {
			continue
		}
		if err = l.add(r); err != nil {
			break
		}
		if watch != nil {
			watch(r)
		}
	}
	if err == nil {
		err = l.mend()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// open opens and locks the file.
func (l *log) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o777); err != nil {
		return err
	}
	for {
		f, err := output.Own(l.path, os.O_RDWR|os.O_APPEND)
		if err != nil {
			return err
		}
		if err := lock(f); err != nil {
			f.Close()
			return fmt.Errorf("%s: another process is writing it: %w", l.name, err)
		}
		same, size, err := l.same(f)
		if same {
			l.file, l.size = f, size
			return nil
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Another process replaced the file while this one waited for the lock.
	}
}

// same reports whether f is still the file at the log's path, and its size.
func (l *log) same(f *os.File) (bool, int64, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, 0, err
	}
	there, err := os.Stat(l.path)
	if err != nil {
		return false, 0, err
	}
	return os.SameFile(mine, there), mine.Size(), nil
}

// records yields the records in the file, failures included, and counts them. Records
// of another run and lines that are not records end it with an error. An incomplete
// last line sets torn.
func (l *log) records(run transcript.Maker) func(yield func(*report.Record, error) bool) {
	return func(yield func(*report.Record, error) bool) {
		if _, err := l.file.Seek(0, io.SeekStart); err != nil {
			yield(nil, err)
			return
		}
		some := false
		for r, err := range report.Read(l.name, l.file) {
			if errors.Is(err, report.ErrTorn) {
				l.torn = true
				continue
			}
			if err != nil && !some {
				err = fmt.Errorf("%s: it holds no records: name another folder, or remove the file (%w)", l.name, err)
			}
			if err == nil {
				some = true
				if thing, got, want := r.Run.Differs(run); thing != "" {
					err = &MismatchError{l.name, thing, got, want}
				}
			}
			if err == nil && r.Error != "" {
				l.failed++
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if l.torn && !some {
			if err := l.ours(); err != nil {
				yield(nil, err)
			}
		}
	}
}

// begin is how each record of this version begins.
const begin = `{"schema":"` + report.RecordSchema + `"`

// ours returns an error if the file has no whole line and does not begin like a record:
// it is not ours to truncate.
func (l *log) ours() error {
	head := make([]byte, len(begin))
	n, err := l.file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if !strings.HasPrefix(begin, string(head[:n])) {
		return fmt.Errorf("%s: it holds no records: name another folder, or remove the file", l.name)
	}
	return nil
}

// add notes a record that is in the file.
func (l *log) add(r *report.Record) error {
	if _, twice := l.done[r.ID]; twice {
		return fmt.Errorf("%s: utterance %s is there twice", l.name, r.ID)
	}
	l.done[r.ID] = entry{rowOf(r.Audio, r.Reference, r.Offset), len(l.done)}
	return nil
}

// A LostError reports that another process removed records during the run.
type LostError struct {
	Path string
	What string // what happened to the file
	Lost int    // records of this run that may be lost
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s was %s by another program during the run: %d of its records may be lost; "+
		"start the run again to make them anew", e.Path, e.What, e.Lost)
}

// check returns an error if the file is not as this process left it.
func (l *log) check() error {
	same, size, err := l.same(l.file)
	what := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "removed"
	case err != nil:
		return err
	case !same:
		what = "replaced"
	case size < l.size:
		what = "cut off"
	case size > l.size:
		what = "written to"
	default:
		return nil
	}
	return &LostError{l.name, what, l.wrote}
}

// append appends a record with one write.
func (l *log) append(r *report.Record) error {
	if l.file == nil {
		return nil
	}
	line, err := r.Line()
	if err != nil {
		return fmt.Errorf("record %s: %w", r.ID, err)
	}
	if err := l.check(); err != nil {
		return err
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	l.wrote++
	return err
}

func (l *log) sync() error {
	if l.file == nil {
		return nil
	}
	return cmp.Or(l.check(), disk.sync(l.file))
}

func (l *log) close() {
	if l.file != nil {
		l.file.Close() // sync has reported the error
	}
}

// A sequence follows a pass over the rows and checks whether the records will be in the
// order of the rows.
type sequence struct {
	log     *log
	ids     []string // of the rows so far
	last    int      // index of the last record found
	pending bool     // a row without a record came before
	broken  bool     // the file is not in the order of the rows
}

// next processes a row and reports whether it has a record.
func (s *sequence) next(it Row) (bool, error) {
	id := it.ID
	if it.Broken != nil && it.Broken.ID != "" {
		if _, ok := s.log.done[it.Broken.ID]; ok {
			id = it.Broken.ID // it has a record from before the row broke
		}
	}
	s.ids = append(s.ids, id)
	e, ok := s.log.done[id]
	if !ok {
		s.pending = true
		return false, nil
	}
	if it.Broken == nil && e.row != rowOf(it.Audio.Path, it.Text, it.Offset) {
		return false, fmt.Errorf("%s: utterance %s had another sound or text when it was recorded: "+
			"name another folder, or remove its line", s.log.name, id)
	}
	s.broken = s.broken || s.pending || e.at < s.last
	s.last = e.at
	return true, nil
}

// settle puts the records of the logs into the order of the rows if they are not:
// records of rows that failed at first are out of order. Records of rows beyond this
// pass's limit stay at the end.
func (s *sequence) settle(logs ...*log) error {
	if !s.broken {
		return nil
	}
	passed := make(map[string]bool, len(s.ids))
	for _, id := range s.ids {
		passed[id] = true
	}
	rest := slices.DeleteFunc(s.log.names(), func(id string) bool { return passed[id] })
	for _, l := range logs {
		if err := l.rewrite(append(slices.Clone(s.ids), rest...), true); err != nil {
			return err
		}
	}
	return nil
}
