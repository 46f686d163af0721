package decoder

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Stepper runs rows through the network: *Decoder alone, *Batch and what its Beside
// returns together with the rows of others.
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
	// larger share shortens the wait of members, and costs throughput. 0 means 1/16; below
	// 0, all windows that wait are encoded first.
	DecodeShare float64

	own    queue
	cpu    processor
	passed atomic.Pointer[func(members, rows int)]

	mu      sync.Mutex
	members int
	waiting int      // members, in all queues
	beside  []*queue // of assistants

	trace func(q *queue, calls []*call) // called for every shared pass, in tests; or nil
}

// A queue collects rows of the members of a batch and runs them through one decoder.
type queue struct {
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
	b.own = queue{b: b, d: d}
	b.cpu.init()
	return b
}

// Beside returns the queue of another decoder for the same members. Its passes go before
// those of the batch itself.
func (b *Batch) Beside(d *Decoder) Stepper {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.beside {
		if q.d == d {
			return q
		}
	}
	q := &queue{b: b, d: d}
	b.beside = append(b.beside, q)
	return q
}

// Join makes the calling goroutine a member.
func (b *Batch) Join() { b.change(1) }

// Leave ends a membership. The others no longer wait for it.
func (b *Batch) Leave() { b.change(-1) }

// Members returns the number of members.
func (b *Batch) Members() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members
}

func (b *Batch) change(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members += n
	b.cpu.join(n)
	b.start()
}

// OnPass has f called after every pass of the model, with how many members shared it and
// how many rows they had. Only the last f is called.
func (b *Batch) OnPass(f func(members, rows int)) { b.passed.Store(&f) }

// tell calls the function of OnPass.
func (q *queue) tell(members, rows int) {
	if f := q.b.passed.Load(); f != nil && q == &q.b.own {
		(*f)(members, rows)
	}
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
	share := max(0, cmp.Or(b.DecodeShare, 1.0/16))
	return work(func() { b.cpu.between(share) })
}

// start hands the waiting calls of one queue to the first of them, its leader, if every
// member waits. b.mu is held.
func (b *Batch) start() {
	if b.waiting == 0 || b.waiting < b.members {
		return
	}
	q := &b.own
	for _, other := range b.beside {
		if len(other.calls) > 0 {
			q = other
			break
		}
	}
	b.waiting -= len(q.calls)
	calls := q.calls
	q.calls, q.spare = q.spare[:0], nil
	if b.trace != nil {
		b.trace(q, calls)
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

// Beside returns a queue of the same batch.
func (q *queue) Beside(d *Decoder) Stepper { return q.b.Beside(d) }

// Step runs rows, together with those of the other members.
func (q *queue) Step(ctx context.Context, rows []Row, logits []float32) error {
	lent, err := q.lend(ctx, rows, &logits)
	copy(logits, lent) // a copy onto itself, if the rows ran alone
	return err
}

// lend waits for the members and runs rows with theirs. If there are no members, the rows
// run alone.
func (q *queue) lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	c, members := q.join(ctx, rows)
	if c == nil {
		if members == 1 {
			own = &q.logits
		}
		return q.alone(ctx, rows, own)
	}
	if err := q.follow(ctx, c); err != nil {
		return nil, err
	}
	logits, err := c.logits, c.err
	q.b.mu.Lock()
	q.giveBack(c)
	q.b.mu.Unlock()
	return logits, err
}

// join adds a call to the coming pass, and starts the pass if every member waits. It
// returns nil if there are no members.
func (q *queue) join(ctx context.Context, rows []Row) (c *call, members int) {
	b := q.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.members == 0 || b.members == 1 && b.waiting == 0 {
		return nil, b.members
	}
	if n := len(q.idle); n > 0 {
		c, q.idle = q.idle[n-1], q.idle[:n-1]
	} else {
		c = &call{turn: make(chan []*call, 1)}
	}
	c.ctx, c.rows = ctx, rows
	q.calls = append(q.calls, c)
	b.waiting++
	b.start()
	return c, b.members
}

// giveBack keeps the memory of a call for reuse. b.mu is held.
func (q *queue) giveBack(c *call) {
	*c = call{turn: c.turn}
	q.idle = append(q.idle, c)
}

// follow waits until a leader has run c, or until c is the leader. If ctx ends before
// that, it withdraws c from the coming pass. A call whose pass has a leader is waited
// for, since it is running.
func (q *queue) follow(ctx context.Context, c *call) error {
	select {
	case calls := <-c.turn:
		q.lead(calls)
		return nil
	case <-ctx.Done():
	}
	if q.withdraw(c) {
		return ctx.Err()
	}
	q.lead(<-c.turn)
	return nil
}

// withdraw takes c out of the coming pass. It reports false if that pass has begun.
func (q *queue) withdraw(c *call) bool {
	q.b.mu.Lock()
	defer q.b.mu.Unlock()
	i := slices.Index(q.calls, c)
	if i < 0 {
		return false
	}
	q.calls = slices.Delete(q.calls, i, i+1)
	q.b.waiting--
	q.giveBack(c)
	return true
}

// lead runs a pass for all calls and notifies the others. Nil calls have been run.
func (q *queue) lead(calls []*call) {
	if calls == nil {
		return
	}
	q.run(calls)
	for _, other := range calls[1:] {
		other.turn <- nil
	}
	q.b.mu.Lock()
	q.spare = calls
	q.b.mu.Unlock()
}

// alone runs rows without those of other members.
func (q *queue) alone(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	q.b.cpu.beginPass()
	defer q.b.cpu.endPass()
	defer q.tell(1, len(rows))
	return q.d.lend(ctx, rows, own)
}

// run does one pass for all calls. If it fails, each call is run alone: a failed pass
// leaves the streams as they were, and the error of one member must not reach the others.
// Nor must the end of its context, so a pass of several has no context.
func (q *queue) run(calls []*call) {
	q.b.cpu.beginPass()
	defer q.b.cpu.endPass()
	ctx := context.Background()
	if len(calls) == 1 {
		ctx = calls[0].ctx
	}
	q.rows = q.rows[:0]
	for _, c := range calls {
		q.rows = append(q.rows, c.rows...)
	}
	logits := room(&q.logits, q.rows, q.d.dims.Vocab)
	for rest, c := logits, calls; len(c) > 0; c = c[1:] {
		n := loudOf(c[0].rows) * q.d.dims.Vocab
		c[0].logits, rest = rest[:n:n], rest[n:]
	}
	err := q.d.Step(ctx, q.rows, logits)
	q.tell(len(calls), len(q.rows))
	if err == nil {
		return
	}
	if len(calls) == 1 {
		calls[0].err = err
		return
	}
	for _, c := range calls {
		c.err = q.d.Step(c.ctx, c.rows, c.logits)
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
