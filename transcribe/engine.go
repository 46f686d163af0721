package transcribe

import (
	"context"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/parallel"
	"verity/internal/tensor"
	"verity/model"
	"verity/tokenizer"
)

// LoadOptions configures Load. The zero value runs on one thread and keeps the
// weights as exact as the file has them.
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
	e := &engine{tok: tok}
	if e.encoder, err = encoder.New(c, encoder.Options{Pool: o.Pool, Precision: o.Precision}); err != nil {
		return nil, err
	}
	if e.decoder, err = decoder.New(c, decoder.Options{Pool: o.Pool, Precision: o.Precision}); err != nil {
		return nil, err
	}
	return &Model{Listener: e, Tokenizer: tok, Dims: c.Dims, Generation: c.Generation}, nil
}

// An engine is the Listener of a checkpoint.
type engine struct {
	tok     *tokenizer.Tokenizer
	encoder *encoder.Encoder
	decoder *decoder.Decoder
}

// Listen encodes mel and makes the keys and values of every decoder layer.
func (e *engine) Listen(ctx context.Context, mel *audio.Mel) (Window, error) {
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
	return &window{e, cross, encoded.Sub(began), time.Since(encoded)}, nil
}

// A window is the Window of an engine.
type window struct {
	*engine
	cross           *decoder.Cross
	encode, crossKV time.Duration
}

func (w *window) Took() (encode, crossKV time.Duration) { return w.encode, w.crossKV }

func (w *window) Close() { w.cross.Close() }

func (w *window) Languages(ctx context.Context) ([]float32, error) {
	return w.decoder.DetectLanguage(ctx, w.cross, w.tok.SOT, w.tok.Languages())
}

func (w *window) Decode(ctx context.Context, o decoder.SessionOptions) (Decoding, error) {
	s, err := w.decoder.NewSession(w.cross, o)
	if err != nil {
		return Decoding{}, err
	}
	defer s.Close()
	choices, err := assistant.Generate(ctx, s, assistant.None{}, w.tok.EOT, s.Limit(0))
	if err != nil {
		return Decoding{}, err
	}
	return Decoding{Choices: choices, NoSpeechProb: s.NoSpeechProb()}, nil
}
