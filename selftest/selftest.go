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
	Assistant  assistant.Assistant // drafts in the check of drafts, besides ones that draft nonsense; may be nil
}

// A Check is the result of testing one guarantee.
type Check struct {
	Name    string  `json:"name"`
	What    string  `json:"compared,omitempty"` // with what
	Values  int64   `json:"values"`             // float32 compared
	Seconds float64 `json:"seconds"`            // wall time
	Error   string  `json:"error,omitempty"`    // what Err says, set by whoever writes it
	Err     error   `json:"-"`                  // ErrDiffers, or why the check could not be made
}

// bench is a subject with what all checks need: a window, and a text in it.
type bench struct {
	Subject
	positions int // tokens that the checks run over
	features  *encoder.Features
	window    assistant.Window
	cross     *decoder.Cross
	tokens    []tokenizer.Token // prompt, then greedy choices
	alone     [][]float32       // logits after each of tokens, each run by itself
}

// Run makes all checks that one process can make, in order, and passes each to done. It
// returns the digest that Full computes elsewhere, or an error if the checks cannot be
// made at all.
func Run(ctx context.Context, s Subject, done func(Check)) (Digest, error) {
	b, err := prepare(ctx, s)
	if err != nil {
		return Digest{}, err
	}
	defer b.cross.Close()
	for _, c := range []struct {
		name string
		run  func(context.Context, *bench) (string, int64, error)
	}{
		{"rows", checkRows},
		{"threads", checkThreads},
		{"batches", checkBatches},
		{"drafts", checkDrafts},
	} {
		begin := time.Now()
		what, values, err := c.run(ctx, b)
		done(Check{Name: c.name, What: what, Values: values, Seconds: time.Since(begin).Seconds(), Err: err})
	}
	return b.digest(), ctx.Err()
}

// prepare encodes a window and decodes it plainly, one row at a time: the result that all
// checks compare with.
func prepare(ctx context.Context, s Subject) (*bench, error) {
	b, d := &bench{Subject: s, positions: 24}, s.Checkpoint.Dims
	if s.Checkpoint.Params() > shortFrom {
		b.positions = 12
	}
	mel := signal(d)
	var err error
	if b.features, err = s.Encoder.Encode(ctx, mel); err != nil {
		return nil, err
	}
	b.window = assistant.Window{Features: b.features, Mel: mel}
	if b.cross, err = s.Decoder.Cross(ctx, b.features); err != nil {
		return nil, err
	}
	b.tokens = append(b.tokens, b.prompt()...)
	stream := s.Decoder.NewStream(b.cross)
	defer stream.Close()
	most := min(max(mostRows, len(b.tokens)+b.positions), d.TextPositions)
	for p := 0; p < most; p++ {
		logits := make([]float32, d.Vocab)
		if err := s.Decoder.Step(ctx, []decoder.Row{{Stream: stream, Position: p, Token: b.tokens[p]}},
			logits); err != nil {
			return nil, err
		}
		b.alone = append(b.alone, logits)
		if p == len(b.tokens)-1 && p < most-1 {
			b.tokens = append(b.tokens, next(logits, s.Tokenizer.EOT))
		}
	}
	return b, nil
}

// prompt starts a transcript in the model's first language.
func (b *bench) prompt() []tokenizer.Token {
	p := []tokenizer.Token{b.Tokenizer.SOT}
	if langs := b.Tokenizer.Languages(); b.Checkpoint.Generation.Multilingual && len(langs) > 0 {
		p = append(p, langs[0].Token, b.Tokenizer.Transcribe)
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
func (b *bench) pools() []int {
	if b.Pool.Threads() == 1 {
		return []int{2, 3}
	}
	return []int{1, b.Pool.Threads() + 1}
}
