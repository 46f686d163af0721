package transcribe

import (
	"cmp"
	"context"
	"sync"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/tensor"
	"verity/model"
	"verity/parallel"
	"verity/tokenizer"
	"verity/transcript"
)

// LoadOptions configures Load. The zero value runs on one thread, without an
// assistant, and keeps the weights as exact as the file has them.
type LoadOptions struct {
	// Pool runs the arithmetic. Nil means the caller's goroutine alone.
	Pool *parallel.Pool

	// Precision is the type weights are stored in. Zero means f16 if every
	// weight survives that exactly, else the type of the file.
	Precision tensor.DType
}

// Load makes a Model of a checkpoint, which must stay open while it is used.
func Load(c *model.Checkpoint, o LoadOptions) (*Model, error) {
	tok, err := tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab)
	if err != nil {
		return nil, err
	}
	e := &engine{tok: tok, assistant: assistant.Off{}, idle: new(idle), trust: new(trust), clock: new(clock)}
	if e.encoder, err = encoder.New(c, encoder.Options{Pool: o.Pool, Precision: o.Precision}); err != nil {
		return nil, err
	}
	if e.decoder, err = decoder.New(c, decoder.Options{Pool: o.Pool, Precision: e.encoder.Storage()}); err != nil {
		return nil, err
	}
	e.batch = decoder.NewBatch(e.decoder)
	return &Model{Listener: e, Tokenizer: tok, Dims: c.Dims, Generation: c.Generation}, nil
}

// With returns the same model with an assistant: it shares all weights with m
// and writes the same text. policy makes what decides on draft lengths, one for
// each goroutine that decodes; nil means those of an assistant.Auto. It panics if m
// was not made by Load.
func (m *Model) With(a assistant.Assistant, policy func() assistant.Policy) *Model {
	plain := m.engine("With")
	if policy == nil {
		policy = new(assistant.Auto).Policy
	}
	e := *plain
	// A batch of its own, since a policy may learn from the passes.
	e.assistant, e.idle, e.trust = a, &idle{make: policy}, new(trust)
	e.batch, e.clock = decoder.NewBatch(e.decoder), new(clock)
	first := policy()
	if p, ok := first.(interface{ Observer() decoder.Observer }); ok {
		e.batch.Watch(p.Observer())
	}
	if p, ok := first.(interface{ Assume(_, _ *decoder.Decoder) }); ok {
		var drafts *decoder.Decoder
		if model, ok := a.(*assistant.Model); ok {
			drafts = model.Decoder
		}
		p.Assume(e.decoder, drafts)
	}
	e.idle.giveBack(first)
	assisted := *m
	assisted.Listener = &e
	return &assisted
}

// Rejecting returns the same model with classic speculative sampling at
// temperatures above 0, see assistant.Rejection: its text has the distribution of
// m's, but not its bits. It panics if m was not made by Load.
func (m *Model) Rejecting() *Model {
	return m.with("Rejecting", func(e *engine) { e.rejecting = true })
}

// Weighing returns the same model, which also sums up how far the odds of its
// assistant overlap with its own, assistant.Overlap: at the temperature that a
// window is decoded at, at 1 where that is 0. That takes time, and changes nothing
// else. It panics if m was not made by Load.
func (m *Model) Weighing() *Model {
	return m.with("Weighing", func(e *engine) { e.weighing = true })
}

// with returns m on a changed copy of its engine, for the method of that name.
func (m *Model) with(name string, change func(*engine)) *Model {
	e := *m.engine(name)
	change(&e)
	other := *m
	other.Listener = &e
	return &other
}

// engine returns what Load made, for the method of that name.
func (m *Model) engine(name string) *engine {
	e, ok := m.Listener.(*engine)
	if !ok {
		panic("transcribe: " + name + " of a model that Load did not make")
	}
	return e
}

// Network returns what is behind a model that Load made: both halves of the
// network, and the assistant, which is assistant.Off without one. It panics if
// Load did not make m.
func (m *Model) Network() (*encoder.Encoder, *decoder.Decoder, assistant.Assistant) {
	e := m.engine("Network")
	return e.encoder, e.decoder, e.assistant
}

// An engine is the Listener of a checkpoint.
type engine struct {
	tok       *tokenizer.Tokenizer
	encoder   *encoder.Encoder
	decoder   *decoder.Decoder
	batch     *decoder.Batch // of all windows that are decoded at the same time
	assistant assistant.Assistant
	rejecting bool
	weighing  bool
	idle      *idle
	trust     *trust
	clock     *clock
}

// A trust is what is left of it after an assistant could not draft: the window in
// which it could not goes on without it, and after so many windows all others do.
type trust struct {
	mu     sync.Mutex
	broken *assistant.BrokenError // the first
	times  int
}

const mostBroken = 3

// lost returns why the assistant is no longer asked; nil if it is.
func (t *trust) lost() *assistant.BrokenError {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.times < mostBroken {
		return nil
	}
	return t.broken
}

