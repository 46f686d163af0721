package decoder

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"verity/internal/parallel"
	"verity/tokenizer"
)

// TestBatch lets members of different length come and go and checks each against
// itself alone.
func TestBatch(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	d := open(t, "odd", Options{Pool: pool})
	rng := rand.New(rand.NewPCG(7, 8))
	const members = 5
	var tokens [members][]tokenizer.Token
	var want [members][][]float32
	var crosses [members]*Cross
	for i := range members {
		tokens[i] = randomTokens(rng, 1+rng.IntN(8), d.Dims().Vocab)
		crosses[i] = cross(t, d, uint64(i))
		want[i] = oneByOne(t, d, crosses[i], tokens[i])
	}
	b := NewBatch(d)
	var wg sync.WaitGroup
	for i := range members {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond) // some join late
			b.Join()
			defer b.Leave()
			s := d.NewStream(crosses[i])
			defer s.Close()
			for p, tok := range tokens[i] {
				logits := make([]float32, d.Dims().Vocab)
				if err := b.Step(t.Context(), []Row{{s, p, tok, false}}, logits); err != nil {
					t.Errorf("member %d: %v", i, err)
					return
				}
				if !equalBits(logits, want[i][p]) {
					t.Errorf("member %d: position %d differs from the same stream alone", i, p)
					return
				}
			}
		})
	}
	wg.Wait()
	if b.members != 0 || len(b.waiting) != 0 {
		t.Errorf("%d members and %d calls are left", b.members, len(b.waiting))
	}
}

// One member's broken window, or its ended context, must not reach the others.
func TestBatchErrors(t *testing.T) {
	d := open(t, "odd", Options{})
	f := features(d, 1)
	f.Data[0] = float32(math.NaN())
	broken, err := d.Cross(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	good := cross(t, d, 2)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b := NewBatch(d)
	var errs [3]error
	var wg sync.WaitGroup
	for range errs {
		b.Join()
	}
	for i, c := range []*Cross{broken, good, good} {
		ctx := t.Context()
		if i == 2 {
			ctx = ended
		}
		wg.Go(func() {
			defer b.Leave()
			errs[i] = b.Step(ctx, []Row{{d.NewStream(c), 0, 1, false}}, make([]float32, d.Dims().Vocab))
		})
	}
	wg.Wait()
	if errs[0] == nil || errs[1] != nil || !errors.Is(errs[2], context.Canceled) {
		t.Errorf("errors %v, want one about NaN, none, and the context's", errs)
	}
}
