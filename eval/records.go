package eval

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"verity/eval/report"
	"verity/internal/output"
	"verity/internal/show"
	"verity/transcript"
)

// A recordWriter writes the record files of some variants, one for a plain run. Every file has a record of
// each utterance. One process at a time appends to them; nothing that was written is
// changed. One without files stores nothing.
type recordWriter struct {
	files  []*recordFile
	done   map[string]uint64 // by id, rowHash of utterances with a record in every file, without failures
	failed map[string]int    // by id, rows of utterances that failed in a file
	torn   bool              // a file had an incomplete last line, which was cut off
}

// A recordFile is a file that a recordWriter appends to.
type recordFile struct {
	*os.File
	name  string
	run   transcript.Provenance
	found []*report.Record // of an earlier run, by row
	torn  int64            // offset of an incomplete last line; -1 for none
}

// syncFile flushes a file to the disk. Tests replace it.
var syncFile = (*os.File).Sync

// openRecords opens or creates the files of variants in a folder, reads the records of an earlier run
// and passes them to found, an utterance at a time. Utterances that failed, and those that a variant
// lacks because the run was killed, will run again. An incomplete last line is cut off. It is an
// error, and leaves the files unchanged, if there are records of another run or lines that are not
// records, or if another process writes a file. With an empty folder name there are no files.
func openRecords(dir string, variants []Variant, found func([]*report.Record) error) (l *recordWriter, err error) {
	l = &recordWriter{done: map[string]uint64{}, failed: map[string]int{}}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if dir == "" {
		return l, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return l, err
	}
	for _, variant := range variants {
		f := &recordFile{name: filepath.Join(dir, variant.Name+".jsonl"), run: variant.Run, torn: -1}
		if f.File, err = openLocked(f.name); err != nil {
			return l, err
		}
		l.files = append(l.files, f)
	}
	if err := l.readFound(); err != nil {
		return l, err
	}
	if err := l.passOn(found); err != nil {
		return l, err
	}
	for _, f := range l.files {
		if f.torn >= 0 {
			l.torn = true
			if err := f.Truncate(f.torn); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

// openLocked opens a file and keeps other processes from writing it until this process ends, however it ends. On
// Windows a lock also prevents reading, so there a failure is ignored.
func openLocked(name string) (*os.File, error) {
	f, err := output.Open(name, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if locked, _ := output.TryLock(f); !locked && runtime.GOOS != "windows" {
		f.Close()
		return nil, fmt.Errorf("%s: another process is writing it", name)
	}
	return f, nil
}

// readFound reads all files, and finds the utterances that are done and those that failed.
func (l *recordWriter) readFound() error {
	whole := map[string]int{} // by id, in how many files there is a record without failure
	for _, f := range l.files {
		if err := f.readRecords(); err != nil {
			return err
		}
		for _, r := range f.found {
			if r.Error != "" {
				l.failed[r.ID] = r.Row
				continue
			}
			whole[r.ID]++
			l.done[r.ID] = rowHash(r.Audio, r.Reference, r.Offset)
		}
	}
	for id, n := range whole {
		if n < len(l.files) {
			delete(l.done, id)
		}
	}
	return nil
}

// passOn passes on the records of utterances that are done.
func (l *recordWriter) passOn(found func([]*report.Record) error) error {
	for _, f := range l.files {
		f.found = slices.DeleteFunc(f.found, func(r *report.Record) bool { return !l.has(r.ID) })
	}
	for i := range len(l.done) {
		var records []*report.Record
		for _, f := range l.files {
			r, first := f.found[i], l.files[0].found[i]
			if r.ID != first.ID {
				return fmt.Errorf("%s and %s are not of one comparison: utterance %s is paired with %s",
					l.files[0].name, f.name, first.ID, r.ID)
			}
			records = append(records, r)
		}
		if err := found(records); err != nil {
			return err
		}
	}
	for _, f := range l.files {
		f.found = nil
	}
	return nil
}

func (l *recordWriter) has(id string) bool { _, ok := l.done[id]; return ok }

// refuse returns the error of a file that holds something else.
func (f *recordFile) refuse(format string, args ...any) error {
	return &output.Error{Name: f.name, Err: fmt.Errorf(format, args...), Unfit: true}
}

// readRecords reads the records of a file. Records of another run and lines that are not records are an error. An incomplete
// last line sets torn.
func (f *recordFile) readRecords() error {
	records, bad, err := report.Read(f.name, io.NewSectionReader(f, 0, math.MaxInt64))
	for _, r := range records {
		if thing, got, want := r.Run.FirstDifference(f.run); thing != "" {
			thing = strings.TrimPrefix(thing+" ", "options ")
			return f.refuse("it holds results of another run, with %s%s; this run has %s: name another directory, "+
				"or remove the file", thing, show.Line(cmp.Or(got, "none")), show.Line(cmp.Or(want, "none")))
		}
	}
	f.found = records
	if err == nil && len(bad) > 0 {
		err = bad[0]
	}
	if errors.Is(err, report.ErrTorn) {
		size, err := f.Seek(0, io.SeekEnd)
		f.torn = size - int64(bad[0].Length)
		if len(records) == 0 && !f.beginsAsRecords() {
			err = f.refuse("it holds no records: name another folder, or remove the file")
		}
		return err
	}
	if err != nil && len(records) == 0 {
		err = f.refuse("it holds no records: name another folder, or remove the file (%w)", err)
	}
	return err
}

// beginsAsRecords reports whether a file, which may be short, begins as a record does. Any other
// file is not cut off: it belongs to somebody else.
func (f *recordFile) beginsAsRecords() bool {
	const begin = `{"schema":"` + report.RecordSchema + `"`
	head := make([]byte, len(begin))
	n, err := f.ReadAt(head, 0)
	return (err == nil || err == io.EOF) && strings.HasPrefix(begin, string(head[:n]))
}

// rowHash is a hash of what may differ between rows with the same name.
func rowHash(audio, text string, offset float64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %v", audio, text, offset)
	return h.Sum64()
}

// recorded reports whether a row of the dataset has its records.
func (l *recordWriter) recorded(it Row) (bool, error) {
	delete(l.failed, it.ID) // the dataset still has it
	if it.Broken != nil && l.has(it.Broken.ID) {
		return true, nil // it has a record from before the row broke
	}
	row, ok := l.done[it.ID]
	if ok && it.Broken == nil && row != rowHash(it.Audio.Path, it.Text, it.Offset) {
		return false, fmt.Errorf("%s: utterance %s had another sound or text when it was recorded: "+
			"name another folder, or remove its line", l.files[0].name, it.ID)
	}
	return ok, nil
}

// write appends the records of an utterance, each with one write.
func (l *recordWriter) write(records ...*report.Record) error {
	for i, f := range l.files {
		line, err := records[i].Line()
		if err != nil {
			return err
		}
		if _, err := f.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// finish ends a pass over all rows: it flushes the files to the disk. Failures of rows that
// the dataset no longer has are withdrawn, unless the pass was limited.
func (l *recordWriter) finish(limited bool) (err error) {
	for _, id := range slices.Sorted(maps.Keys(l.failed)) {
		if limited {
			break
		}
		records := make([]*report.Record, len(l.files))
		for i, f := range l.files {
			records[i] = &report.Record{ID: id, Row: l.failed[id], Run: f.run, Withdrawn: true}
		}
		if err := l.write(records...); err != nil {
			return err
		}
	}
	for _, f := range l.files {
		err = errors.Join(err, syncFile(f.File))
	}
	return err
}

func (l *recordWriter) close() {
	for _, f := range l.files {
		f.Close() // finish has reported the error
	}
}
