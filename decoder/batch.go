package decoder

import (
	"context"
	"sync"
)

// A Stepper runs rows through the network. *Decoder does it at once, *Batch
// together with the rows of others.
type Stepper interface {
	Step(ctx context.Context, rows []Row, logits []float32) error
}

// A Batch lets goroutines that each decode a stream share steps, so that the
// weights are read once for all of them. A member's logits have the same bits as
// if it were alone, so members may come, go, and bring any number of rows.
//
// A step begins when every member has called Step. A goroutine must be a member
// only while it decodes: the others wait for it.
type Batch struct {
	d       *Decoder
	mu      sync.Mutex
	members int
	waiting []*call
}

// A call is one member's part of a step.
type call struct {
	ctx    context.Context
	rows   []Row
	logits []float32
	err    error
	turn   chan []*call // gets the calls of a step, to run them; closed once they are done by another
}

// NewBatch returns a batch over d without members.
func NewBatch(d *Decoder) *Batch { return &Batch{d: d} }

// Join makes the calling goroutine a member.
func (b *Batch) Join() {
	b.mu.Lock()
	b.members++
	b.mu.Unlock()
}

// Leave ends a membership. Those who wait for the leaver wait no more.
func (b *Batch) Leave() {
	b.mu.Lock()
	b.members--
	b.start()
	b.mu.Unlock()
}

// start hands the waiting calls to the first of them, if nobody is missing.
// b.mu is held.
func (b *Batch) start() {
	if n := len(b.waiting); n > 0 && n >= b.members {
		b.waiting[0].turn <- b.waiting
		b.waiting = nil
	}
}

// Step runs rows, together with those of the other members.
func (b *Batch) Step(ctx context.Context, rows []Row, logits []float32) error {
	b.mu.Lock()
	if b.members <= 1 && len(b.waiting) == 0 { // nobody to wait for
		b.mu.Unlock()
		return b.d.Step(ctx, rows, logits)
	}
	c := &call{ctx: ctx, rows: rows, logits: logits, turn: make(chan []*call, 1)}
	b.waiting = append(b.waiting, c)
	b.start()
	b.mu.Unlock()
	calls, mine := <-c.turn
	if !mine {
		return c.err
	}
	b.run(calls)
	for _, other := range calls[1:] {
		close(other.turn)
	}
	return c.err
}

// run does one step for all calls. If it fails, each is run alone: a step that
// fails leaves the streams as they were, and one member's error, or the end of
// its context, is no business of the others.
func (b *Batch) run(calls []*call) {
	if len(calls) == 1 {
		c := calls[0]
		c.err = b.d.Step(c.ctx, c.rows, c.logits)
		return
	}
	var rows []Row
	loud := 0
	for _, c := range calls {
		rows = append(rows, c.rows...)
		loud += len(c.logits) / b.d.dims.Vocab
	}
	logits := make([]float32, loud*b.d.dims.Vocab)
	if err := b.d.Step(calls[0].ctx, rows, logits); err != nil {
		for _, c := range calls {
			c.err = b.d.Step(c.ctx, c.rows, c.logits)
		}
		return
	}
	for _, c := range calls {
		logits = logits[copy(c.logits, logits):]
	}
}
