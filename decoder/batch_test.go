package decoder

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"verity/parallel"
	"verity/tokenizer"
)

// TestBatch lets members of different length join and leave, and compares each with
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
	if b.members != 0 || b.waiting != 0 {
		t.Errorf("%d members and %d calls are left", b.members, b.waiting)
	}
}

// An error in one member's window, or the end of its context, must not reach the others.
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

// TestBatchBeside checks that members that draft do so together, each with its own draft
// length, while the others wait; then all verify in one pass.
func TestBatchBeside(t *testing.T) {
	d, small := open(t, "odd", Options{}), open(t, "odd", Options{})
	b := NewBatch(d)
	type pass struct {
		draft         bool
		streams, rows int
	}
	var got []pass
	b.trace = func(q *queue, calls []*call) {
		p := pass{draft: q != &b.own, streams: len(calls)}
		for _, c := range calls {
			p.rows += len(c.rows)
		}
		got = append(got, p)
	}
	drafts := []int{3, 0, 1, 2} // of each member, in each of two rounds
	for range drafts {
		b.Join()
	}
	var wg sync.WaitGroup
	for i, n := range drafts {
		wg.Go(func() {
			queue := b.Beside(small)
			own, side := d.NewStream(cross(t, d, uint64(i))), small.NewStream(cross(t, small, uint64(i)))
			logits := make([]float32, d.Dims().Vocab)
			for range 2 {
				for range n { // the first of all is a prompt
					if err := queue.Step(t.Context(), []Row{{side, side.Len(), 1, false}}, logits); err != nil {
						t.Error(err)
					}
				}
				// Later silent rows catch up on accepted tokens; they are no prompt.
				rows := []Row{{own, own.Len(), 1, true}, {own, own.Len() + 1, 2, false}}
				if err := b.Step(t.Context(), rows, logits); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for range drafts {
		b.Leave()
	}
	round := []pass{{true, 3, 3}, {true, 2, 2}, {true, 1, 1}, {false, 4, 8}}
	if want := slices.Concat(round, round); !slices.Equal(got, want) {
		t.Errorf("passes %+v\nwant %+v", got, want)
	}
}

// TestBatchWithdraws checks that a member whose context ends while it waits for the
// others stops waiting, and that the others go on without it.
func TestBatchWithdraws(t *testing.T) {
	d := open(t, "odd", Options{})
	c := cross(t, d, 1)
	b := NewBatch(d)
	for range 3 {
		b.Join()
	}
	step := func(ctx context.Context) error {
		defer b.Leave()
		s := d.NewStream(c)
		defer s.Close()
		return b.Step(ctx, []Row{{s, 0, 1, false}}, make([]float32, d.Dims().Vocab))
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	go func() { errs <- step(ctx) }()
	go func() { errs <- step(t.Context()) }()
	for waiting := 0; waiting < 2; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		waiting = b.waiting
		b.mu.Unlock()
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was canceled", err)
	}
	go func() { errs <- step(t.Context()) }()
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if b.members != 0 || b.waiting != 0 {
		t.Errorf("%d members and %d calls are left", b.members, b.waiting)
	}
}

// TestBatchEncode checks that members run passes while a window is encoded, between its
// layers, and that Busy does not count the encoding.
func TestBatchEncode(t *testing.T) {
	d := open(t, "odd", Options{})
	b := NewBatch(d)
	const layers, layer = 20, 5 * time.Millisecond
	passes, done := 0, make(chan struct{})
	b.Join()
	var err error
	began := time.Now()
	go func() {
		defer close(done)
		err = b.Encode(t.Context(), func(between func()) error {
			for range layers {
				time.Sleep(layer)
				between()
			}
			return nil
		})
	}()
	s := d.NewStream(cross(t, d, 1))
	logits := make([]float32, d.Dims().Vocab)
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
			s.Cut(0)
			if err := b.Step(t.Context(), []Row{{s, 0, 1, false}}, logits); err != nil {
				t.Fatal(err)
			}
			passes++
		}
	}
	b.Leave()
	if err != nil || passes < 2 {
		t.Errorf("%d passes beside %d layers, error %v", passes, layers, err)
	}
	if busy, most := b.Busy(), time.Since(began)-layers*layer; busy > most || busy <= 0 {
		t.Errorf("busy for %v, want at most %v", busy, most)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b.cpu.queue <- struct{}{} // an encoder has the threads
	if err := b.Encode(ended, func(func()) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was canceled", err)
	}
}

// TestBatchWindowsFirst checks that no pass runs before a window is encoded, if none may.
func TestBatchWindowsFirst(t *testing.T) {
	d := open(t, "odd", Options{})
	b := NewBatch(d)
	b.DecodeShare = -1
	b.Join()
	defer b.Leave()
	var passed atomic.Bool
	stepped := make(chan error, 1)
	s, logits := d.NewStream(cross(t, d, 1)), make([]float32, d.Dims().Vocab)
	err := b.Encode(t.Context(), func(between func()) error {
		go func() {
			err := b.Step(t.Context(), []Row{{s, 0, 1, false}}, logits)
			passed.Store(true)
			stepped <- err
		}()
		for range 20 {
			time.Sleep(time.Millisecond)
			between()
		}
		if passed.Load() {
			t.Error("a pass ran while a window was encoded")
		}
		return nil
	})
	if err = cmp.Or(err, <-stepped); err != nil {
		t.Error(err)
	}
}

// TestBatchLends checks that sessions of a batch read the logits of a pass in its memory,
// and choose as they do alone.
func TestBatchLends(t *testing.T) {
	d := open(t, "odd", Options{})
	tok := multilingual(t)
	want := make([][]tokenizer.Token, 3)
	run := func(i int, o Stepper) []tokenizer.Token {
		s := session(t, d, tok)
		s.o.Stepper = o
		var text []tokenizer.Token
		for n := range 6 {
			choices, err := s.Choose(t.Context(), slices.Repeat([]tokenizer.Token{tokenizer.Token(50 + i)}, (i+n)%3))
			if err != nil {
				t.Error(err)
				return nil
			}
			kept := []tokenizer.Token{choices[0].Token}
			text = append(text, kept[0], tokenizer.Token(math.Float32bits(s.LogProb(0, 7))))
			if err := s.Commit(t.Context(), kept); err != nil {
				t.Error(err)
			}
		}
		return text
	}
	for i := range want {
		want[i] = run(i, d)
	}
	b := NewBatch(d)
	var wg sync.WaitGroup
	for range want {
		b.Join()
	}
	for i := range want {
		wg.Go(func() {
			defer b.Leave()
			if got := run(i, b); !slices.Equal(got, want[i]) {
				t.Errorf("session %d: %v, alone %v", i, got, want[i])
			}
		})
	}
	wg.Wait()
}

// A round of several members allocates nothing.
func TestBatchAllocates(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates, and empties pools at random")
	}
	d := open(t, "odd", Options{})
	b := NewBatch(d)
	b.Join()
	b.Join()
	var streams [2]*Stream
	for i := range streams {
		streams[i] = d.NewStream(cross(t, d, uint64(i)))
	}
	again := make(chan bool)
	done := make(chan error)
	step := func(i int, rows []Row, logits []float32) error {
		streams[i].Cut(0)
		rows[0] = Row{streams[i], 0, 1, false}
		return b.Step(t.Context(), rows, logits)
	}
	go func() {
		rows, logits := make([]Row, 1), make([]float32, d.Dims().Vocab)
		for range again {
			done <- step(1, rows, logits)
		}
	}()
	rows, logits := make([]Row, 1), make([]float32, d.Dims().Vocab)
	round := func() {
		again <- true
		if err := errors.Join(step(0, rows, logits), <-done); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		round()
	}
	if n := testing.AllocsPerRun(50, round); n >= 1 {
		t.Errorf("%v allocations a round, want none", n)
	}
	close(again)
}

// TestProcessor checks that neither two windows nor a window and a pass use the threads
// at the same time, and that all make progress.
func TestProcessor(t *testing.T) {
	var p processor
	p.init()
	var users atomic.Int32
	use := func() {
		if users.Add(1) != 1 {
			t.Error("two use the threads at the same time")
		}
		time.Sleep(100 * time.Microsecond)
		users.Add(-1)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := p.beginWork(t.Context()); err != nil {
				t.Error(err)
				return
			}
			defer p.endWork()
			for range 20 {
				use()
				p.between(0.5)
			}
		})
	}
	wg.Go(func() {
		for range 5 { // members join and leave
			p.join(1)
			for range 10 {
				p.beginPass()
				use()
				p.endPass()
			}
			p.join(-1)
		}
	})
	wg.Wait()
}
