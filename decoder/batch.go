package decoder

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// A Stepper runs rows through the network: *Decoder alone, *Batch and *Lane together with
// the rows of others.
type Stepper interface {
	// Step runs rows and writes the logits [rows not silent][Vocab].
	Step(ctx context.Context, rows []Row, logits []float32) error

	// Beside returns a Stepper of another decoder, an assistant's, for the same
	// sequences.
	Beside(d *Decoder) Stepper

	// lend runs rows and returns their logits, which are valid until the caller's next
	// call. They lie in own, grown as needed, or in memory of the stepper.
	lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error)
}

// A Batch lets goroutines that each decode a stream share passes, so that the weights are
// read once for all of them. A member's logits have the same bits as alone, so members
// may join, leave, and bring any number of rows.
//
// A pass starts when every member waits for one. Therefore the logits of a pass, which
// are lent and not copied, stay valid until their reader waits again. The price: a
// goroutine may be a member only while it decodes, since the others wait for it. Passes
// of an assistant's decoder (see Beside) go first. So all members that draft do so
// together, each with its own draft length, and then all verify together.
//
// Encode is for other work that uses all threads.
type Batch struct {
	// DecodeShare is the share of time that passes of the members get while windows are
	// encoded. These passes have fewer rows than if the members waited for the windows: a
	// larger share shortens the wait of members, and costs throughput. 0 means 1/16.
	DecodeShare float64

	own Lane
	cpu processor

	mu      sync.Mutex
	members int
	waiting int     // members, in all lanes
	beside  []*Lane // of assistants

	trace func(l *Lane, calls []*call) // called for every shared pass, in tests; or nil
}

// A Lane runs the passes of one decoder for the members of a batch.
type Lane struct {
	b      *Batch
	d      *Decoder
	calls  []*call // of the coming pass
	spare  []*call // memory for those of the next
	idle   []*call
	rows   []Row
	logits []float32 // of the last pass; lent to the members until the next
}

// A call is one member's part of a pass.
type call struct {
	ctx    context.Context
	rows   []Row
	logits []float32
	err    error
	turn   chan []*call // all calls of a pass, for the leader; nil once a leader has run it
}

// NewBatch returns a batch over d without members.
func NewBatch(d *Decoder) *Batch {
	b := new(Batch)
	b.own = Lane{b: b, d: d}
	b.cpu.init()
	return b
}

// Beside returns the lane of another decoder for the same members. Its passes go before
// those of the batch itself.
func (b *Batch) Beside(d *Decoder) Stepper {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.beside {
		if l.d == d {
			return l
		}
	}
	l := &Lane{b: b, d: d}
	b.beside = append(b.beside, l)
	return l
}

// Join makes the calling goroutine a member.
func (b *Batch) Join() { b.change(1) }

// Leave ends a membership. The others no longer wait for it.
func (b *Batch) Leave() { b.change(-1) }

func (b *Batch) change(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members += n
	b.cpu.join(n)
	b.start()
}

// Busy returns the wall time in which there were members and nothing was encoded: the
// time that rounds took.
func (b *Batch) Busy() time.Duration { return b.cpu.busyTime() }

// Encode runs work, the encoding of a window, which uses all threads, while no pass runs.
// Only one work runs at a time. It must call between every few milliseconds, so that the
// members can run passes for their share of the time.
func (b *Batch) Encode(ctx context.Context, work func(between func()) error) error {
	if err := b.cpu.beginWork(ctx); err != nil {
		return err
	}
	defer b.cpu.endWork()
	share := cmp.Or(b.DecodeShare, 1.0/16)
	return work(func() { b.cpu.between(share) })
}

// start hands the waiting calls of one lane to the first of them, its leader, if every
// member waits. b.mu is held.
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
	b.waiting -= len(l.calls)
	calls := l.calls
	l.calls, l.spare = l.spare[:0], nil
	if b.trace != nil {
		b.trace(l, calls)
	}
	calls[0].turn <- calls
}

// Step runs rows, together with those of the other members.
func (b *Batch) Step(ctx context.Context, rows []Row, logits []float32) error {
	return b.own.Step(ctx, rows, logits)
}

func (b *Batch) lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	return b.own.lend(ctx, rows, own)
}

// Beside returns a lane of the same batch.
func (l *Lane) Beside(d *Decoder) Stepper { return l.b.Beside(d) }

// Step runs rows, together with those of the other members.
func (l *Lane) Step(ctx context.Context, rows []Row, logits []float32) error {
	lent, err := l.lend(ctx, rows, &logits)
	copy(logits, lent) // a copy onto itself, if the rows ran alone
	return err
}

