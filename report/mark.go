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

	"verity/parallel"
	"verity/wer"
)

// A marker scores utterances one by one, with memory that later ones reuse.
type marker struct {
	scorer wer.Scorer
	differ differ
}

// A marked record is one with what takes time to find out about it.
type marked struct {
	*Record
	score wer.Score
	diff  []Word // nil if there are no errors
}

// mark normalises the texts of r and counts what is wrong. A record that has failed
// or has no reference has nothing to count. The error is the cause that ended ctx: long
// texts take a while.
func (m *marker) mark(ctx context.Context, r *Record, o Options) (marked, error) {
	if r.Error != "" || r.NoReference {
		return marked{Record: r}, nil
	}
	out := marked{Record: r}
	fn := o.normalizer(r.Language)
	ref, err := fn(ctx, r.Reference)
	if err != nil {
		return out, err
	}
	hyp, err := fn(ctx, r.Hypothesis)
	if err != nil {
		return out, err
	}
	if out.score, err = m.scorer.Score(ctx, ref, hyp); err == nil && !out.score.Exact {
		out.diff, err = m.differ.words(ctx, ref, hyp)
	}
	return out, err
}

// batch is how many lines are handed to a goroutine at once, and batchBytes how many
// bytes from which on they are enough.
const batch, batchBytes = 32, 1 << 20

// A line is one of a file, read but not understood.
type line struct {
	n    int // from 1
	text []byte
	err  error // why it cannot be read
}

// markAll yields the records of a file, marked, in their order, as Read does. All
// processors work on it. Once ctx has ended, its cause is the last.
func markAll(ctx context.Context, path string, o Options) iter.Seq2[marked, error] {
	type result struct {
		marked
		err error
	}
	type worker struct {
		parser parser
		marker marker
	}
	return func(yield func(marked, error) bool) {
		f, err := open(ctx, path)
		if err != nil {
			yield(marked{}, err)
			return
		}
		defer f.Close() // was only read
		workers := make([]worker, runtime.GOMAXPROCS(0))
		work := func(w int, lines []line) []result {
			out := make([]result, 0, len(lines))
			for _, l := range lines {
				r, err := workers[w].parser.record(path, l)
				switch {
				case err != nil:
					out = append(out, result{err: err})
				case r != nil:
					m, err := workers[w].marker.mark(ctx, r, o)
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

// batches yields the lines of r, some at a time.
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

// lines yields the lines of r that are not blank, the last one with ErrTorn if it
// has no end, and those that are too long with ErrLong. An error of reading ends them.
func lines(r io.Reader) iter.Seq[line] {
	return func(yield func(line) bool) {
		b := bufio.NewReaderSize(r, 1<<16)
		for n := 1; ; n++ {
			text, err := readLine(b)
			switch {
			case err == io.EOF:
				return
			case err != nil:
				if !yield(line{n: n, err: err}) || !errors.Is(err, ErrLong) {
					return
				}
				continue
			}
			if text = bytes.TrimSpace(text); len(text) > 0 && !yield(line{n: n, text: text}) {
				return
			}
		}
	}
}

// readLine reads a line, or over it if it is too long.
func readLine(b *bufio.Reader) (text []byte, err error) {
	long := false
	for {
		part, err := b.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxLine; !long {
			text = append(text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(text) == 0 && !long:
			return nil, io.EOF
		case err == io.EOF:
			return nil, ErrTorn
		case err != nil:
			return nil, err
		case long:
			return nil, ErrLong
		default:
			return text, nil
		}
	}
}

// A parser reads records. What made them is mostly the same in all and is kept.
type parser struct {
	raw []byte // of the last one
	run Run
}

// record reads a line. A *LineError is of this line alone.
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
