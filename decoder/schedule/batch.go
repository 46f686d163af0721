package schedule

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"verity/decoder"
)

// decodeShare is the share of time that passes get while windows are encoded, so that no
// member waits long. Such passes have fewer rows than if the members waited for the
// windows: a larger share shortens the wait of members, and costs throughput.
const decodeShare = 1.0 / 16

// A Batch lets goroutines that each decode a window share passes, so that the weights are
// read once for all of them. A member's logits have the same bits as alone, so members
// may join, leave, and bring any number of rows.
//
// A pass starts when every member waits for one, so its logits can be shared without a copy: they
// stay valid until their reader waits again. The price is that a goroutine may be a member only
// while it decodes, because the others wait for it.
//
// Passes of an assistant's decoder go before those of the target. So all members that
// draft do so together, each with its own draft length, and then all verify together.
//
// WithAllThreads runs other work, such as encoding, between passes.
type Batch struct {
	// WindowsFirst encodes all waiting windows before anything is decoded. More
	// sequences then share a pass, and their text comes in bursts. Set it before use.
	WindowsFirst bool

	target  queue
	threads arbiter
	onPass  atomic.Pointer[func(members, rows int)]

	mu         sync.Mutex
	members    int
	waiting    int // members, in all queues
	assistants []*queue

	trace func(q *queue, requests []*request) // if not nil, called for every shared pass; for tests
}

// A queue collects rows of the members of a batch and runs them through one decoder.
type queue struct {
	b            *Batch
	d            *decoder.Decoder
	requests     []*request // of the coming pass
	reusable     []*request // memory for the requests of the pass after it
	freeRequests []*request
	rows         []decoder.Row
	logits       []float32 // of the last pass; its members read them until the next
}

// A request is one member's part of a pass.
type request struct {
	ctx    context.Context
	rows   []decoder.Row
	logits []float32
	err    error
	pass   chan []*request // all requests of a pass, for its leader; nil once a leader has run it
}

// New returns a batch over a target's decoder, without members.
func New(target *decoder.Decoder) *Batch {
	b := new(Batch)
	b.target = queue{b: b, d: target}
	b.threads.init()
	return b
}

// A Member is a goroutine that decodes a window. It is a Runner of the target.
type Member struct {
	membership
	left bool
}

// A membership is a member's place in one queue.
type membership struct {
	m *Member
	q *queue
}

// Join makes the calling goroutine a member until it calls Leave.
func (b *Batch) Join() *Member {
	m := new(Member)
	m.membership = membership{m, &b.target}
	b.changeMembers(1)
	return m
}

// Leave ends the membership: the others no longer wait. A second call does nothing.
// Further rows of the goroutine run alone.
func (m *Member) Leave() {
	if !m.left {
		m.left = true
		m.q.b.changeMembers(-1)
	}
}

// ForDecoder returns a Runner of another decoder, an assistant's, for the same member.
func (m *Member) ForDecoder(d *decoder.Decoder) decoder.Runner {
	b := m.q.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.assistants {
		if q.d == d {
			return membership{m, q}
		}
	}
	q := &queue{b: b, d: d}
	b.assistants = append(b.assistants, q)
	return membership{m, q}
}

// Members returns the number of members.
func (b *Batch) Members() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members
}

func (b *Batch) changeMembers(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members += n
	b.threads.addMembers(n)
	b.startPass()
}

// OnPass sets a function to call after every pass of the target, with the numbers of
// members that shared it and of their rows. It replaces the one set before.
func (b *Batch) OnPass(f func(members, rows int)) { b.onPass.Store(&f) }

// reportPass calls the function of OnPass.
func (q *queue) reportPass(members, rows int) {
	if f := q.b.onPass.Load(); f != nil && q == &q.b.target {
		(*f)(members, rows)
	}
}

// Busy returns the wall time during which there were members and nothing was encoded: the time
// spent in rounds.
func (b *Batch) Busy() time.Duration { return b.threads.busyTime() }

// WithAllThreads runs work that uses all threads, such as the encoding of a window, while
// no pass runs. Only one work runs at a time. The caller must not be a member, because the
// others would wait for it. The work must call yield every few milliseconds, so that
// members can run passes for their share of the time.
func (b *Batch) WithAllThreads(ctx context.Context, work func(yield func()) error) error {
	if err := b.threads.beginExclusive(ctx); err != nil {
		return err
	}
	defer b.threads.endExclusive()
	share := decodeShare
	if b.WindowsFirst {
		share = 0
	}
	return work(func() { b.threads.yield(share) })
}

