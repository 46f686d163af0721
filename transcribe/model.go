package transcribe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"verity/assistant"
	"verity/assistant/ctc"
	"verity/decoder"
	"verity/decoder/schedule"
	"verity/encoder"
	"verity/internal/layer"
	"verity/internal/option"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

// A Model is a loaded checkpoint, with its assistant if it has one. [Load] makes it. It is immutable and safe
// for concurrent use: clips that are transcribed at the same time share every pass over the weights.
type Model struct {
	Tokenizer  *tokenizer.Tokenizer
	Dims       model.Dims
	Generation model.Generation

	Encoder   *encoder.Encoder
	Decoder   *decoder.Decoder
	Pool      *parallel.Pool      // the threads that run the arithmetic
	Assistant assistant.Assistant // what drafts tokens: assistant.None for plain decoding
	Batch     *schedule.Batch     // of all windows that are decoded at the same time

	ownPool    bool
	closed     atomic.Bool
	draftModel *Model                  // transcribes each clip first, as a draft; nil without one
	draftPays  atomic.Bool             // it is expected to save more time than it takes, or was forced
	idle       sync.Once               // logs that the assistant is not worth its time
	mayIdle    bool                    // that is news: somebody chose the assistant
	policies   *sync.Pool              // draft policies with the measurements of past windows; nil without an assistant
	textPolicy *assistant.TextPolicy   // draft lengths for drafts from a text
	newPolicy  func() assistant.Policy // LoadOptions.Policy
	forceDraft func()                  // of the policies; nil without an assistant or with LoadOptions.Policy
	rejection  bool                    // LoadOptions.Rejection
	overlap    bool                    // LoadOptions.MeasureOverlap
}

// Assisted reports whether anything drafts tokens.
func (m *Model) Assisted() bool { return m.draftModel != nil || m.policies != nil }

// DraftModel returns the model that transcribes each clip first, as a draft; nil if there is none.
func (m *Model) DraftModel() *Model { return m.draftModel }

// ForceDraft makes the next rounds draft at any cost until something has been drafted, and a model that transcribes
// each clip first do so from now on. It is for comparisons, which need at least one draft.
func (m *Model) ForceDraft() {
	m.draftPays.Store(true)
	if m.forceDraft != nil {
		m.forceDraft()
	}
}

// ErrClosed is the error of work that begins after the model was closed.
var ErrClosed = errors.New("transcribe: the model is closed")

// Close ends the model's own threads. Transcribing afterwards fails with [ErrClosed]. A pool from
// LoadOptions stays open, and so does the checkpoint.
func (m *Model) Close() {
	m.closed.Store(true)
	if m.ownPool {
		m.Pool.Close()
	}
}

// LoadOptions configures Load. The zero value uses one thread for each fast core, keeps
// the weights as exact as the file has them, and decodes without an assistant.
type LoadOptions struct {
	// Threads is how many threads the model has. 0 means one for each fast core. The
	// text does not depend on it.
	Threads int

	// Pool runs the arithmetic in place of threads of the model's own. The caller closes it.
	Pool *parallel.Pool

	// Precision is the number format of the weights and of the arithmetic. The zero
	// value is as exact as the file.
	Precision precision.Precision

	// WindowsFirst encodes all waiting windows before anything is decoded. More sequences
	// then share a pass, but text arrives in bursts. Without it, decoding gets a sixteenth of
	// the time while windows are encoded, so that a server's clients do not wait long.
	WindowsFirst bool

	// SharedWith is a model of the same checkpoint, whose weights and pool the new model
	// uses. Threads, Pool and Precision are then ignored. It must stay open.
	SharedWith *Model

	// Assistant drafts tokens for the model to verify. The zero value means plain decoding.
	Assistant AssistantOptions

	// Policy makes a policy, which decides how long drafts are. Sequences that are decoded at the
	// same time have one each. Nil means the policies of an assistant.Auto.
	Policy func() assistant.Policy

	// Rejection verifies drafts at temperatures above 0 by classic speculative sampling
	// (assistant.RejectionVerifier): the text then has the distribution of plain decoding, but not its bits.
	Rejection bool

	// MeasureOverlap measures how far the distributions of model and assistant overlap
	// (assistant.OverlapMeter): at the temperature of the window, or at 1 if that is 0. It
	// takes a little time and does not change the output.
	MeasureOverlap bool

	// Log gets a warning for each contradiction between the files of the checkpoint. Nil discards them.
	Log *slog.Logger
}

