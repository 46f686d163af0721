package wer

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// unlike returns two texts of n words that have no word in common.
func unlike(n int) (ref, hyp []int32) {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	for range n {
		ref, hyp = append(ref, int32(rng.IntN(1000))), append(hyp, 1000+int32(rng.IntN(1000)))
	}
	return ref, hyp
}

// TestSplitIsShortest compares texts that are long enough to be split, and have little or
// nothing in common, with the textbook recurrence.
func TestSplitIsShortest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, tt := range []struct{ n, m, words int }{{2200, 2200, 1 << 20}, {2100, 2900, 300}, {3000, 1700, 2}} {
		ref, hyp := make([]int32, tt.n), make([]int32, tt.m)
		for i := range ref {
			ref[i] = int32(rng.IntN(tt.words))
		}
		for i := range hyp {
			hyp[i] = int32(rng.IntN(tt.words))
		}
		copy(hyp[900:1200], ref[200:])
		checkShortest(t, ref, hyp)
	}
}

// plain is align without bands or bits: the textbook recurrence, split where RapidFuzz does.
func plain(ref, hyp []int32, r, h, limit int) (pairs []Pair) {
	for len(ref) > 0 && len(hyp) > 0 && ref[0] == hyp[0] {
		pairs = append(pairs, Pair{Hit, r, h})
		ref, hyp, r, h = ref[1:], hyp[1:], r+1, h+1
	}
	n, m := len(ref), len(hyp)
	for n > 0 && m > 0 && ref[n-1] == hyp[m-1] {
		n, m = n-1, m-1
	}
	if limit = min(limit, max(n, m)); 2*min(n, 2*limit+1)*m >= maxTable && n >= 65 && m >= 10 {
		half, at := m/2, 0
		left, right := distances(ref[:n], hyp[:half]), distances(reversed(ref[:n]), reversed(hyp[half:m]))
		for i := range left {
			if left[i]+right[n-i] < left[at]+right[n-at] {
				at = i
			}
		}
		pairs = append(pairs, plain(ref[:at], hyp[:half], r, h, left[at])...)
		pairs = append(pairs, plain(ref[at:n], hyp[half:m], r+at, h+half, right[n-at])...)
	} else {
		rows := make([][]int, m+1)
		for j := range rows {
			rows[j] = make([]int, n+1)
			for i := range rows[j] {
				switch {
				case i == 0 || j == 0:
					rows[j][i] = i + j
				case ref[i-1] == hyp[j-1]:
					rows[j][i] = rows[j-1][i-1]
				default:
					rows[j][i] = 1 + min(rows[j-1][i-1], rows[j-1][i], rows[j][i-1])
				}
			}
		}
		from := len(pairs)
		for i, j := n, m; i > 0 || j > 0; {
			op := Hit
			switch {
			case j == 0 || i > 0 && rows[j][i-1] < rows[j][i]:
				op, i = Del, i-1
			case i == 0 || j > 1 && rows[j-1][i-1] > rows[j-1][i]:
				op, j = Ins, j-1
			default:
				if i, j = i-1, j-1; ref[i] != hyp[j] {
					op = Sub
				}
			}
			pairs = append(pairs, Pair{op, r + i, h + j})
		}
		slices.Reverse(pairs[from:])
	}
	for i := range len(ref) - n {
		pairs = append(pairs, Pair{Hit, r + n + i, h + m + i})
	}
	return pairs
}

// TestPlain compares the alignments of long texts with those of plain, pair for pair: with few
// errors, which a narrow band finds, with a long part missing and another added, and with nothing in common.
func TestPlain(t *testing.T) {
	var a Aligner
	for seed, n := range []int{2100, 2500, 2200, 3000, 2300} {
		ref, hyp := makeLong(seed, n, 3+seed*seed*40, 30+150*seed*seed)
		if seed == 2 {
			hyp = append(slices.Delete(hyp, 300, 700), slices.Repeat([]int32{-1}, 400)...)
		}
		if seed == 3 {
			ref, hyp = unlike(n)
		}
		if want := plain(ref, hyp, 0, 0, max(len(ref), len(hyp))); !slices.Equal(align(t, &a, ref, hyp), want) {
			t.Errorf("%d words: not the plain alignment", n)
		}
	}
}

// A countdown is a context that ends when it has been checked that many times.
type countdown struct {
	context.Context
	left, after int // checks before its end, checks after it
}

func (c *countdown) Err() error {
	if c.left--; c.left >= 0 {
		return nil
	}
	c.after++
	return context.Canceled
}

// TestInterrupt ends the context at several points of the alignment of two texts of
// 100,000 words that have nothing in common. After the end nothing is
// computed.
func TestInterrupt(t *testing.T) {
	ref, hyp := unlike(100_000)
	var a Aligner
	for _, looks := range []int{0, 1, 5, 40} {
		ctx := &countdown{Context: context.Background(), left: looks}
		pairs, err := a.Align(ctx, ref, hyp)
		if !errors.Is(err, context.Canceled) || pairs != nil {
			t.Fatalf("after %d looks: got %d pairs, %v", looks, len(pairs), err)
		}
		if ctx.after != 1 {
			t.Errorf("after %d looks: looked %d times at a context that had ended", looks, ctx.after)
		}
	}
	if _, err := new(Scorer).Score(&countdown{Context: context.Background()}, spell(ref), spell(hyp)); !errors.Is(err, context.Canceled) {
		t.Errorf("Score: got %v", err)
	}
	// State left by an interrupted alignment must not show in the next one.
	ref, hyp = makeLong(1, 3000, 50, 500)
	if got, err := a.Align(t.Context(), ref, hyp); err != nil || !slices.Equal(got, Align(ref, hyp)) {
		t.Errorf("another alignment after an interruption: %v", err)
	}
}

// TestMemory checks that four times the length takes at most four times the memory, not
// sixteen.
func TestMemory(t *testing.T) {
	took := func(n int) uint64 {
		ref, hyp := unlike(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c := Count(ref, hyp)
		runtime.ReadMemStats(&after)
		if c.Subs != n {
			t.Fatalf("%d words: %+v", n, c)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := took(6000), took(24000); large > 6*small {
		t.Errorf("24,000 words took %d bytes, 6,000 took %d", large, small)
	}
}
