package decoder

import (
	"context"
	"sync"
	"time"
)

// A Stepper runs rows through the network. *Decoder does it at once, *Batch
// together with the rows of others.
type Stepper interface {
	Step(ctx context.Context, rows []Row, logits []float32) error
}

// A Batch lets goroutines that each decode a stream share passes, so that the
// weights are read once for all of them. A member's logits have the same bits as
// if it were alone, so members may come, go, and bring any number of rows.
//
// A pass begins when every member waits for one. A goroutine must be a member
// only while it works for the batch: the others wait for it. What an assistant's
// decoder runs beside (see Beside) goes first, so that all who draft do so
// together, each as long as it likes, and then all verify together.
type Batch struct {
	own Lane

	mu      sync.Mutex
	members int
	waiting int     // members, in all lanes
	beside  []*Lane // of assistants

	watch  Observer
	last   Pass
	since  time.Time // begin of the last pass
	steady bool      // nobody has come or gone since then
}

// A Lane runs the passes of one decoder for the members of a batch. It is a
// Stepper.
type Lane struct {
	b      *Batch
	d      *Decoder
	draft  bool
	calls  []*call // of the coming pass
	spare  []*call // room for those of the next
	idle   []*call
	rows   []Row
	logits []float32 // of the last pass; it is the members' until the next
}

// A call is one member's part of a pass.
type call struct {
	ctx    context.Context
	rows   []Row
	loud   int
	logits []float32
	err    error
	turn   chan []*call // gets the calls of a pass, to run them; nil once another has done so
}

// A Pass is what ran through a decoder at once.
type Pass struct {
	Draft   bool // by an assistant's decoder
	Streams int
	Rows    int
	Prompt  bool // a stream began: its prompt went through
}

// An Observer learns what passes cost. It is called by whoever begins one, one
// call at a time, and must not use the batch.
type Observer interface {
	// Members tells how many there are from now on.
	Members(n int)

	// Began tells that a pass begins.
	Began(p Pass)

	// Took tells the time from the begin of a pass to that of the next, in which
	// nobody came or went: the pass, and what members made of it.
	Took(p Pass, d time.Duration)
}

// NewBatch returns a batch over d without members.
func NewBatch(d *Decoder) *Batch {
	b := new(Batch)
	b.own = Lane{b: b, d: d}
	return b
}

// Watch tells o of every pass from now on.
func (b *Batch) Watch(o Observer) {
	b.mu.Lock()
	b.watch, b.steady = o, false
	b.mu.Unlock()
}

// Beside returns the lane of another decoder for the same members. Its passes go
// before those of the batch's own.
func (b *Batch) Beside(d *Decoder) *Lane {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.beside {
		if l.d == d {
			return l
		}
	}
	l := &Lane{b: b, d: d, draft: true}
	b.beside = append(b.beside, l)
	return l
}

// Join makes the calling goroutine a member.
func (b *Batch) Join() { b.change(1) }

// Leave ends a membership. Those who wait for the leaver wait no more.
func (b *Batch) Leave() { b.change(-1) }

func (b *Batch) change(n int) {
	b.mu.Lock()
	b.members += n
	b.steady = false
	if b.watch != nil {
		b.watch.Members(b.members)
	}
	b.start()
	b.mu.Unlock()
}

// start hands the waiting calls of one lane to the first of them, if nobody is
// missing. b.mu is held.
func (b *Batch) start() {
	if b.waiting == 0 || b.waiting < b.members {
		return
	}
	l := &b.own
	for _, other := range b.beside {
		if len(other.calls) > 0 {
			l = other
			break
		}
	}
	p := Pass{Draft: l.draft, Streams: len(l.calls)}
	for _, c := range l.calls {
		p.count(c.rows)
	}
	b.begin(p)
	b.waiting -= len(l.calls)
	calls := l.calls
	l.calls, l.spare = l.spare[:0], nil
	calls[0].turn <- calls
}

func (p *Pass) count(rows []Row) {
	p.Rows += len(rows)
	p.Prompt = p.Prompt || rows[0].Position == 0
}