// AssistantOptions describe what drafts tokens. The zero value drafts nothing.
type AssistantOptions struct {
	// Method is how drafts are made. With a Checkpoint it is empty or Encoder.
	Method Method

	// Checkpoint holds a distilled decoder or a smaller Whisper. If its vocabulary or windows
	// differ from the model's, it transcribes each clip first, and the model drafts from that
	// text. With the method Encoder, only its encoder is used. It must stay open while the model is used.
	Checkpoint *model.Checkpoint

	// Precision is the number format of the assistant's weights and arithmetic.
	// Automatic weights mean int8. Output does not depend on it.
	Precision precision.Precision

	// Found reports that nobody chose the assistant, so that no warning says that it does not pay.
	Found bool
}

// A Method is a way to draft tokens.
type Method string

// The methods.
const (
	None Method = "none" // plain decoding; the same as empty

	// Encoder drafts from the encoder's output (package ctc), that of the model or that of Checkpoint,
	// if there is a head for that encoder. Otherwise it is None.
	Encoder Method = "encoder"

	NGram  Method = "ngram"  // what followed an earlier occurrence of the last tokens
	Bigram Method = "bigram" // the token that followed the last one most often
	Self   Method = "self"   // the model itself, in the assistant's precision
)

// Load makes a Model of a checkpoint, which must stay open while the model is used.
func Load(ctx context.Context, c *model.Checkpoint, o LoadOptions) (*Model, error) {
	if o.Threads < 0 {
		return nil, option.New("Threads", o.Threads, "must not be negative")
	}
	c = c.WithContext(ctx)
	m, err := o.weights(c)
	if err != nil {
		return nil, err
	}
	a, err := o.Assistant.load(m, c)
	compares := o.Rejection || o.MeasureOverlap // a text has no probabilities to compare
	if errors.As(err, new(*assistant.MismatchError)) && !compares && o.Assistant.Checkpoint.Has("encoder.") {
		a = assistant.None{} // it cannot draft token by token, but it can transcribe first
		m.draftModel, err = Load(ctx, o.Assistant.Checkpoint,
			LoadOptions{Pool: m.Pool, Precision: AssistantPrecision(o.Assistant.Precision), Log: o.Log})
		if err == nil {
			m.draftPays.Store(m.draftModel.work() < mostDraftWork*m.work())
			m.mayIdle = !o.Assistant.Found
		}
	}
	if err := cmp.Or(err, ctx.Err()); err != nil {
		m.Close()
		return nil, err
	}
	m.setAssistant(a, o)
	return m, nil
}

// weights reads tokenizer and network, or shares those of SharedWith.
func (o LoadOptions) weights(c *model.Checkpoint) (*Model, error) {
	if s := o.SharedWith; s != nil {
		if s.closed.Load() {
			return nil, ErrClosed
		}
		return &Model{
			Tokenizer: s.Tokenizer, Dims: s.Dims, Generation: s.Generation,
			Pool: s.Pool, Encoder: s.Encoder, Decoder: s.Decoder,
		}, nil
	}
	m := &Model{Dims: c.Dims, Generation: c.Generation, Pool: o.Pool}
	var err error
	if m.Tokenizer, err = tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab); err != nil {
		return nil, err
	}
	warnings, err := contradictions(c.Name, m.Tokenizer, c.Generation, c.Dims.Vocab)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		if o.Log != nil {
			o.Log.Warn(w)
		}
	}
	if m.Pool == nil {
		m.Pool, m.ownPool = parallel.New(o.Threads), true
	}
	m.Encoder, m.Decoder, err = LoadNetwork(c, decoder.Options{Pool: m.Pool, Precision: o.Precision})
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// AssistantPrecision returns what p means for an assistant: automatic weights are int8.
func AssistantPrecision(p precision.Precision) precision.Precision {
	if p.Weights == precision.Auto {
		p.Weights = precision.Int8
	}
	return p
}

// load makes the assistant of m, whose checkpoint is c.
func (a AssistantOptions) load(m *Model, c *model.Checkpoint) (assistant.Assistant, error) {
	target := assistant.Target{Checkpoint: c, Tokenizer: m.Tokenizer, Decoder: m.Decoder}
	o := assistant.LoadOptions{Pool: m.Pool, Precision: AssistantPrecision(a.Precision)}
	if a.Method == Encoder {
		return a.fromEncoder(m, c, o)
	}
	if a.Checkpoint != nil {
		return assistant.Load(a.Checkpoint, target, o)
	}
	switch a.Method {
	case None, "":
		return assistant.None{}, nil
	case NGram:
		return &assistant.NGram{EOT: m.Tokenizer.EOT}, nil
	case Bigram:
		return &assistant.Bigram{EOT: m.Tokenizer.EOT}, nil
	case Self:
		return assistant.Self(target, o)
	}
	return nil, fmt.Errorf("transcribe: assistant: got method %q, want %s, %s, %s, %s or %s",
		a.Method, None, Encoder, NGram, Bigram, Self)
}

