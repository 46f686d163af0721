package report

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"

	"verity/internal/input"
	"verity/parallel"
	"verity/transcript"
	"verity/wer"
)

// A marked record is a record with its score and its differences, which take time to
// compute.
type marked struct {
	*Record
	score wer.Score
	diff  []Word // nil if there are no errors
}

// mark normalises the texts of r and counts the errors. A record that failed or has no
// reference has none to count. The error is ctx's cause: long texts take a while.
func mark(ctx context.Context, w *wer.Scorer, r *Record, name string) (marked, error) {
	if r.Error != "" || r.NoReference {
		return marked{Record: r}, nil
	}
	out, normal := marked{Record: r}, normalizer(name, r.Language)
	ref, hyp := normal(r.Reference), normal(r.Hypothesis)
	var err error
	if out.score, err = w.Score(ctx, ref, hyp); err == nil && !out.score.Exact {
		err = w.Words(ctx, ref, hyp, func(op wer.Op, r, h string) { out.diff = append(out.diff, Word{op.String(), r, h}) })
	}
	return out, err
}

// A batch handed to a goroutine ends after batch lines or batchBytes bytes.
const batch, batchBytes = 32, 1 << 20

// A line is one line of a file, not parsed yet.
type line struct {
	n    int // line number, from 1
	text []byte
	err  error // why it cannot be parsed
}

// markAll yields the records of a file, marked and in order, errors as in Read. All
// processors work on it. When ctx ends, its cause is the last error.
func markAll(ctx context.Context, path, normalizer string) iter.Seq2[marked, error] {
	type result struct {
		marked
		err error
	}
	type worker struct {
		parser parser
		scorer wer.Scorer
	}
	return func(yield func(marked, error) bool) {
		f, err := open(ctx, path)
		if err != nil {
			yield(marked{}, err)
			return
		}
		defer f.Close() // opened for reading: nothing to lose
		workers := make([]worker, runtime.GOMAXPROCS(0))
		work := func(w int, lines []line) []result {
			out := make([]result, 0, len(lines))
			for _, l := range lines {
				r, err := workers[w].parser.record(path, l)
				switch {
				case err != nil:
					out = append(out, result{err: err})
				case r != nil:
					m, err := mark(ctx, &workers[w].scorer, r, normalizer)
					out = append(out, result{m, err})
				}
			}
			return out
		}
		for results := range parallel.Ordered(len(workers), len(workers), batches(f), work) {
			for _, r := range results {
				if !yield(r.marked, r.err) {
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
			if some = append(some, l); len(some) == batch || size >= batchBytes {
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
// ErrTorn, a line that is too long with ErrLong. A read error ends the sequence.
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
				err = ErrLong
			}
			if text = bytes.TrimSpace(text); err == nil && len(text) == 0 {
				continue
			}
			if !yield(line{n, text, err}) || err != nil && err != ErrLong {
				return
			}
		}
	}
}

// A parser reads records. It keeps the Run of the last record: it is mostly the same in
// all.
type parser struct {
	raw []byte // of the last one
	run transcript.Maker
}

// record parses a line. A *LineError concerns this line alone.
func (p *parser) record(name string, l line) (*Record, error) {
	err := l.err
	if err != nil && !errors.Is(err, ErrTorn) && !errors.Is(err, ErrLong) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var r *Record
	if err == nil {
		r, err = p.parse(l.text)
	}
	if err != nil {
		return nil, &LineError{name, l.n, err}
	}
	return r, nil
}
