package schedule

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"verity/decoder"
)

// decodeShare is the share of time that passes get while windows are encoded, so that
// nobody waits long. These passes have fewer rows than if the members waited for the
// windows: a larger share shortens the wait of members, and costs throughput.
const decodeShare = 1.0 / 16

// A Batch lets goroutines that each decode a window share passes, so that the weights are
// read once for all of them. A member's logits have the same bits as alone, so members
// may join, leave, and bring any number of rows.
//
// A pass starts when every member waits for one. Therefore the logits of a pass, which
// are lent and not copied, stay valid until their reader waits again. The price: a
// goroutine may be a member only while it decodes, since the others wait for it. Passes
// of an assistant's decoder go before those of the target. So all members that draft do
// so together, each with its own draft length, and then all verify together.
//
// Encode is for other work that uses all threads.
type Batch struct {
	// WindowsFirst encodes all windows that wait before anything is decoded. More
	// sequences then share a pass; their text comes in bursts. It is set before work.
	WindowsFirst bool

	target queue
	cpu    processor
	passed atomic.Pointer[func(members, rows int)]

	mu      sync.Mutex
	members int
	waiting int      // members, in all queues
	others  []*queue // of assistants

	trace func(q *queue, calls []*call) // called for every shared pass, in tests; or nil
}

// A queue collects rows of the members of a batch and runs them through one decoder.
type queue struct {
	b      *Batch
	d      *decoder.Decoder
	calls  []*call // of the coming pass
	spare  []*call // memory for those of the next
	idle   []*call
	rows   []decoder.Row
	logits []float32 // of the last pass; lent to the members until the next
}

// A call is one member's part of a pass.
type call struct {
	ctx    context.Context
	rows   []decoder.Row
	logits []float32
	err    error
	lead   chan []*call // all calls of a pass, for the leader; nil once a leader has run it
}

// New returns a batch over a target's decoder, without members.
func New(target *decoder.Decoder) *Batch {
	b := new(Batch)
	b.target = queue{b: b, d: target}
	b.cpu.init()
	return b
}

// A Member is a goroutine that decodes a window. It is a Stepper of the target.
type Member struct {
	seat
	left bool
}

// A seat is a member's place in one queue.
type seat struct {
	m *Member
	q *queue
}

// Join makes the calling goroutine a member until it calls Leave.
func (b *Batch) Join() *Member {
	m := new(Member)
	m.seat = seat{m, &b.target}
	b.change(1)
	return m
}

// Leave ends the membership: the others no longer wait. A second call does nothing.
// Rows that the goroutine still brings run alone.
func (m *Member) Leave() {
	if !m.left {
		m.left = true
		m.q.b.change(-1)
	}
}

// Of returns a Stepper of another decoder, an assistant's, for the same member.
func (m *Member) Of(d *decoder.Decoder) decoder.Stepper {
	b := m.q.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.others {
		if q.d == d {
			return seat{m, q}
		}
	}
	q := &queue{b: b, d: d}
	b.others = append(b.others, q)
	return seat{m, q}
}

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

// OnPass has f called after every pass of the target, with how many members shared it and
// how many rows they had. Only the last f is called.
func (b *Batch) OnPass(f func(members, rows int)) { b.passed.Store(&f) }

// tell calls the function of OnPass.
func (q *queue) tell(members, rows int) {
	if f := q.b.passed.Load(); f != nil && q == &q.b.target {
		(*f)(members, rows)
	}
}

// Busy returns the wall time in which there were members and nothing was encoded: the
// time that rounds took.
func (b *Batch) Busy() time.Duration { return b.cpu.busyTime() }

// Encode runs work, the encoding of a window, which uses all threads, while no pass runs.
// Only one work runs at a time, and never that of a member, for whom the others would
// wait. It must call between every few milliseconds, so that the members can run passes
// for their share of the time.
func (b *Batch) Encode(ctx context.Context, work func(between func()) error) error {
	if err := b.cpu.beginWork(ctx); err != nil {
		return err
	}
	defer b.cpu.endWork()
	share := decodeShare
	if b.WindowsFirst {
		share = 0
	}
	return work(func() { b.cpu.between(share) })
}

// start hands the waiting calls of one queue to the first of them, its leader, if every
// member waits. b.mu is held.
func (b *Batch) start() {
	if b.waiting == 0 || b.waiting < b.members {
		return
	}
	q := &b.target
	for _, other := range b.others {
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
	calls[0].lead <- calls
}

// Lend waits for the other members and runs rows with theirs.
func (s seat) Lend(ctx context.Context, rows []decoder.Row, own *[]float32) ([]float32, error) {
	q := s.q
	var c *call
	if !s.m.left {
		c = q.join(ctx, rows)
	}
	if c == nil {
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
// returns nil if there is no other member.
func (q *queue) join(ctx context.Context, rows []decoder.Row) (c *call) {
	b := q.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.members == 1 {
		return nil
	}
	if n := len(q.idle); n > 0 {
		c, q.idle = q.idle[n-1], q.idle[:n-1]
	} else {
		c = &call{lead: make(chan []*call, 1)}
	}
	c.ctx, c.rows = ctx, rows
	q.calls = append(q.calls, c)
	b.waiting++
	b.start()
	return c
}

// giveBack keeps the memory of a call for reuse. b.mu is held.
func (q *queue) giveBack(c *call) {
	*c = call{lead: c.lead}
	q.idle = append(q.idle, c)
}

// follow waits until a leader has run c, or until c is the leader. If ctx ends before
// that, it withdraws c from the coming pass. A call whose pass has a leader is waited
// for, since it is running.
func (q *queue) follow(ctx context.Context, c *call) error {
	select {
	case calls := <-c.lead:
		q.lead(calls)
		return nil
	case <-ctx.Done():
	}
	if q.withdraw(c) {
		return ctx.Err()
	}
	q.lead(<-c.lead)
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
		other.lead <- nil
	}
	q.b.mu.Lock()
	q.spare = calls
	q.b.mu.Unlock()
}

// alone runs rows without those of other members.
func (q *queue) alone(ctx context.Context, rows []decoder.Row, own *[]float32) ([]float32, error) {
	q.b.cpu.beginPass()
	defer q.b.cpu.endPass()
	defer q.tell(1, len(rows))
	return q.d.Lend(ctx, rows, own)
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
	logits, err := q.d.Lend(ctx, q.rows, &q.logits)
	q.tell(len(calls), len(q.rows))
	for _, c := range calls {
		switch n := q.d.Logits(c.rows); {
		case err == nil:
			c.logits, logits = logits[:n:n], logits[n:]
		case len(calls) == 1:
			c.err = err
		default:
			var own []float32
			c.logits, c.err = q.d.Lend(c.ctx, c.rows, &own)
		}
	}
}
