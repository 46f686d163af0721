package schedule

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

	"verity/decoder"
	"verity/encoder"
	"verity/internal/testing/testmodel"
	"verity/parallel"
	"verity/tokenizer"
)

func open(t testing.TB, pool *parallel.Pool) *decoder.Decoder {
	t.Helper()
	d, err := decoder.New(testmodel.Open(t, "odd"), decoder.Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// features are random but the same for a seed.
func features(d *decoder.Decoder, seed uint64) *encoder.Features {
	m := d.Dims()
	f := &encoder.Features{Positions: m.AudioPositions, Width: m.AudioWidth, Data: make([]float32, m.AudioPositions*m.AudioWidth)}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range f.Data {
		f.Data[i] = float32(rng.NormFloat64())
	}
	return f
}

func cross(t testing.TB, d *decoder.Decoder, seed uint64) *decoder.Cross {
	t.Helper()
	c, err := d.Cross(t.Context(), features(d, seed), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func randomTokens(rng *rand.Rand, n, vocab int) []tokenizer.Token {
	out := make([]tokenizer.Token, n)
	for i := range out {
		out[i] = tokenizer.Token(rng.IntN(vocab))
	}
	return out
}

// oneByOne returns the logits after each of the tokens, run alone.
func oneByOne(t testing.TB, d *decoder.Decoder, c *decoder.Cross, tokens []tokenizer.Token) (out [][]float32) {
	t.Helper()
	s := d.NewStream(c)
	defer s.Close()
	for p, tok := range tokens {
		logits := make([]float32, d.Dims().Vocab)
		if err := d.Step(t.Context(), []decoder.Row{{Stream: s, Position: p, Token: tok, WantLogits: true}}, logits); err != nil {
			t.Fatal(err)
		}
		out = append(out, logits)
	}
	return out
}

// equalBits compares as bits, so that NaN, and zeros of different sign, differ.
func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestBatch lets members of different length join and leave, and compares each with
// itself alone.
func TestBatch(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	d := open(t, pool)
	rng := rand.New(rand.NewPCG(7, 8))
	const members = 5
	var tokens [members][]tokenizer.Token
	var want [members][][]float32
	var crosses [members]*decoder.Cross
	for i := range members {
		tokens[i] = randomTokens(rng, 1+rng.IntN(8), d.Dims().Vocab)
		crosses[i] = cross(t, d, uint64(i))
		want[i] = oneByOne(t, d, crosses[i], tokens[i])
	}
	b := New(d)
	var wg sync.WaitGroup
	for i := range members {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond) // some join late
			m := b.Join()
			defer m.Leave()
			s := d.NewStream(crosses[i])
			defer s.Close()
			var own []float32
			for p, tok := range tokens[i] {
				logits, err := m.StepInto(t.Context(), []decoder.Row{{Stream: s, Position: p, Token: tok, WantLogits: true}}, &own)
				if err != nil {
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
	d := open(t, nil)
	f := features(d, 1)
	f.Data[0] = float32(math.NaN())
	broken, err := d.Cross(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := cross(t, d, 2)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b := New(d)
	var errs [3]error
	var wg sync.WaitGroup
	var all [3]*Member
	for i := range all {
		all[i] = b.Join()
	}
	for i, c := range []*decoder.Cross{broken, good, good} {
		ctx := t.Context()
		if i == 2 {
			ctx = ended
		}
		wg.Go(func() {
			defer all[i].Leave()
			_, errs[i] = all[i].StepInto(ctx, []decoder.Row{{Stream: d.NewStream(c), Token: 1, WantLogits: true}}, new([]float32))
		})
	}
	wg.Wait()
	if errs[0] == nil || errs[1] != nil || !errors.Is(errs[2], context.Canceled) {
		t.Errorf("errors %v, want one about NaN, none, and the context's", errs)
	}
}

// TestBatchDrafts checks that members that draft do so together, each with its own draft
// length, while the others wait; then all verify in one pass.
func TestBatchDrafts(t *testing.T) {
	d, small := open(t, nil), open(t, nil)
	b := New(d)
	type pass struct {
		draft         bool
		streams, rows int
	}
	var got []pass
	b.trace = func(q *queue, calls []*request) {
		p := pass{draft: q != &b.target, streams: len(calls)}
		for _, c := range calls {
			p.rows += len(c.rows)
		}
		got = append(got, p)
	}
	drafts := []int{3, 0, 1, 2} // of each member, in each of two rounds
	members := make([]*Member, len(drafts))
	for i := range drafts {
		members[i] = b.Join()
	}
	var wg sync.WaitGroup
	for i, n := range drafts {
		wg.Go(func() {
			queue := members[i].ForDecoder(small)
			own, side := d.NewStream(cross(t, d, uint64(i))), small.NewStream(cross(t, small, uint64(i)))
			var logits []float32
			for range 2 {
				for range n { // the first of all is a prompt
					if _, err := queue.StepInto(t.Context(), []decoder.Row{{Stream: side, Position: side.Len(), Token: 1, WantLogits: true}}, &logits); err != nil {
						t.Error(err)
					}
				}
				// Later rows without logits catch up on accepted tokens; they are no prompt.
				rows := []decoder.Row{{Stream: own, Position: own.Len(), Token: 1}, {Stream: own, Position: own.Len() + 1, Token: 2, WantLogits: true}}
				if _, err := members[i].StepInto(t.Context(), rows, &logits); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, m := range members {
		m.Leave()
	}
	round := []pass{{true, 3, 3}, {true, 2, 2}, {true, 1, 1}, {false, 4, 8}}
	if want := slices.Concat(round, round); !slices.Equal(got, want) {
		t.Errorf("passes %+v\nwant %+v", got, want)
	}
}

// TestBatchWithdraws checks that a member whose context ends while it waits for the
// others stops waiting, and that the others continue without it.
func TestBatchWithdraws(t *testing.T) {
	d := open(t, nil)
	c := cross(t, d, 1)
	b := New(d)
	members := []*Member{b.Join(), b.Join(), b.Join()}
	step := func(ctx context.Context, m *Member) error {
		defer m.Leave()
		s := d.NewStream(c)
		defer s.Close()
		_, err := m.StepInto(ctx, []decoder.Row{{Stream: s, Token: 1, WantLogits: true}}, new([]float32))
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	go func() { errs <- step(ctx, members[0]) }()
	go func() { errs <- step(t.Context(), members[1]) }()
	for waiting := 0; waiting < 2; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		waiting = b.waiting
		b.mu.Unlock()
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was canceled", err)
	}
	go func() { errs <- step(t.Context(), members[2]) }()
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
	d := open(t, nil)
	b := New(d)
	const layers, layer = 20, 5 * time.Millisecond
	var passes atomic.Int32
	encoding, done := make(chan struct{}), make(chan struct{})
	m := b.Join()
	var err error
	began := time.Now()
	go func() {
		defer close(done)
		err = b.WithAllThreads(t.Context(), func(between func()) error {
			close(encoding)
			for i := 0; i < layers || passes.Load() < 2 && time.Since(began) < 2*time.Minute; i++ {
				time.Sleep(layer)
				between()
			}
			return nil
		})
	}()
	<-encoding
	s := d.NewStream(cross(t, d, 1))
	var logits []float32
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
			s.Cut(0)
			if _, err := m.StepInto(t.Context(), []decoder.Row{{Stream: s, Token: 1, WantLogits: true}}, &logits); err != nil {
				t.Fatal(err)
			}
			passes.Add(1)
		}
	}
	m.Leave()
	if n := passes.Load(); err != nil || n < 2 {
		t.Errorf("%d passes beside layers, error %v", n, err)
	}
	if busy, most := b.Busy(), time.Since(began)-layers*layer; busy > most || busy <= 0 {
		t.Errorf("busy for %v, want at most %v", busy, most)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b.threads.owner <- struct{}{} // an encoder has the threads
	if err := b.WithAllThreads(ended, func(func()) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was canceled", err)
	}
}

// TestBatchWindowsFirst checks that no pass runs before a window is encoded, if none may.
func TestBatchWindowsFirst(t *testing.T) {
	d := open(t, nil)
	b := New(d)
	b.WindowsFirst = true
	m := b.Join()
	defer m.Leave()
	var passed atomic.Bool
	stepped := make(chan error, 1)
	s := d.NewStream(cross(t, d, 1))
	err := b.WithAllThreads(t.Context(), func(between func()) error {
		go func() {
			_, err := m.StepInto(t.Context(), []decoder.Row{{Stream: s, Token: 1, WantLogits: true}}, new([]float32))
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

// TestBatchSharesLogits checks that sessions of a batch read the logits of a pass in its memory,
// and choose as they do alone.
func TestBatchSharesLogits(t *testing.T) {
	d := open(t, nil)
	want := make([][]tokenizer.Token, 3)
	run := func(i int, o decoder.Runner) (text []tokenizer.Token) {
		s, err := d.NewSession(cross(t, d, 1), decoder.SessionOptions{Prompt: []tokenizer.Token{1, 2}, NoSpeech: -1, Runner: o})
		if err != nil {
			t.Error(err)
			return nil
		}
		defer s.Close()
		for n := range 6 {
			choices, err := s.Choose(t.Context(), slices.Repeat([]tokenizer.Token{tokenizer.Token(50 + i)}, (i+n)%3))
			if err != nil {
				t.Error(err)
				return nil
			}
			kept := []tokenizer.Token{choices[0].Token}
			text = append(text, kept[0], tokenizer.Token(math.Float32bits(s.LogProb(0, 7))))
			if err := s.Commit(kept); err != nil {
				t.Error(err)
			}
		}
		return text
	}
	for i := range want {
		want[i] = run(i, d)
	}
	b := New(d)
	members := []*Member{b.Join(), b.Join(), b.Join()}
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() {
			defer m.Leave()
			if got := run(i, m); !slices.Equal(got, want[i]) {
				t.Errorf("session %d: %v, alone %v", i, got, want[i])
			}
		})
	}
	wg.Wait()
}

// TestBatchStranger checks that rows of a goroutine that is no longer a member run alone, in memory
// of its own, whether there are no members, one or two; and that a second Leave removes no other
// member.
func TestBatchStranger(t *testing.T) {
	d := open(t, nil)
	b := New(d)
	stranger := b.Join()
	for range 2 {
		stranger.Leave()
	}
	c := cross(t, d, 1)
	ask := func(o decoder.Runner, token tokenizer.Token, own *[]float32) []float32 {
		s := d.NewStream(c)
		defer s.Close()
		logits, err := o.StepInto(t.Context(), []decoder.Row{{Stream: s, Token: token, WantLogits: true}}, own)
		if err != nil {
			t.Error(err)
		}
		return logits
	}
	want := [2][]float32{ask(d, 1, new([]float32)), ask(d, 2, new([]float32))}
	for n := range 3 {
		members := make([]*Member, n)
		for i := range members {
			members[i] = b.Join()
		}
		lent := make([][]float32, n)
		var wg sync.WaitGroup
		for i, m := range members {
			wg.Go(func() { lent[i] = ask(m, 1, new([]float32)) })
		}
		wg.Wait()
		// The members still read the logits of their pass.
		for _, o := range []decoder.Runner{stranger, stranger.ForDecoder(d)} {
			if got := ask(o, 2, new([]float32)); !equalBits(got, want[1]) {
				t.Errorf("beside %d members: other logits", n)
			}
		}
		for i, m := range members {
			if !equalBits(lent[i], want[0]) {
				t.Errorf("of %d members, %d: its logits changed while it reads them", n, i)
			}
			if m.Leave(); b.Members() != n-1-i {
				t.Errorf("%d members are left, want %d", b.Members(), n-1-i)
			}
		}
	}
}

// A round of several members allocates nothing.
func TestBatchAllocates(t *testing.T) {
	if testmodel.Race {
		t.Skip("needs a run without the race detector: it allocates, and empties pools at random")
	}
	d := open(t, nil)
	b := New(d)
	members := [2]*Member{b.Join(), b.Join()}
	var streams [2]*decoder.Stream
	for i := range streams {
		streams[i] = d.NewStream(cross(t, d, uint64(i)))
	}
	again := make(chan bool)
	done := make(chan error)
	var rows [2][1]decoder.Row
	var own [2][]float32
	step := func(i int) error {
		streams[i].Cut(0)
		rows[i][0] = decoder.Row{Stream: streams[i], Token: 1, WantLogits: true}
		_, err := members[i].StepInto(t.Context(), rows[i][:], &own[i])
		return err
	}
	go func() {
		for range again {
			done <- step(1)
		}
	}()
	round := func() {
		again <- true
		if err := errors.Join(step(0), <-done); err != nil {
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

// TestArbiter checks that neither two windows nor a window and a pass use the threads
// at the same time, and that all make progress.
func TestArbiter(t *testing.T) {
	var p arbiter
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
			if err := p.beginExclusive(t.Context()); err != nil {
				t.Error(err)
				return
			}
			defer p.endExclusive()
			for range 20 {
				use()
				p.yield(0.5)
			}
		})
	}
	wg.Go(func() {
		for range 5 { // members join and leave
			p.addMembers(1)
			for range 10 {
				p.beginPass()
				use()
				p.endPass()
			}
			p.addMembers(-1)
		}
	})
	wg.Wait()
}
