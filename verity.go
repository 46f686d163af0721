// Package verity transcribes speech with Whisper models, on CPUs, in pure Go.
//
//	import _ "verity/model/base" // the model, 75 MB, becomes part of the program
//
//	m, err := verity.Open(ctx, "base", verity.Options{})
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	t, err := m.Transcribe(ctx, "talk.mp3")
//	if err != nil {
//		return err
//	}
//	fmt.Println(t.Text)
//
// Open also takes a path, or the name of a published model such as "small", which it
// downloads. [Model.Segments] yields segments as they come, [Model.TranscribeReader] reads a
// stream, [Model.TranscribeSamples] takes samples, and transcript.Write writes subtitles.
//
// A [Model] is safe for concurrent use: files that are transcribed at the same time share
// every pass over the weights, and the text of each is what it would be alone.
//
// [Options].Decoding sets language, task, prompt and thresholds; its zero value decodes like
// verity transcribe without flags. With [Options].Assistant (speculative decoding) a cheap
// model drafts tokens and the model verifies them: the text is that of plain decoding, bit
// for bit.
package verity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"verity/assistant"
	"verity/assistant/ctc"
	"verity/audio"
	"verity/internal/option"
	"verity/model"
	"verity/model/hub"
	"verity/parallel"
	"verity/precision"
	"verity/transcribe"
	"verity/transcript"
	"verity/wer"
)

// Options configures Open. The zero value uses every fast core, keeps the weights as exact
// as the files have them, drafts as Assistant "auto" does and detects the language.
type Options struct {
	// Threads is how many threads the model has. 0 means one for each fast core. The
	// text does not depend on it.
	Threads int

	// Precision is the number format of weights, activations and caches. Zero means f16 if
	// no weight changes by it, else f32; few bits stay as in the file.
	// precision.Of(precision.Int8) is the fastest.
	Precision precision.Precision

	// Assistant drafts tokens: none, encoder, ngram, bigram, self, or the name or path of a
	// distilled decoder or of a smaller model of the same family. auto, which is the default, chooses the
	// assistant of an embedded model, or the published partner of a published model if that is in the
	// cache, else encoder: drafts from the encoder's output, for models with base's encoder. The
	// text does not depend on it.
	Assistant string

	// AssistantPrecision is the number format of the assistant's weights. Zero means int8.
	AssistantPrecision precision.Precision

	// Offline forbids the network: a published model must be in the cache already.
	// HF_HUB_OFFLINE=1 has the same effect.
	Offline bool

	// Decoding sets language, task, thresholds and prompt. The zero value decodes as
	// verity transcribe does without flags.
	Decoding transcribe.Options

	// Hub finds and downloads published models. Nil means hub.FromEnv().
	Hub *hub.Client

	// Pool replaces Threads by threads that several models can share. The caller closes it.
	Pool *parallel.Pool

	// WindowsFirst encodes all waiting windows before decoding continues: throughput is
	// higher, but text comes in bursts. Without it text comes evenly, as a server needs it.
	WindowsFirst bool

	// Policy makes what decides how many tokens to draft, for each sequence its own. Nil
	// measures what is fastest.
	Policy func() assistant.Policy

	// Rejection verifies drafts at temperatures above 0 by classic speculative sampling: the
	// text differs from that of plain decoding, but has the same distribution.
	Rejection bool

	// MeasureOverlap measures how far the distributions of model and assistant overlap; the
	// statistics of a transcript have it.
	MeasureOverlap bool

	// Log gets warnings. Nil discards them.
	Log *slog.Logger
}

// A Model transcribes sound. It is safe for concurrent use.
type Model struct {
	*transcribe.Model
	Checkpoint *model.Checkpoint

	name        string // the name given to Open
	decoding    transcribe.Options
	transcriber *transcribe.Transcriber
	files       []io.Closer // Close closes them
	shared      bool        // with another Model, whose Close ends both
}

// Open loads a model by any name that hub.Client.Open accepts: that of an embedded model
// (base, with import _ "verity/model/base"), a path, or the name of a published model, such
// as small or openai/whisper-small. Open looks for a published model in the cache that all
// Hugging Face programs share, and downloads it if it is not there, unless Options.Offline is
// set. Package model/hub documents the environment variables for cache, hub and token. The
// caller closes the model.
func Open(ctx context.Context, name string, o Options) (*Model, error) {
	c, err := o.client().Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return open(ctx, c, name, o)
}

