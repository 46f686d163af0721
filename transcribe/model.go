package transcribe

import (
	"context"
	"sync"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/model"
	"verity/parallel"
	"verity/schedule"
	"verity/tokenizer"
)

// A Model is a loaded checkpoint, with its assistant if it has one. [Load] makes
// it. It is immutable and safe for concurrent use: clips that are transcribed at the
// same time share every pass over the weights.
type Model struct {
	Tokenizer  *tokenizer.Tokenizer
	Dims       model.Dims
	Generation model.Generation

	pool      *parallel.Pool
	ownPool   bool
	encoder   *encoder.Encoder
	decoder   *decoder.Decoder
	batch     *schedule.Batch // of all windows that are decoded at the same time
	assistant assistant.Assistant
	writer    *Model     // transcribes first; nil without
	policies  *sync.Pool // of windows that are over, with their measurements; nil without an assistant
	auto      *assistant.Auto
	pace      *assistant.Pace         // of drafts from texts
	newPolicy func() assistant.Policy // asked for; nil for auto
	sampler   Sampler
	overlap   bool // measure it
}

// Encoder returns the audio half of the network.
func (m *Model) Encoder() *encoder.Encoder { return m.encoder }

// Decoder returns the text half of the network.
func (m *Model) Decoder() *decoder.Decoder { return m.decoder }

// Assistant returns what drafts tokens: assistant.Off for plain decoding.
func (m *Model) Assistant() assistant.Assistant { return m.assistant }

// Assisted reports whether anything drafts tokens.
func (m *Model) Assisted() bool {
	return m.writer != nil || m.policies != nil
}

// Auto returns what decides on draft lengths; nil without an assistant or if LoadOptions
// named a policy.
func (m *Model) Auto() *assistant.Auto { return m.auto }

// Pool returns the threads that run the arithmetic.
func (m *Model) Pool() *parallel.Pool { return m.pool }

// DecodeTime returns the wall time since Load in which some window was being decoded
// and none was being encoded.
func (m *Model) DecodeTime() time.Duration { return m.batch.Busy() }

// OnPass has f called after every pass of the decoder, with how many sequences shared it
// and how many rows they had. Only the last f is called.
func (m *Model) OnPass(f func(sequences, rows int)) { m.batch.OnPass(f) }

// Close ends the model's own threads. The model must not be used afterwards. A pool
// from LoadOptions stays open, and so does the checkpoint.
func (m *Model) Close() {
	if m.ownPool {
		m.pool.Close()
	}
}

// A network is the part of a Model that a Transcriber uses. Tests replace it.
type network interface {
	// encode prepares a window for decoding. mel has as many bins and frames as the
	// checkpoint wants, and the network may keep it. step gets the share of the work
	// that is done, from 0 to 1.
	encode(ctx context.Context, mel *audio.Mel, step func(share float64)) (window, error)
}

// A window is a stretch of audio that has been encoded.
type window interface {
	// languages returns the probability of each language, in the order of
	// Tokenizer.Languages.
	languages(ctx context.Context) ([]float32, error)

	// decode decodes the window once. step gets the number of tokens so far, now and then.
	decode(ctx context.Context, o decoder.SessionOptions, h help, step func(tokens int)) (decoding, error)

	// words returns the times of the words of a text. They depend on the window and the
	// text alone, not on how the text was decoded.
	words(ctx context.Context, q wordQuery) ([]wordTime, error)

	// timing returns how long encode took for the audio features and for the keys and
	// values that decoding attends to.
	timing() (encode, crossKV time.Duration)

	// close gives the window's memory back.
	close()
}

// A help says what may draft in a decoding: the assistant, unless plain, and a text, unless
// nil.
type help struct {
	plain  bool
	text   *assistant.Follower
	window assistant.TextWindow
}

// A decoding is the result of decoding a window once. It has no marks where none are known.
type decoding struct {
	assistant.Result
	noSpeechProb float32 // that the window holds no speech; 0 if the vocabulary has no token for it
}
