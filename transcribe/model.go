package transcribe

import (
	"context"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/model"
	"verity/tokenizer"
	"verity/transcript"
)

// A Model is what a Transcriber works with. [Load] makes the real one.
type Model struct {
	Listener   Listener
	Tokenizer  *tokenizer.Tokenizer
	Dims       model.Dims
	Generation model.Generation
}

// A Listener hears windows of log-mel. It must be safe for concurrent use.
type Listener interface {
	// Listen prepares a window for decoding. mel has as many bins and frames as
	// the checkpoint wants, and is the listener's to keep.
	Listen(ctx context.Context, mel *audio.Mel) (Window, error)
}

// A Window is a stretch of audio as a model heard it.
type Window interface {
	// Languages returns the probability of each language, in the order of
	// Tokenizer.Languages.
	Languages(ctx context.Context) ([]float32, error)

	// Decode writes the window down once.
	Decode(ctx context.Context, o decoder.SessionOptions) (Decoding, error)

	// Took returns how long Listen took to encode the audio and to make the
	// keys and values that decoding attends to.
	Took() (encode, crossKV time.Duration)

	// Close gives the window's memory back.
	Close()
}

// A Decoding is what came of decoding a window once.
type Decoding struct {
	// Choices are the decoder's. The last one is end-of-text if the sequence
	// ended by itself.
	Choices []decoder.Choice

	// Accepted says for each choice whether it is an accepted draft.
	Accepted []bool

	// NoSpeechProb is the probability that the window holds no speech, 0 if the
	// vocabulary has no token for it.
	NoSpeechProb float32

	// Stats counts the rounds of this attempt and their time.
	Stats transcript.Stats

	// Broken says why the assistant did not draft, or not to the end; nil if it was
	// able to.
	Broken *assistant.BrokenError

	// Warn says that Broken is news: no decoding of this model has told it.
	Warn bool
}
