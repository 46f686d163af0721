// Package verity transcribes speech with Whisper models, on CPUs, in pure Go.
//
//	m, err := verity.Open(ctx, "small", verity.Options{})
//	…
//	defer m.Close()
//	t, err := m.Transcribe(ctx, "talk.wav")
//	…
//	fmt.Println(t.Text)
//
// A [Model] is safe for concurrent use: files that are transcribed at the same time
// share every pass over the weights. With an assistant (speculative decoding) a cheap
// model drafts tokens and the model verifies them; the text is that of plain decoding,
// bit for bit.
//
// This package puts the others together and hides none of them. Package transcribe has
// the model with every option, package audio reads sound, package transcript writes
// what came out, and package precision names number formats.
package verity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"verity/audio"
	"verity/model"
	"verity/model/hub"
	"verity/precision"
	"verity/transcribe"
	"verity/transcript"
)

// Options configures Open. The zero value uses every core, keeps the weights as exact
// as the files have them, decodes without an assistant and detects the language.
type Options struct {
	// Threads is how many threads the model has. 0 means one for each fast core. The
	// text does not depend on it.
	Threads int

	// Precision is what weights, activations and caches are held in. Zero means f16 if
	// no weight changes by it, else f32; few bits stay as in the file.
	// precision.Of(precision.Int8) is the fastest.
	Precision precision.Precision

	// Assistant drafts tokens: none, ngram, bigram, self, or the name or path of a
	// distilled decoder or of a smaller model of the same family; auto is the published
	// partner of a published model, if that is in the cache, else none. Empty means none.
	// The text does not depend on it.
	Assistant string

	// AssistantPrecision is what the assistant's weights are held in. Zero means int8.
	AssistantPrecision precision.Precision

	// Offline forbids the network: a published model must be in the cache already.
	// HF_HUB_OFFLINE=1 does so too.
	Offline bool

	// Decoding says what to write and how: language, task, thresholds, prompt. The zero
	// value is that of openai/whisper.
	Decoding transcribe.Options
}

// A Model transcribes sound. It is safe for concurrent use.
type Model struct {
	*transcribe.Model
	transcriber *transcribe.Transcriber
	files       []io.Closer
}

// Open loads a model: a path that model.Open takes, the name of a model inside the program
// (base, with import _ "verity/model/base"), or the name of a published one, such as
// small or openai/whisper-small. What is there under a path is never looked for elsewhere. A
// published model comes from the cache that all programs of Hugging Face
// share; if it is not there it is downloaded, unless Options.Offline. Package model/hub
// says which environment variables name cache, hub and token. Close ends the model.
func Open(ctx context.Context, name string, o Options) (*Model, error) {
	c, err := openCheckpoint(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return open(ctx, c, name, o)
}

// openCheckpoint opens the checkpoint of a path or a name.
func openCheckpoint(ctx context.Context, name string, o Options) (*model.Checkpoint, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if files := model.Inside(name); files != nil {
			return model.OpenFS(files, name)
		}
		if _, ok := hub.Repo(name); ok {
			h := hub.FromEnv()
			h.Offline = h.Offline || o.Offline
			if name, err = h.Resolve(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	return model.Open(ctx, name)
}

// OpenFS loads the model whose files are at the root of fsys. Errors have its name, by which
// Assistant "auto" also finds its partner.
func OpenFS(ctx context.Context, fsys fs.FS, name string, o Options) (*Model, error) {
	c, err := model.OpenFS(fsys, name)
	if err != nil {
		return nil, err
	}
	return open(ctx, c, name, o)
}

// open loads c, and closes it if that fails.
func open(ctx context.Context, c *model.Checkpoint, name string, o Options) (*Model, error) {
	if o.Assistant == "auto" {
		o.Assistant = hub.FromEnv().Partner(name)
	}
	m := &Model{files: []io.Closer{c}}
	if err := m.load(ctx, c, o); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Model) load(ctx context.Context, c *model.Checkpoint, o Options) error {
	a := transcribe.AssistantOptions{Precision: o.AssistantPrecision}
	switch method := transcribe.Method(o.Assistant); method {
	case "", transcribe.None, transcribe.NGram, transcribe.Bigram, transcribe.Self:
		a.Method = method
	default:
		small, err := openCheckpoint(ctx, o.Assistant, o)
		if err != nil {
			return fmt.Errorf("assistant: %w", err)
		}
		m.files = append(m.files, small)
		a.Checkpoint = small
	}
	var err error
	m.Model, err = transcribe.Load(ctx, c, transcribe.LoadOptions{Threads: o.Threads,
		Precision: o.Precision, Assistant: a})
	if err != nil {
		return err
	}
	m.transcriber, err = transcribe.New(m.Model, o.Decoding)
	return err
}

// Transcribe transcribes a sound file.
func (m *Model) Transcribe(ctx context.Context, file string) (*transcript.Transcript, error) {
	clip, err := audio.Input{}.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer clip.Close()
	return m.transcriber.Transcribe(ctx, clip, transcribe.Watch{})
}

// Segments transcribes a clip and yields every segment as soon as nothing can change it. If
// it fails on the way, the last pair has the error.
func (m *Model) Segments(ctx context.Context, clip *audio.Clip) iter.Seq2[transcript.Segment, error] {
	return func(yield func(transcript.Segment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		segments, problem := make(chan transcript.Segment), error(nil)
		go func() {
			defer close(segments)
			_, problem = m.transcriber.Transcribe(ctx, clip, transcribe.Watch{Segment: func(s transcript.Segment) {
				select {
				case segments <- s:
				case <-ctx.Done():
				}
			}})
		}()
		defer func() {
			cancel()
			for range segments { // until nothing uses the clip any more
			}
		}()
		for s := range segments {
			if !yield(s, nil) {
				return
			}
		}
		if problem != nil {
			yield(transcript.Segment{}, problem)
		}
	}
}

// TranscribeReader transcribes sound in any file format that audio.Input.OpenReader knows.
// Name is used in errors.
func (m *Model) TranscribeReader(ctx context.Context, name string, r io.Reader) (*transcript.Transcript, error) {
	clip, err := audio.Input{}.OpenReader(ctx, name, r)
	if err != nil {
		return nil, err
	}
	defer clip.Close()
	return m.transcriber.Transcribe(ctx, clip, transcribe.Watch{})
}

// TranscribeSamples transcribes mono samples from -1 to 1 at audio.SampleRate.
func (m *Model) TranscribeSamples(ctx context.Context, samples []float32) (*transcript.Transcript, error) {
	clip := audio.FromSamples("samples", samples)
	defer clip.Close()
	return m.transcriber.Transcribe(ctx, clip, transcribe.Watch{})
}

// With returns the same model with other options of decoding. It shares all weights
// with m, and ends with m: it need not be closed.
func (m *Model) With(o transcribe.Options) (*Model, error) {
	t, err := transcribe.New(m.Model, o)
	if err != nil {
		return nil, err
	}
	return &Model{Model: m.Model, transcriber: t}, nil
}

// Transcriber returns what transcribes clips, for segments and progress as they come.
func (m *Model) Transcriber() *transcribe.Transcriber { return m.transcriber }

// Close ends the model's threads and closes its files. Nothing may use it after.
func (m *Model) Close() error {
	if m.Model != nil && m.files != nil {
		m.Model.Close()
	}
	var problems []error
	for _, f := range m.files {
		problems = append(problems, f.Close())
	}
	m.files = nil
	return errors.Join(problems...)
}
