package selftest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"verity/assistant"
	"verity/decoder"
	"verity/encoder"
	"verity/model"
	"verity/parallel"
	"verity/tokenizer"
)

// ErrDiffers is the cause if a check found different bits.
var ErrDiffers = errors.New("bits differ")

// A Subject is the model under test.
type Subject struct {
	Checkpoint *model.Checkpoint
	Tokenizer  *tokenizer.Tokenizer
	Encoder    *encoder.Encoder
	Decoder    *decoder.Decoder
	Pool       *parallel.Pool      // runs the arithmetic
	Assistant  assistant.Assistant // a further one for the check of drafts; may be nil
}

// A Check is the result of testing one guarantee.
type Check struct {
	Name    string  `json:"name"`               // of the guarantee
	What    string  `json:"compared,omitempty"` // what was compared with what
	Values  int64   `json:"values"`             // numbers that were compared
	Seconds float64 `json:"seconds"`            // wall time
	Error   string  `json:"error,omitempty"`    // what went wrong
	Err     error   `json:"-"`                  // ErrDiffers, or why the check could not be made
}

// A trial is a subject with what all checks need: a window, and a text in it.
type trial struct {
	Subject
	positions int // tokens that the checks run over
	features  *encoder.Features
	window    assistant.Window
	cross     *decoder.Cross
	tokens    []tokenizer.Token // prompt, then greedy choices
	alone     [][]float32       // logits after each of tokens, each run by itself
}

// Run makes all checks that one process can make, in order, and passes each to done. It returns
// the digest of [Full], or an error if the checks cannot be made at all.
func Run(ctx context.Context, s Subject, done func(Check)) (Digest, error) {
	t, err := prepare(ctx, s, unlimited)
	if err != nil {
		return Digest{}, err
	}
	defer t.cross.Close()
	for _, c := range []struct {
		name string
		run  func(context.Context, *trial) (string, int64, error)
	}{
		{"rows", checkRows},
		{"threads", checkThreads},
		{"batches", checkBatches},
		{"drafts", checkDrafts},
	} {
		begin := time.Now()
		what, values, err := c.run(ctx, t)
		done(Check{Name: c.name, What: what, Values: values, Seconds: time.Since(begin).Seconds(), Err: err})
	}
	return t.digest(), ctx.Err()
}

// prepare encodes a window and decodes it plainly, one row at a time: the result that all
// checks compare with.
func prepare(ctx context.Context, s Subject, x extent) (*trial, error) {
	t, d := &trial{Subject: s, positions: 24}, s.Checkpoint.Dims
	if s.Checkpoint.Params() > shortFrom {
		t.positions = 12
	}
	mel := signal(d.MelBins, 2*min(x.positions, d.AudioPositions))
	var err error
	if t.features, err = s.Encoder.Encode(ctx, mel); err != nil {
		return nil, err
	}
	t.window = assistant.Window{Features: t.features, Mel: mel}
	if t.cross, err = s.Decoder.Cross(ctx, t.features); err != nil {
		return nil, err
	}
	t.tokens = append(t.tokens, t.prompt()...)
	stream := s.Decoder.NewStream(t.cross)
	defer stream.Close()
	most := min(max(mostRows, len(t.tokens)+t.positions), d.TextPositions, x.tokens)
	for p := 0; p < most; p++ {
		logits := make([]float32, d.Vocab)
		if err := s.Decoder.Step(ctx, []decoder.Row{{Stream: stream, Position: p, Token: t.tokens[p]}},
			logits); err != nil {
			return nil, err
		}
		t.alone = append(t.alone, logits)
		if p == len(t.tokens)-1 && p < most-1 {
			t.tokens = append(t.tokens, next(logits, s.Tokenizer.EOT))
		}
	}
	return t, nil
}

// prompt starts a transcript in the model's first language.
func (t *trial) prompt() []tokenizer.Token {
	p := []tokenizer.Token{t.Tokenizer.SOT}
	if langs := t.Tokenizer.Languages(); t.Checkpoint.Generation.Multilingual && len(langs) > 0 {
		p = append(p, langs[0].Token, t.Tokenizer.Transcribe)
	}
	return p
}

// next returns the likeliest text token: any sequence will do that does not end.
func next(logits []float32, eot tokenizer.Token) tokenizer.Token {
	best := tokenizer.Token(0)
	for i, l := range logits[:eot] {
		if l > logits[best] {
			best = tokenizer.Token(i)
		}
	}
	return best
}

// same compares the bits of two rows of logits.
func same(got, want []float32) bool {
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return false
		}
	}
	return true
}

func differs(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDiffers, fmt.Sprintf(format, args...))
}

// pools returns the thread counts to compare with the subject's: one, and one more than
// it has, so that work is split differently.
func (t *trial) pools() []int {
	if t.Pool.Threads() == 1 {
		return []int{2, 3}
	}
	return []int{1, t.Pool.Threads() + 1}
}
