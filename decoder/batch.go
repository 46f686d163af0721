package decoder

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// A Stepper runs rows through the network. *Decoder does it at once, *Batch and *Lane
// together with the rows of others.
type Stepper interface {
	// Step runs rows and writes the logits [rows not silent][Vocab].
	Step(ctx context.Context, rows []Row, logits []float32) error

	// Beside returns what runs the rows of another decoder for the same sequences: an
	// assistant's.
	Beside(d *Decoder) Stepper

	// lend runs rows and returns their logits, which are the caller's until its next
	// call. They lie in own, grown as needed, or where the stepper has room.
	lend(ctx context.Context, rows []Row, own *[]float32) ([]float32, error)
}

// A Batch lets goroutines that each decode a stream share passes, so that the
// weights are read once for all of them. A member's logits have the same bits as
// if it were alone, so members may come, go, and bring any number of rows.
//
// A pass starts when every member waits for one. Therefore the logits of a pass,
// which are lent and not copied, stay as they are until their reader waits again.
// The price is that a goroutine may be a member only while it decodes: the others wait
// for it. Passes of an assistant's decoder (see Beside) go first, so that all who draft
// do so together, each as long as it likes, and then all verify together.
//
// Encode is for what else uses all threads.
type Batch struct {
	// DecodeShare is the part of the time that members get for their passes while
	// windows are encoded. These passes have fewer rows than if the members waited for
	// the windows: a larger share makes them wait less, and costs throughput. 0 means
	// 1/16.
	DecodeShare float64

	own Lane
	cpu processor

	mu      sync.Mutex
	members int
	waiting int     // members, in all lanes
	beside  []*Lane // of assistants

	trace func(l *Lane, calls []*call) // told of every shared pass, in tests; or nil
}

// A Lane runs the passes of one decoder for the members of a batch.
type Lane struct {
	b      *Batch
	d      *Decoder
	calls  []*call // of the coming pass
	spare  []*call // room for those of the next
	idle   []*call
	rows   []Row
	logits []float32 // of the last pass; the members' until the next
}

// A call is one member's part of a pass.
type call struct {
	ctx    context.Context
	rows   []Row
	logits []float32
	err    error
	turn   chan []*call // all calls of a pass, for the leader; nil when a leader has run it
}

// NewBatch returns a batch over d without members.
func NewBatch(d *Decoder) *Batch {
	b := new(Batch)
	b.own = Lane{b: b, d: d}
	b.cpu.init()
	return b
}

// Beside returns the lane of another decoder for the same members. Its passes go
// before those of the batch's own.
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

// Leave ends a membership. Those who wait for the leaver wait no more.
func (b *Batch) Leave() { b.change(-1) }

func (b *Batch) change(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members += n
	b.cpu.join(n)
	b.start()
}

// Busy returns the wall time in which there were members and nothing was encoded. It
// is the clock to time rounds by.
func (b *Batch) Busy() time.Duration { return b.cpu.busyTime() }

// Encode runs work while no pass does: the encoding of a window, which uses all threads.
// One work at a time. It must call between every few milliseconds, which lets the
// members run passes, for the share of the time that is theirs.
func (b *Batch) Encode(ctx context.Context, work func(between func()) error) error {
	if err := b.cpu.beginWork(ctx); err != nil {
		return err
	}
	defer b.cpu.endWork()
	share := cmp.Or(b.DecodeShare, 1.0/16)
	return work(func() { b.cpu.between(share) })
}

// start hands the waiting calls of one lane to the first of them, its leader, if no
// member is missing. b.mu is held.
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
	copy(logits, lent) // onto themselves, if there was nobody to share with
	return err
}

// lend waits for the members and runs rows with theirs. Without members, the caller is
// none either, and the rows run alone.
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

// join adds a call to the coming pass, and starts that if nobody is missing. It returns
// nil if there is nobody to share with.
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

// giveBack keeps the memory of a call. b.mu is held.
func (l *Lane) giveBack(c *call) {
	*c = call{turn: c.turn}
	l.idle = append(l.idle, c)
}

// follow waits until a leader has run c, or leads. If ctx ends before that, c is taken
// out of the coming pass; one that has a leader is waited for, since it is running.
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

// withdraw takes c out of the coming pass. It reports false if that has begun.
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

// lead runs a pass for all calls and tells the others. Nil calls have been run.
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

// alone runs rows without those of others.
func (l *Lane) alone(ctx context.Context, rows []Row, own *[]float32) ([]float32, error) {
	l.b.cpu.beginPass()
	defer l.b.cpu.endPass()
	return l.d.lend(ctx, rows, own)
}

// run does one pass for all calls. If it fails, each is run alone: a pass that
// fails leaves the streams as they were, and one member's error is no business of the
// others. Nor is the end of its context, so the pass of several has none.
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

// room returns memory for the logits of rows, made of own.
func room(own *[]float32, rows []Row, vocab int) []float32 {
	n := loudOf(rows) * vocab
	if cap(*own) < n {
		*own = make([]float32, n)
	}
	return (*own)[:n]
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