// OpenFS loads the model whose files are at the root of fsys. Errors use its name, and
// Assistant "auto" finds its partner by it.
func OpenFS(ctx context.Context, fsys fs.FS, name string, o Options) (*Model, error) {
	c, err := model.OpenFS(fsys, name)
	if err != nil {
		return nil, err
	}
	return open(ctx, c, name, o)
}

// open loads c, and closes it if that fails.
func open(ctx context.Context, c *model.Checkpoint, name string, o Options) (*Model, error) {
	m := &Model{Checkpoint: c, name: name, files: []io.Closer{c}}
	if err := m.load(ctx, o, nil); err != nil {
		return nil, option.Join(err, m.Close())
	}
	return m, nil
}

// client returns the client that finds models.
func (o Options) client() *hub.Client {
	c := hub.FromEnv()
	if o.Hub != nil {
		*c = *o.Hub
	}
	c.Offline = c.Offline || o.Offline
	return c
}

// AssistantFor returns the assistant for the named model: Assistant itself, or what auto finds;
// encoder if there is no other.
func (o Options) AssistantFor(name string) string {
	if o.automatic() {
		o.Assistant = o.client().Assistant(name)
	}
	return cmp.Or(o.Assistant, string(transcribe.Encoder))
}

// automatic reports whether the assistant is to be chosen.
func (o Options) automatic() bool { return o.Assistant == "" || o.Assistant == "auto" }

// load loads the checkpoint with the assistant of o. If like is not nil, its weights are used.
func (m *Model) load(ctx context.Context, o Options, like *transcribe.Model) error {
	a, err := m.assistant(ctx, o)
	if err != nil {
		return err
	}
	m.Model, err = transcribe.Load(ctx, m.Checkpoint, transcribe.LoadOptions{
		Threads: o.Threads, Pool: o.Pool, Precision: o.Precision, WindowsFirst: o.WindowsFirst, SharedWith: like,
		Assistant: a, Policy: o.Policy, Rejection: o.Rejection, MeasureOverlap: o.MeasureOverlap, Log: o.Log,
	})
	if err != nil {
		return err
	}
	if o.Assistant == string(transcribe.Encoder) && !m.Model.Assisted() && o.Log != nil {
		o.Log.Warn("assistant encoder: no drafting head fits this model, so decoding is plain", "model", m.name)
	}
	m.decoding = o.Decoding
	m.transcriber, err = transcribe.New(m.Model, o.Decoding)
	return err
}

// assistant describes the assistant of o and opens its checkpoint.
func (m *Model) assistant(ctx context.Context, o Options) (transcribe.AssistantOptions, error) {
	a := transcribe.AssistantOptions{Precision: o.AssistantPrecision, Found: o.automatic()}
	name := o.AssistantFor(m.name)
	switch method := transcribe.Method(name); method {
	case transcribe.None, transcribe.Encoder, transcribe.NGram, transcribe.Bigram, transcribe.Self:
		a.Method = method
		if method != transcribe.Encoder {
			return a, nil
		}
		source, err := DraftEncoder(m.Checkpoint, o.automatic())
		switch {
		case err != nil && !o.automatic():
			return a, err
		case err != nil:
			if o.Log != nil {
				o.Log.Warn("decoding continues without the assistant; the text is the same", "error", err)
			}
			a.Method = transcribe.None
		case source == nil:
			a.Method = transcribe.None
		case source != m.Checkpoint:
			m.files = append(m.files, source)
			a.Checkpoint = source
		}
		return a, nil
	}
	if o.automatic() && name != m.name && o.Log != nil {
		o.Log.Warn("assistant auto: the published one in the cache drafts", "assistant", name)
	}
	c, err := o.client().OpenAssistant(ctx, name)
	if unknown, ok := errors.AsType[*hub.NameError](err); ok && unknown.Name == name {
		return a, unknownAssistant(name)
	}
	if err != nil {
		return a, fmt.Errorf("assistant: %w", err)
	}
	m.files = append(m.files, c)
	a.Checkpoint = c
	return a, nil
}

