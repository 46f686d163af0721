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