// begin tells the observer. b.mu is held.
func (b *Batch) begin(p Pass) {
	if b.watch == nil {
		return
	}
	now := time.Now()
	if b.steady {
		b.watch.Took(b.last, now.Sub(b.since))
	}
	b.watch.Began(p)
	b.last, b.since, b.steady = p, now, true
}

// Step runs rows, together with those of the other members.
func (b *Batch) Step(ctx context.Context, rows []Row, logits []float32) error {
	return b.own.Step(ctx, rows, logits)
}

func (b *Batch) share(ctx context.Context, rows []Row, loud int) ([]float32, bool, error) {
	return b.own.share(ctx, rows, loud)
}

// Step runs rows, together with those of the other members.
func (l *Lane) Step(ctx context.Context, rows []Row, logits []float32) error {
	got, ok, err := l.share(ctx, rows, loudOf(rows))
	if !ok {
		return l.d.Step(ctx, rows, logits)
	}
	copy(logits, got)
	return err
}

// share runs rows, loud of which want logits, with those of the others. The logits
// it returns are the caller's until its next pass. It does nothing and reports
// false if the batch has no members: then the caller is none either.
func (l *Lane) share(ctx context.Context, rows []Row, loud int) (logits []float32, ok bool, err error) {
	b := l.b
	b.mu.Lock()
	switch {
	case b.members == 0:
		b.mu.Unlock()
		return nil, false, nil
	case b.members == 1 && b.waiting == 0: // nobody to wait for
		p := Pass{Draft: l.draft, Streams: 1}
		p.count(rows)
		b.begin(p)
		b.mu.Unlock()
		logits = l.room(loud)
		err = l.d.Step(ctx, rows, logits)
		return logits, true, err
	}
	c := l.call()
	c.ctx, c.rows, c.loud = ctx, rows, loud
	l.calls = append(l.calls, c)
	b.waiting++
	b.start()
	b.mu.Unlock()
	if calls := <-c.turn; calls != nil {
		l.run(calls)
		for _, other := range calls[1:] {
			other.turn <- nil
		}
		b.mu.Lock()
		l.spare = calls
		b.mu.Unlock()
	}
	logits, err = c.logits, c.err
	b.mu.Lock()
	*c = call{turn: c.turn}
	l.idle = append(l.idle, c)
	b.mu.Unlock()
	return logits, true, err
}

// call returns an idle call. b.mu is held.
func (l *Lane) call() *call {
	n := len(l.idle)
	if n == 0 {
		return &call{turn: make(chan []*call, 1)}
	}
	c := l.idle[n-1]
	l.idle = l.idle[:n-1]
	return c
}

// room returns memory for the logits of n rows.
func (l *Lane) room(n int) []float32 {
	if n *= l.d.dims.Vocab; cap(l.logits) < n {
		l.logits = make([]float32, n)
	}
	return l.logits[:n]
}

// run does one pass for all calls. If it fails, each is run alone: a pass that
// fails leaves the streams as they were, and one member's error, or the end of
// its context, is no business of the others.
func (l *Lane) run(calls []*call) {
	loud := 0
	l.rows = l.rows[:0]
	for _, c := range calls {
		l.rows = append(l.rows, c.rows...)
		loud += c.loud
	}
	logits := l.room(loud)
	for at, c := 0, calls; len(c) > 0; c = c[1:] {
		end := at + c[0].loud*l.d.dims.Vocab
		c[0].logits, at = logits[at:end:end], end
	}
	err := l.d.Step(calls[0].ctx, l.rows, logits)
	if err == nil {
		return
	}
	if len(calls) == 1 {
		calls[0].err = err
		return
	}
	l.Disturb()
	for _, c := range calls {
		c.err = l.d.Step(c.ctx, c.rows, c.logits)
	}
}

// Disturb says that the caller is about to do something that has nothing to do with
// the last pass: no time is told of it.
func (l *Lane) Disturb() {
	l.b.mu.Lock()
	l.b.steady = false
	l.b.mu.Unlock()
}

// loudOf counts the rows that want logits.
func loudOf(rows []Row) int {
	n := 0
	for _, r := range rows {
		if !r.Silent {
			n++
		}
	}
	return n
}