// fromEncoder makes the assistant of m that reads the encoder's output: that of m, or of a.Checkpoint.
func (a AssistantOptions) fromEncoder(
	m *Model, c *model.Checkpoint, o assistant.LoadOptions,
) (assistant.Assistant, error) {
	source := cmp.Or(a.Checkpoint, c)
	reads, err := ctc.For(source, m.Pool, m.Tokenizer)
	switch {
	case err != nil:
		return nil, err
	case reads == nil:
		return assistant.None{}, nil
	case source == c:
		return reads, nil
	case source.Dims.MelBins > c.Dims.MelBins || source.Dims.AudioPositions != c.Dims.AudioPositions:
		return nil, fmt.Errorf("transcribe: assistant: %s takes %d mel bins and %d positions, want at most %d and exactly %d of %s",
			source.Name, source.Dims.MelBins, source.Dims.AudioPositions, c.Dims.MelBins, c.Dims.AudioPositions, c.Name)
	}
	e, err := encoder.New(source.WithContext(c.Context()), o)
	if err != nil {
		return nil, err
	}
	return reads.WithEncoder(e, source.Dims.MelBins), nil
}

// setAssistant sets the assistant, the draft policies and the batch.
func (m *Model) setAssistant(a assistant.Assistant, o LoadOptions) {
	m.Assistant, m.rejection, m.overlap = a, o.Rejection, o.MeasureOverlap
	m.Batch = schedule.New(m.Decoder)
	m.Batch.WindowsFirst = o.WindowsFirst
	m.textPolicy, m.newPolicy = &assistant.TextPolicy{Streams: m.Batch.Members}, o.Policy
	if _, none := a.(assistant.None); none {
		return
	}
	policy := o.Policy
	if _, ok := a.(*ctc.Assistant); ok && policy == nil {
		p := &assistant.CalibratedPolicy{Streams: m.Batch.Members}
		policy, m.forceDraft = p.Policy, p.ForceDraft
	}
	if policy == nil {
		p := assistant.NewAuto(m.Decoder, a, m.Batch.Members)
		policy, m.forceDraft, m.mayIdle = p.Policy, p.ForceDraft, !o.Assistant.Found
	}
	m.policies = &sync.Pool{New: func() any { return policy() }}
}

// LoadNetwork reads the encoder and the decoder of c at the same time, in the same precision: the
// disk reads one while the processor packs the other.
func LoadNetwork(c *model.Checkpoint, o decoder.Options) (e *encoder.Encoder, d *decoder.Decoder, err error) {
	if o.Precision, err = layer.Resolve(c, o.Precision, o.Pool); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	c = c.WithContext(ctx)
	var both sync.WaitGroup
	both.Go(func() {
		var err error
		if e, err = encoder.New(c, o); err != nil {
			cancel(err)
		}
	})
	both.Go(func() {
		var err error
		if d, err = decoder.New(c, o); err != nil {
			cancel(err)
		}
	})
	both.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return e, d, nil
}

// contradictions compares what the files of a checkpoint say about the same tokens. A wrong start
// or end token makes the text nonsense, so it is an error. Other differences are warnings.
func contradictions(
	name string, tok *tokenizer.Tokenizer, g model.Generation, vocab int,
) (warnings []string, err error) {
	for _, m := range decoder.TokenMismatches(tok, g) {
		text := fmt.Sprintf("%s: %s is %d, but the tokenizer has that token at %d: are the files of one model?",
			name, m.Field, m.Stated, m.Token)
		if strings.HasPrefix(m.Field, "eos") || strings.HasPrefix(m.Field, "decoder_start") {
			return nil, fmt.Errorf("%s Take the configuration and the tokenizer from the same place", text)
		}
		warnings = append(warnings, text+" The tokenizer's is used")
	}
	switch {
	case g.Multilingual && vocab == tokenizer.VocabEnglish:
		warnings = append(warnings, fmt.Sprintf(
			"%s: is_multilingual is true, but %d tokens are those of an English-only model", name, vocab))
	case !g.Multilingual && (vocab == tokenizer.VocabMultilingual || vocab == tokenizer.VocabLargeV3):
		warnings = append(warnings, fmt.Sprintf("%s: is_multilingual is false, "+
			"but %d tokens are those of a multilingual model: no language is detected", name, vocab))
	}
	return warnings, nil
}
