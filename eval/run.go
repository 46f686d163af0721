package eval

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"verity/audio"
	"verity/eval/report"
	"verity/parallel"
	"verity/transcript"
)

// Options configures a run. The zero value runs all utterances, one at a time.
type Options struct {
	// Dir is the folder to write to, which is created if missing. Utterances that have
	// records there are not run again; records of other runs are an error. Empty means
	// write nothing.
	Dir string

	Shard    Shard                 // part of the dataset to run
	Workers  int                   // utterances that run at the same time; 0 means 1. Records stay in order
	Limit    int                   // most utterances to run, not counting broken rows; 0 means all
	Unscored bool                  // the utterances have no references
	Speakers bool                  // the engine tells speakers apart: score who speaks, where the dataset states it
	Sound    audio.Input           // how the sound of an utterance is opened
	Run      transcript.Provenance // stored in every record

	Resources *report.Resources // the same; nil if unknown

	// Watch, if not nil, gets the records that a resumed run finds, then every new
	// record as soon as it is written.
	Watch func(*report.Record)
}

// A Shard is every Of-th row of a dataset, starting with row I, counted from 1. The
// zero value is the whole dataset.
type Shard struct{ I, Of int }

// ParseShard parses "2/4".
func ParseShard(s string) (Shard, error) {
	var sh Shard
	if n, err := fmt.Sscanf(s, "%d/%d", &sh.I, &sh.Of); n != 2 || err != nil || sh.String() != s ||
		sh.I < 1 || sh.I > sh.Of || sh.Of > report.MaxShards {
		return Shard{}, fmt.Errorf("shard %.80s: want I/N with I from 1 to N, such as 2/4, and N at most %d",
			s, report.MaxShards)
	}
	return sh, nil
}

// String returns "2/4"; empty for the whole.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.Of)
}

func (s Shard) has(row int) bool { return s.Of == 0 || row%s.Of == s.I-1 }

// File is the name of the shard's record file.
func (s Shard) File() string {
	if s.Of == 0 {
		return "records.jsonl"
	}
	return fmt.Sprintf("records-%d-of-%d.jsonl", s.I, s.Of)
}

// A Summary reports what a run did.
type Summary struct {
	Path    string // of the records
	Resumed int    // records found, without failures
	Retried int    // records of failures found: these utterances were run again
	Torn    bool   // whether an incomplete last line was removed
	Done    int    // utterances run, including those run again
	Failed  int    // of these, how many failed
}

// Run evaluates an engine. It appends a record for every utterance that has none yet, or whose
// record is of a failure. If ctx ends, the records so far stay.
func Run(ctx context.Context, e Engine, data Dataset, o Options) (Summary, error) {
	name := strings.TrimSuffix(o.Shard.File(), ".jsonl")
	l, err := openRecords(o.Dir, []Variant{{Name: name, Run: o.Run}}, func(r []*report.Record) error {
		if o.Watch != nil {
			o.Watch(r[0])
		}
		return nil
	})
	if err != nil {
		return Summary{}, err
	}
	defer l.close()
	sum := Summary{Path: filepath.Join(o.Dir, o.Shard.File()), Resumed: len(l.done), Retried: len(l.failed), Torn: l.torn}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last := time.Now()
	// Twice as many records as workers may wait, so that a long utterance does not idle the others.
	for r := range parallel.Ordered(o.Workers, 2*o.Workers, pending(data, l, o.Limit, o.Shard),
		func(_ int, w todo) result { return w.transcribe(ctx, e, o) }) {
		if r.err != nil {
			cancel() // stop the other utterances
			return sum, r.err
		}
		if now := time.Now(); o.Workers > 1 {
			r.record.Wall, last = now.Sub(last).Seconds(), now
		}
		if err := l.write(r.record); err != nil {
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
	return sum, l.finish(o.Limit > 0)
}

// A todo is a row to run, or the error that ends the rows.
type todo struct {
	Row
	err error
}

// A result is a record, or the error that ends the run.
type result struct {
	record *report.Record
	err    error
}

func (w todo) transcribe(ctx context.Context, e Engine, o Options) result {
	if w.err != nil {
		return result{nil, w.err}
	}
	r, err := RunRow(ctx, e, w.Row, o)
	return result{r, err}
}

// pending yields the rows of a shard that have no record, in order. An error is the last.
func pending(data Dataset, l *recordWriter, limit int, shard Shard) iter.Seq[todo] {
	return func(yield func(todo) bool) {
		row := 0
		for it, err := range Rows(data, limit) {
			done, mine := false, shard.has(row)
			row++
			if err == nil && mine {
				done, err = l.recorded(it)
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
