package report

import (
	"context"
	"io"
	"iter"
	"runtime"

	"verity/parallel"
	"verity/wer"
)

// A recordScore is a record with its score and its differences, which take time to
// compute.
type recordScore struct {
	*Record
	score    wer.Score
	diff     []Word        // nil if there are no errors
	speakers *SpeakerScore // nil if the dataset has none
}

func (m recordScore) errors() UtteranceErrors {
	c := m.score.Words
	return UtteranceErrors{m.ID, c.Errors(), c.Ref(), c.Rate()}
}

// scoreOf normalises the texts of r and counts the errors; a record that failed or has no
// reference has none. The error is ctx's cause: long texts take a while.
func scoreOf(ctx context.Context, w *wer.Scorer, r *Record, name string) (recordScore, error) {
	out, normal := recordScore{Record: r}, normalizer(name, r.Language)
	if r.Error != "" {
		return out, nil
	}
	var err error
	if out.speakers, err = speakersOf(ctx, w, r, normal); err != nil || r.NoReference {
		return out, err
	}
	ref, hyp := normal(r.Reference), normal(r.Hypothesis)
	if out.score, err = w.Score(ctx, ref, hyp); err == nil && !out.score.Exact {
		err = w.Words(ctx, ref, hyp, func(op wer.Op, r, h string) {
			out.diff = append(out.diff, Word{op.String(), r, h})
		})
	}
	return out, err
}

// A batch handed to a goroutine ends after batchLines lines or batchBytes bytes.
const batchLines, batchBytes = 32, 1 << 20

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
func batches(r io.ReaderAt) iter.Seq[[]line] {
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