// lend waits for the members and runs rows with theirs. If there are no members, the rows
// run alone.
func (l *Lane) lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	c, members := l.join(ctx, rows)
	if c == nil {
		if members == 1 {
			own = &l.logits
		}
		return l.alone(ctx, rows, own)
	}
	if err := l.follow(ctx, c); err != nil {
		return nil, err
	}
	logits, err := c.logits, c.err
	l.b.mu.Lock()
	l.giveBack(c)
	l.b.mu.Unlock()
	return logits, err
}

// join adds a call to the coming pass, and starts the pass if every member waits. It
// returns nil if there are no members.
func (l *Lane) join(ctx context.Context, rows []Row) (c *call, members int) {
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.members == 0 || b.members == 1 && b.waiting == 0 {
		return nil, b.members
	}
	if n := len(l.idle); n > 0 {
		c, l.idle = l.idle[n-1], l.idle[:n-1]
	} else {
		c = &call{turn: make(chan []*call, 1)}
	}
	c.ctx, c.rows = ctx, rows
	l.calls = append(l.calls, c)
	b.waiting++
	b.start()
	return c, b.members
}

// giveBack keeps the memory of a call for reuse. b.mu is held.
func (l *Lane) giveBack(c *call) {
	*c = call{turn: c.turn}
	l.idle = append(l.idle, c)
}

// follow waits until a leader has run c, or until c is the leader. If ctx ends before
// that, it withdraws c from the coming pass. A call whose pass has a leader is waited
// for, since it is running.
func (l *Lane) follow(ctx context.Context, c *call) error {
	select {
	case calls := <-c.turn:
		l.lead(calls)
		return nil
	case <-ctx.Done():
	}
	if l.withdraw(c) {
		return ctx.Err()
	}
	l.lead(<-c.turn)
	return nil
}

// withdraw takes c out of the coming pass. It reports false if that pass has begun.
func (l *Lane) withdraw(c *call) bool {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	i := slices.Index(l.calls, c)
	if i < 0 {
		return false
	}
	l.calls = slices.Delete(l.calls, i, i+1)
	l.b.waiting--
	l.giveBack(c)
	return true
}

// lead runs a pass for all calls and notifies the others. Nil calls have been run.
func (l *Lane) lead(calls []*call) {
	if calls == nil {
		return
	}
	l.run(calls)
	for _, other := range calls[1:] {
		other.turn <- nil
	}
	l.b.mu.Lock()
	l.spare = calls
	l.b.mu.Unlock()
}

// alone runs rows without those of other members.
func (l *Lane) alone(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	l.b.cpu.beginPass()
	defer l.b.cpu.endPass()
	return l.d.lend(ctx, rows, own)
}

// run does one pass for all calls. If it fails, each call is run alone: a failed pass
// leaves the streams as they were, and the error of one member must not reach the others.
// Nor must the end of its context, so a pass of several has no context.
func (l *Lane) run(calls []*call) {
	l.b.cpu.beginPass()
	defer l.b.cpu.endPass()
	ctx := context.Background()
	if len(calls) == 1 {
		ctx = calls[0].ctx
	}
	l.rows = l.rows[:0]
	for _, c := range calls {
		l.rows = append(l.rows, c.rows...)
	}
	logits := room(&l.logits, l.rows, l.d.dims.Vocab)
	for rest, c := logits, calls; len(c) > 0; c = c[1:] {
		n := loudOf(c[0].rows) * l.d.dims.Vocab
		c[0].logits, rest = rest[:n:n], rest[n:]
	}
	err := l.d.Step(ctx, l.rows, logits)
	if err == nil {
		return
	}
	if len(calls) == 1 {
		calls[0].err = err
		return
	}
	for _, c := range calls {
		c.err = l.d.Step(c.ctx, c.rows, c.logits)
	}
}

// Beside returns d: there is nothing to share.
func (*Decoder) Beside(d *Decoder) Stepper { return d }

// lend runs rows at once.
func (d *Decoder) lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	logits := room(own, rows, d.dims.Vocab)
	return logits, d.Step(ctx, rows, logits)
}

// room returns memory for the logits of rows, from own.
func room(own *[]float32, rows []Row, vocab int) []float32 {
	n := loudOf(rows) * vocab
	if cap(*own) < n {
		*own = make([]float32, n)
	}
	return (*own)[:n]
}

// loudOf counts the rows that are not silent.
func loudOf(rows []Row) int {
	n := 0
	for _, r := range rows {
		if !r.Silent {
			n++
		}
	}
	return n
}
