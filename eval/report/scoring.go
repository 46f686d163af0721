package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"runtime"

	"verity/internal/input"
	"verity/parallel"
	"verity/wer"
)

// A recordScore is a record with its score and its differences, which take time to
// compute.
type recordScore struct {
	*Record
	score wer.Score
	diff  []Word // nil if there are no errors
}

// scoreOf normalises the texts of r and counts the errors. A record that failed or has no
// reference has none to count. The error is ctx's cause: long texts take a while.
func scoreOf(ctx context.Context, w *wer.Scorer, r *Record, name string) (recordScore, error) {
	if r.Error != "" || r.NoReference {
		return recordScore{Record: r}, nil
	}
	out, normal := recordScore{Record: r}, normalizer(name, r.Language)
	var texts [2]string
	for i, text := range []string{r.Reference, r.Hypothesis} {
		done := make(chan string, 1)
		go func() { done <- normal(text) }() // of many megabytes it takes minutes, in which a signal is heard
		select {
		case texts[i] = <-done:
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
	}
	ref, hyp := texts[0], texts[1]
	var err error
	if out.score, err = w.Score(ctx, ref, hyp); err == nil && !out.score.Exact {
		err = w.Words(ctx, ref, hyp, func(op wer.Op, r, h string) { out.diff = append(out.diff, Word{op.String(), r, h}) })
	}
	return out, err
}

// A batch handed to a goroutine ends after batchLines lines or batchBytes bytes.
const batchLines, batchBytes = 32, 1 << 20

// A line is one line of a file, not parsed yet.
type line struct {
	n    int // line number, from 1
	text []byte
	err  error // why it cannot be parsed
}

// scoreAll yields the records of a file, scored and in order, errors as in Read. All
// processors work on it. When ctx ends, its cause is the last error.
func scoreAll(ctx context.Context, path, normalizer string) iter.Seq2[recordScore, error] {
	type result struct {
		recordScore
		err error
	}
	return func(yield func(recordScore, error) bool) {
		f, err := open(ctx, path)
		if err != nil {
			yield(recordScore{}, err)
			return
		}
		defer f.Close() // opened for reading: nothing to lose
		scorers := make([]wer.Scorer, runtime.GOMAXPROCS(0))
		work := func(w int, lines []line) []result {
			out := make([]result, 0, len(lines))
			for _, l := range lines {
				m := recordScore{}
				r, err := l.parse(path)
				if err == nil {
					m, err = scoreOf(ctx, &scorers[w], r, normalizer)
				}
				out = append(out, result{m, err})
			}
			return out
		}
		for results := range parallel.Ordered(len(scorers), len(scorers), batches(f), work) {
			for _, r := range results {
				if !yield(r.recordScore, r.err) {
					return
				}
			}
		}
	}
}

// batches groups the lines of r.
func batches(r io.Reader) iter.Seq[[]line] {
	return func(yield func([]line) bool) {
		var some []line
		size := 0
		for l := range lines(r) {
			size += len(l.text)
			if some = append(some, l); len(some) == batchLines || size >= batchBytes {
				if !yield(some) {
					return
				}
				some, size = nil, 0
			}
		}
		if len(some) > 0 {
			yield(some)
		}
	}
}

// lines yields the non-blank lines of r. A last line without a line end comes with
// ErrTorn, a line that is too long with errLong. A read error ends the sequence.
func lines(r io.Reader) iter.Seq[line] {
	return func(yield func(line) bool) {
		b := bufio.NewReaderSize(r, 1<<16)
		for n := 1; ; n++ {
			text, length, err := input.Line(b, nil, maxLine)
			switch {
			case err == io.EOF && length == 0:
				return
			case err == io.EOF:
				err = ErrTorn
			case err == nil && length > maxLine:
				err = errLong
			}
			if text = bytes.TrimSpace(text); err == nil && len(text) == 0 {
				continue
			}
			if !yield(line{n, text, err}) || err != nil && err != errLong {
				return
			}
		}
	}
}

// parse returns the record of a line. A *LineError concerns this line alone.
func (l line) parse(name string) (*Record, error) {
	err := l.err
	if err != nil && !errors.Is(err, ErrTorn) && !errors.Is(err, errLong) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := new(Record)
	if err == nil {
		if err = json.Unmarshal(l.text, r); err != nil {
			err = fmt.Errorf("malformed record: %w", err)
		}
	}
	switch {
	case err != nil:
	case r.Schema != RecordSchema:
		err = fmt.Errorf("unsupported record: schema: got %q, want %q", r.Schema, RecordSchema)
	case r.ID == "":
		err = errors.New("malformed record: it has no id")
	default:
		err = r.checkNumbers()
	}
	if err != nil {
		return nil, &LineError{name, l.n, err}
	}
	return r, nil
}

// Bounds of the numbers of a record: in seconds, thirty years, and less than rounding leaves of a
// difference of times. Sums of such are finite, and so is what is divided by a time.
const (
	maxNumber = 1e9
	minTime   = 1e-30
)

// checkNumbers refuses times and counts that nothing takes, or of which sums and rates would be
// wrong.
func (r *Record) checkNumbers() error {
	times := []float64{r.Duration, r.Wall}
	for seconds, i := reflect.ValueOf(r.Seconds), 0; i < seconds.NumField(); i++ {
		times = append(times, seconds.Field(i).Float())
	}
	for _, t := range times {
		if t > 0 && t < minTime {
			return fmt.Errorf("malformed record: got a time of %g s, want 0, or %g to %g", t, minTime, float64(maxNumber))
		}
	}
	list := append(times, r.Offset)
	for _, sums := range []reflect.Value{reflect.ValueOf(r.Work), reflect.ValueOf(r.Drafting)} {
		for i := range sums.NumField() {
			if f := sums.Field(i); f.CanFloat() {
				list = append(list, f.Float())
			} else if f.CanInt() {
				list = append(list, float64(f.Int()))
			}
		}
	}
	for _, n := range r.Drafting.Histogram {
		list = append(list, float64(n))
	}
	for _, g := range r.Damaged {
		list = append(list, math.Abs(g.Start), math.Abs(g.End))
	}
	for _, g := range r.Segments {
		list = append(list, math.Abs(g.Start), math.Abs(g.End))
	}
	for _, n := range list {
		if !(n >= 0 && n <= maxNumber) {
			return fmt.Errorf("malformed record: got %g as a time or a count, want 0 to %g", n, float64(maxNumber))
		}
	}
	return nil
}
