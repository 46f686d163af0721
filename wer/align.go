package wer

import (
	"context"
	"slices"
)

// An Op is the kind of one pair of an alignment.
type Op uint8

// The four kinds.
const (
	Hit Op = iota // the same word in both
	Sub           // a reference word replaced by another
	Del           // a reference word missing from the hypothesis
	Ins           // a hypothesis word with none in the reference
)

// String returns "hit", "sub", "del" or "ins".
func (o Op) String() string { return [...]string{"hit", "sub", "del", "ins"}[o] }

// A Pair is one pair of an alignment. Ref and Hyp index the two texts and never decrease.
// For Del, Hyp is the index in the hypothesis where the word is missing; for Ins, Ref is
// the index in the reference before which it stands.
type Pair struct {
	Op       Op
	Ref, Hyp int
}

// Align returns a shortest edit script from ref to hyp, the same as RapidFuzz, as a new
// slice of at most len(ref)+len(hyp) pairs.
//
// Time grows with the length and the errors, over 64: ten hours of speech with a tenth of it
// wrong take under a second as words and 4 s as characters, ten hours of two texts with nothing
// in common 1 s and half a minute. [Aligner.Align] can be interrupted.
// Memory grows with len(ref)+len(hyp) only, whatever they hold, plus about a megabyte of
// table.
func Align(ref, hyp []int32) []Pair {
	pairs, _ := new(Aligner).Align(context.Background(), ref, hyp) // fails only with its context
	return pairs
}

// Count returns the counts of [Align].
func Count(ref, hyp []int32) Counts {
	c, _ := new(Aligner).Count(context.Background(), ref, hyp)
	return c
}

// An Aligner is Align with memory that later calls reuse. It must not be used by
// two goroutines at once. The zero value is ready.
type Aligner struct {
	pairs []Pair
	cols  columns
	table table
	ref   []int32 // scratch: reversed texts
	hyp   []int32
	left  []int // scratch: distances of one row, from either end
	right []int
}

// Align is the function [Align], but the result is valid only until the next
// call. The error is the cause that ended ctx: nothing is returned then.
func (a *Aligner) Align(ctx context.Context, ref, hyp []int32) ([]Pair, error) {
	a.pairs = a.pairs[:0]
	a.table.ctx, a.table.err = ctx, nil
	a.align(ref, hyp, 0, 0, max(len(ref), len(hyp)))
	a.table.ctx = nil // or it would be kept
	if a.table.err != nil {
		return nil, a.table.err
	}
	return a.pairs, nil
}

// Count returns the counts of [Aligner.Align].
func (a *Aligner) Count(ctx context.Context, ref, hyp []int32) (Counts, error) {
	pairs, err := a.Align(ctx, ref, hyp)
	var n [4]int
	for _, p := range pairs {
		n[p.Op]++
	}
	return Counts{Hits: n[Hit], Subs: n[Sub], Dels: n[Del], Ins: n[Ins]}, err
}

// maxTable is the size in bits of a table of two bits per cell. Larger problems are split. The
// value is RapidFuzz's: where a text is split determines which of the equally short alignments
// results.
const maxTable = 8 << 20

// align appends the alignment of ref and hyp, which begin at r and h in the whole texts
// and are at most limit edits apart. It matches the common beginning and end first. Once
// the context has ended, the appended pairs have no meaning.
//
// Source: RapidFuzz 3.14.6, rapidfuzz-cpp rapidfuzz/distance/Levenshtein_impl.hpp,
// levenshtein_align_hirschberg; the split is Hirschberg's, CACM 18(6), 1975.
func (a *Aligner) align(ref, hyp []int32, r, h, limit int) {
	for len(ref) > 0 && len(hyp) > 0 && ref[0] == hyp[0] {
		a.pairs = append(a.pairs, Pair{Hit, r, h})
		ref, hyp, r, h = ref[1:], hyp[1:], r+1, h+1
	}
	n, m := len(ref), len(hyp)
	for n > 0 && m > 0 && ref[n-1] == hyp[m-1] {
		n, m = n-1, m-1
	}
	tail := len(ref) - n

	limit = min(limit, max(n, m))
	if 2*int64(min(n, 2*limit+1))*int64(m) < maxTable || n < 65 || m < 10 {
		a.trace(ref[:n], hyp[:m], r, h, limit)
	} else {
		at, half := a.split(ref[:n], hyp[:m], limit), m/2
		if a.table.err != nil {
			return
		}
		left, right := a.left[at], a.right[n-at]
		a.align(ref[:at], hyp[:half], r, h, left)
		a.align(ref[at:n], hyp[half:m], r+at, h+half, right)
	}
	for i := range tail {
		a.pairs = append(a.pairs, Pair{Hit, r + n + i, h + m + i})
	}
}

// trace appends the alignment of two texts read back from the whole table. From
// the end, a deletion goes first; then an insertion unless the diagonal is a
// substitution as short; else the diagonal.
func (a *Aligner) trace(ref, hyp []int32, r, h, limit int) {
	if len(ref) > 0 && len(hyp) > 0 {
		a.cols.build(ref)
		if a.table.fill(&a.cols, hyp, limit); a.table.err != nil {
			return
		}
	}
	from := len(a.pairs)
	i, j := len(ref), len(hyp)
	for i > 0 || j > 0 {
		op := Hit
		switch {
		case j == 0 || i > 0 && a.table.up(i-1, j-1):
			op, i = Del, i-1
		case i == 0 || j > 1 && a.table.down(i-1, j-2):
			op, j = Ins, j-1
		default:
			i, j = i-1, j-1
			if ref[i] != hyp[j] {
				op = Sub
			}
		}
		a.pairs = append(a.pairs, Pair{op, r + i, h + j})
	}
	slices.Reverse(a.pairs[from:])
}

// split returns the first index in ref that a shortest alignment reaches after half of
// hyp, and leaves the distances up to each index in a.left, those from it in a.right,
// counted from the end.
func (a *Aligner) split(ref, hyp []int32, limit int) int {
	n, m := len(ref), len(hyp)
	band := limit
	if limit == max(n, m) { // nothing is known: what a narrow band finds is a limit
		band = min(limit, max(n-m, m-n)+limit/32)
	}
	a.ref, a.hyp = append(a.ref[:0], ref...), append(a.hyp[:0], hyp...)
	slices.Reverse(a.ref)
	slices.Reverse(a.hyp)
	for {
		a.cols.build(a.ref)
		a.right = a.table.row(&a.cols, a.hyp, m-m/2, band, a.right[:0])
		a.cols.build(ref)
		a.left = a.table.row(&a.cols, hyp, m/2, band, a.left[:0])

		best := 0
		for at := range a.left {
			if a.left[at]+a.right[n-at] < a.left[best]+a.right[n-best] {
				best = at
			}
		}
		found := a.left[best] + a.right[n-best]
		if found <= band || band == limit {
			return best
		}
		band = min(found, limit)
	}
}