// unknownAssistant is the error of a name that is no assistant.
func unknownAssistant(name string) error {
	const methods = "auto, none, encoder, ngram, self"
	reason := "want " + methods + ", or the name or directory of a smaller model of the same family"
	if near := wer.Nearest(name, slices.Concat(strings.Split(methods, ", "), hub.AllNames())); len(near) > 0 {
		reason += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return option.New("Assistant", name, reason)
}

// DraftEncoder returns the model from whose encoder's output Assistant "encoder" drafts for target: target itself, or
// base, if the program has it, or nil. Base is for models whose encoder costs at least 8 times as much; unless
// auto, for others too. The caller closes a model other than target.
func DraftEncoder(target *model.Checkpoint, auto bool) (source *model.Checkpoint, err error) {
	const (
		name      = "base"
		costRatio = 8
	)
	if own, err := ctc.Has(target); own || err != nil {
		return target, err
	}
	base, ok := model.EmbeddedModel(name)
	if !ok {
		return nil, nil
	}
	c, err := model.OpenFS(base.Files, name)
	if err != nil {
		return nil, err
	}
	cost := func(d model.Dims) int { return d.AudioLayers * d.AudioWidth * d.AudioWidth }
	if c.Dims.MelBins > target.Dims.MelBins || c.Dims.AudioPositions != target.Dims.AudioPositions ||
		auto && cost(target.Dims) < costRatio*cost(c.Dims) {
		return nil, c.Close()
	}
	return c, nil
}

// Assisted returns the same model with the assistant and the decoding of o. It shares the
// weights and the threads of m, and must be closed before m.
func (m *Model) Assisted(ctx context.Context, o Options) (*Model, error) {
	other := &Model{Checkpoint: m.Checkpoint, name: m.name}
	if err := other.load(ctx, o, m.Model); err != nil {
		return nil, option.Join(err, other.Close())
	}
	return other, nil
}

// Transcribe transcribes a sound file.
func (m *Model) Transcribe(ctx context.Context, file string) (*transcript.Transcript, error) {
	clip, err := audio.Input{}.Open(ctx, file)
	return m.transcribe(ctx, clip, err)
}

// transcribe transcribes and closes a clip, unless opening it failed.
func (m *Model) transcribe(ctx context.Context, clip *audio.Clip, err error) (*transcript.Transcript, error) {
	if err != nil {
		return nil, err
	}
	defer clip.Close()
	return m.transcriber.Transcribe(ctx, clip, transcribe.Callbacks{})
}

// Segments transcribes a clip and yields every segment as soon as nothing can change it. If
// it fails on the way, the last pair has the error.
func (m *Model) Segments(ctx context.Context, clip *audio.Clip) iter.Seq2[transcript.Segment, error] {
	return func(yield func(transcript.Segment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		segments, problem := make(chan transcript.Segment), error(nil)
		go func() {
			defer close(segments)
			_, problem = m.transcriber.Transcribe(ctx, clip, transcribe.Callbacks{Segment: func(s transcript.Segment) {
				select {
				case segments <- s:
				case <-ctx.Done():
				}
			}})
		}()
		defer func() {
			cancel()
			for range segments { // wait until the goroutine no longer uses the clip
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
	return m.transcribe(ctx, clip, err)
}

// TranscribeSamples transcribes mono samples from -1 to 1 at audio.SampleRate. None have an empty text. NaN, and samples of
// integers that nobody divided, are a *[audio.SampleError].
func (m *Model) TranscribeSamples(ctx context.Context, samples []float32) (*transcript.Transcript, error) {
	return m.transcribe(ctx, audio.FromSamples("samples", samples), audio.CheckSamples(samples))
}

// Decoding returns the options of decoding that Open or With got.
func (m *Model) Decoding() transcribe.Options { return m.decoding }

// With returns the same model with other options of decoding in place of those of m; begin with m.Decoding() to change
// some of them. It shares everything with m and ends with m: it need not be closed.
func (m *Model) With(o transcribe.Options) (*Model, error) {
	t, err := transcribe.New(m.Model, o)
	if err != nil {
		return nil, err
	}
	return &Model{Model: m.Model, Checkpoint: m.Checkpoint, name: m.name, decoding: o, transcriber: t, shared: true}, nil
}

// Transcriber returns the transcriber of clips, which reports segments and progress.
func (m *Model) Transcriber() *transcribe.Transcriber { return m.transcriber }

// Close ends the model's threads and closes its files. Transcribing afterwards is an error.
func (m *Model) Close() error {
	if m.shared {
		return nil
	}
	if m.Model != nil {
		m.Model.Close()
	}
	var problems []error
	for _, f := range m.files {
		problems = append(problems, f.Close())
	}
	m.files = nil
	return option.Join(problems...)
}