// startPass starts a pass if every member waits: it hands the requests of one queue to the
// first of them, the leader. b.mu is held.
func (b *Batch) startPass() {
	if b.waiting == 0 || b.waiting < b.members {
		return
	}
	q := &b.target
	for _, other := range b.assistants {
		if len(other.requests) > 0 {
			q = other
			break
		}
	}
	b.waiting -= len(q.requests)
	requests := q.requests
	q.requests, q.reusable = q.reusable[:0], nil
	if b.trace != nil {
		b.trace(q, requests)
	}
	requests[0].pass <- requests
}

// StepInto waits for the other members and runs rows with theirs.
func (s membership) StepInto(ctx context.Context, rows []decoder.Row, buffer *[]float32) ([]float32, error) {
	q := s.q
	var r *request
	if !s.m.left {
		r = q.enqueue(ctx, rows)
	}
	if r == nil {
		return q.runAlone(ctx, rows, buffer)
	}
	if err := q.wait(ctx, r); err != nil {
		return nil, err
	}
	logits, err := r.logits, r.err
	q.b.mu.Lock()
	q.recycle(r)
	q.b.mu.Unlock()
	return logits, err
}

// enqueue adds a request to the coming pass, and starts the pass if every member waits. It
// returns nil if there is no other member.
func (q *queue) enqueue(ctx context.Context, rows []decoder.Row) (r *request) {
	b := q.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.members == 1 {
		return nil
	}
	if n := len(q.freeRequests); n > 0 {
		r, q.freeRequests = q.freeRequests[n-1], q.freeRequests[:n-1]
	} else {
		r = &request{pass: make(chan []*request, 1)}
	}
	r.ctx, r.rows = ctx, rows
	q.requests = append(q.requests, r)
	b.waiting++
	b.startPass()
	return r
}

// recycle keeps the memory of a request for reuse. b.mu is held.
func (q *queue) recycle(r *request) {
	*r = request{pass: r.pass}
	q.freeRequests = append(q.freeRequests, r)
}

// wait waits until a leader has run r, or until r is the leader and has run its pass. If
// ctx ends before the pass starts, it cancels r.
func (q *queue) wait(ctx context.Context, r *request) error {
	select {
	case requests := <-r.pass:
		q.runAsLeader(requests)
		return nil
	case <-ctx.Done():
	}
	if q.cancel(r) {
		return ctx.Err()
	}
	q.runAsLeader(<-r.pass)
	return nil
}

// cancel removes r from the coming pass. It reports false if that pass has started.
func (q *queue) cancel(r *request) bool {
	q.b.mu.Lock()
	defer q.b.mu.Unlock()
	i := slices.Index(q.requests, r)
	if i < 0 {
		return false
	}
	q.requests = slices.Delete(q.requests, i, i+1)
	q.b.waiting--
	q.recycle(r)
	return true
}

// runAsLeader runs a pass for all requests and notifies the others. It does nothing if
// there are none: then another request was the leader.
func (q *queue) runAsLeader(requests []*request) {
	if requests == nil {
		return
	}
	q.runPass(requests)
	for _, other := range requests[1:] {
		other.pass <- nil
	}
	q.b.mu.Lock()
	q.reusable = requests
	q.b.mu.Unlock()
}

// runAlone runs rows without those of other members.
func (q *queue) runAlone(ctx context.Context, rows []decoder.Row, buffer *[]float32) ([]float32, error) {
	q.b.threads.beginPass()
	defer q.b.threads.endPass()
	defer q.reportPass(1, len(rows))
	return q.d.StepInto(ctx, rows, buffer)
}

// runPass runs the rows of all requests together. A member's error, or the end of its
// context, must not reach the others. So a pass of several requests has no context, and if
// it fails, which leaves the streams as they were, each request runs alone.
func (q *queue) runPass(requests []*request) {
	q.b.threads.beginPass()
	defer q.b.threads.endPass()
	ctx := context.Background()
	if len(requests) == 1 {
		ctx = requests[0].ctx
	}
	q.rows = q.rows[:0]
	for _, r := range requests {
		q.rows = append(q.rows, r.rows...)
	}
	logits, err := q.d.StepInto(ctx, q.rows, &q.logits)
	q.reportPass(len(requests), len(q.rows))
	for _, r := range requests {
		switch n := q.d.LogitCount(r.rows); {
		case err == nil:
			r.logits, logits = logits[:n:n], logits[n:]
		case len(requests) == 1:
			r.err = err
		default:
			var own []float32
			r.logits, r.err = q.d.StepInto(r.ctx, r.rows, &own)
		}
	}
}
