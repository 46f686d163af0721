package eval

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"verity/audio"
	"verity/parallel"
	"verity/report"
)

// Options say how to run. The zero value runs all utterances, one at a time.
type Options struct {
	// Dir is the folder to write to. It is made if it is not there. Empty means to
	// write nothing.
	Dir string

	// Shard is the part of the dataset to run.
	Shard Shard

	// Workers is how many utterances are under way at once. 0 means 1. Records are
	// in the dataset's order whatever it is.
	Workers int

	// Limit is the most utterances to run, broken rows not counted. 0 means all.
	Limit int

	// Unscored says that the utterances have no references.
	Unscored bool

	// Sound says how to open the sound of an utterance.
	Sound audio.Input

	// Run goes into every record.
	Run report.Run

	// Watch, if not nil, gets every record as soon as it is written, and first
	// those that a resumed run finds.
	Watch func(*report.Record)
}

// A Shard is every Of-th row of a dataset, beginning with the row I, from 1. The
// zero value is the whole.
type Shard struct{ I, Of int }

// ParseShard reads "2/4".
func ParseShard(s string) (Shard, error) {
	var sh Shard
	if n, err := fmt.Sscanf(s, "%d/%d", &sh.I, &sh.Of); n != 2 || err != nil || sh.String() != s ||
		sh.I < 1 || sh.I > sh.Of {
		return Shard{}, fmt.Errorf("shard %q: want i/n with i from 1 to n, such as 2/4", s)
	}
	return sh, nil
}

// String returns "2/4"; nothing for the whole.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.Of)
}

// has reports whether the row of an index from 0 is in the shard.
func (s Shard) has(row int) bool { return s.Of == 0 || row%s.Of == s.I-1 }

// File is the name of the shard's record file.
func (s Shard) File() string {
	if s.Of == 0 {
		return "records.jsonl"
	}
	return fmt.Sprintf("records-%d-of-%d.jsonl", s.I, s.Of)
}

// A Summary says what a run did.
type Summary struct {
	Path    string // of the records
	Resumed int    // records that were there, but for failures
	Retried int    // records of failures that were there: these utterances were run again
	Torn    bool   // whether a torn line was cut off
	Done    int    // utterances run, those run again included
	Failed  int    // of these, with an error
}

// A MismatchError reports records that another run has left in the folder.
type MismatchError struct {
	Path, Thing string
	Got, Want   string // in the file, in this run
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s holds records of another run: %s: got %q, want %q; name another folder, or remove the file",
		e.Path, e.Thing, e.Got, e.Want)
}

// Run evaluates an engine and appends a record for every utterance that has none
// yet, or one of a failure. What it had done when ctx ended stays written.
func Run(ctx context.Context, e Engine, data Dataset, o Options) (Summary, error) {
	path := ""
	if o.Dir != "" {
		path = filepath.Join(o.Dir, o.Shard.File())
	}
	l, err := openLog(path, o.Run, o.Watch)
	if err != nil {
		return Summary{}, err
	}
	defer l.close()
	sum := Summary{Path: l.name, Resumed: len(l.done), Retried: l.failed, Torn: l.torn}
	pass := &sequence{log: l}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last := time.Now()
	for r := range parallel.Ordered(o.Workers, aheadOf(o.Workers), rows(data, pass, o),
		func(_ int, w todo) result { return w.run(ctx, e, o) }) {
		if r.err != nil {
			cancel() // those under way
			return sum, r.err
		}
		if now := time.Now(); o.Workers > 1 {
			r.record.Wall, last = now.Sub(last).Seconds(), now
		}
		if err := l.append(r.record); err != nil {
			return sum, err
		}
		sum.Done++
		if r.record.Error != "" {
			sum.Failed++
		}
		if o.Watch != nil {
			o.Watch(r.record)
		}
	}
	if err := l.sync(); err != nil {
		return sum, err
	}
	return sum, pass.settle(l)
}

// aheadOf is how many records may wait while an older utterance is still running,
// so that a long one does not leave the other workers idle at once.
func aheadOf(workers int) int { return 2 * workers }

// RunRow runs one row and returns its record, for programs that deal out the rows
// themselves: Run, Unscored and Sound of o count. What goes wrong is in the record; the
// error is the cause that ended ctx.
func RunRow(ctx context.Context, e Engine, row Row, o Options) (*report.Record, error) {
	return record(ctx, e, row, origin{o.Run, o.Unscored, o.Sound})
}

// A todo is a row without a record, or the error that ends the rows.
type todo struct {
	Row
	err error
}

// A result is a record, or the error that ends the run.
type result struct {
	record *report.Record
	err    error
}

func (w todo) run(ctx context.Context, e Engine, o Options) result {
	if w.err != nil {
		return result{nil, w.err}
	}
	r, err := record(ctx, e, w.Row, origin{o.Run, o.Unscored, o.Sound})
	return result{r, err}
}

// rows yields the rows that have no record yet, in order. An error is the last.
func rows(data Dataset, pass *sequence, o Options) iter.Seq[todo] {
	return func(yield func(todo) bool) {
		row := 0
		for it, err := range Rows(data, o.Limit) {
			done, mine := false, o.Shard.has(row)
			row++
			if err == nil && mine {
				done, err = pass.next(it)
			}
			switch {
			case err != nil:
				yield(todo{err: err})
				return
			case mine && !done && !yield(todo{Row: it}):
				return
			}
		}
	}
}