// loses notes that the assistant could not draft in a window, and reports whether that
// is news.
func (t *trust) loses(err *assistant.BrokenError) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.times++; t.times == 1 {
		t.broken = err
	}
	return t.times == 1
}

// Broken returns why the assistant of m could not draft; nil if it always could. It
// panics if Load did not make m.
func (m *Model) Broken() *assistant.BrokenError {
	t := m.engine("Broken").trust
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

// idle are the policies no window uses. What they learnt is good for the next.
type idle struct {
	make func() assistant.Policy // nil without an assistant
	mu   sync.Mutex
	list []assistant.Policy
}

func (i *idle) borrow() assistant.Policy {
	if i.make == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.list); n > 0 {
		p := i.list[n-1]
		i.list = i.list[:n-1]
		return p
	}
	return i.make()
}

func (i *idle) giveBack(p assistant.Policy) {
	i.mu.Lock()
	i.list = append(i.list, p)
	i.mu.Unlock()
}

// Listen encodes mel and makes the keys and values of every decoder layer. Those
// who decode meanwhile wait, for the encoder uses every thread, and then share
// their passes with this window too.
func (e *engine) Listen(ctx context.Context, mel *audio.Mel) (Window, error) {
	e.batch.Join()
	defer e.batch.Leave()
	e.clock.hear(1)
	defer e.clock.hear(-1)
	began := time.Now()
	f, err := e.encoder.Encode(ctx, mel)
	if err != nil {
		return nil, err
	}
	encoded := time.Now()
	cross, err := e.decoder.Cross(ctx, f)
	if err != nil {
		return nil, err
	}
	return &window{
		engine: e, cross: cross, listener: e.assistant.Listen(assistant.Window{Features: f, Mel: mel}),
		encode: encoded.Sub(began), crossKV: time.Since(encoded),
	}, nil
}

// A window is the Window of an engine.
type window struct {
	*engine
	cross           *decoder.Cross
	listener        assistant.Listener
	encode, crossKV time.Duration
	broken          *assistant.BrokenError // the assistant in this window
}

func (w *window) Took() (encode, crossKV time.Duration) { return w.encode, w.crossKV }

func (w *window) Close() {
	w.listener.Close()
	w.cross.Close()
}

func (w *window) Languages(ctx context.Context) ([]float32, error) {
	return w.decoder.DetectLanguage(ctx, w.cross, w.tok.SOT, w.tok.Languages())
}

// Decode shares its steps with the windows that others decode meanwhile.
func (w *window) Decode(ctx context.Context, o decoder.SessionOptions) (Decoding, error) {
	w.clock.decode(1)
	defer w.clock.decode(-1)
	w.batch.Join()
	defer w.batch.Leave()
	o.Stepper = w.batch
	s, err := w.decoder.NewSession(w.cross, o)
	if err != nil {
		return Decoding{}, err
	}
	defer s.Close()
	var p assistant.Policy
	var proposer assistant.Proposer = assistant.None{}
	if w.broken == nil {
		w.broken = w.trust.lost()
	}
	if w.broken == nil {
		if p = w.idle.borrow(); p != nil {
			defer w.idle.giveBack(p)
		}
		proposer = w.listener.Begin(o, p)
	}
	verifier, overlap := w.verifier(s, proposer, o.Sampling)
	g := assistant.Begin(verifier, proposer, w.tok.EOT, s.Limit(0))
	g.Pace(p)
	for !g.Done() {
		if err := g.Round(ctx); err != nil {
			return Decoding{}, err
		}
	}
	stats := g.Stats()
	stats.Seconds.Rules, stats.Passes = s.Judging().Seconds(), traffic(s.Traffic())
	weighed := overlap()
	stats.Drafts.Weighed, stats.Drafts.Overlap = weighed.Places, weighed.Sum
	if p, ok := proposer.(interface{ Traffic() decoder.Traffic }); ok {
		stats.DraftPasses = traffic(p.Traffic())
	}
	d := Decoding{Choices: g.Choices(), Accepted: g.Accepted(), NoSpeechProb: s.NoSpeechProb(), Stats: stats}
	if err := g.Broken(); err != nil {
		w.broken, d.Warn = err, w.trust.loses(err)
	}
	d.Broken = w.broken
	return d, nil
}

func traffic(t decoder.Traffic) transcript.Traffic {
	return transcript.Traffic{Bytes: t.Bytes, Seconds: t.Busy.Seconds()}
}

// verifier returns what chooses, and what tells how far both sides' odds agreed.
func (w *window) verifier(s *decoder.Session, p assistant.Proposer, sampling decoder.Sampling) (assistant.Verifier, func() assistant.Overlap) {
	switch {
	case w.rejecting && sampling.Temperature > 0:
		r := assistant.Reject(s, p, sampling)
		return r, r.Overlap
	case w.weighing:
		x := assistant.Weigh(s, p, cmp.Or(sampling.Temperature, 1))
		return x, x.Overlap
	}
	return s, func() assistant.Overlap { return assistant.Overlap{} }
}
