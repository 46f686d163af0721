package live

import (
	"cmp"
	"context"
	"io"
	"iter"

	"verity/audio"
	"verity/diarize"
	"verity/transcribe"
	"verity/transcript"
)

// A Transcriber transcribes live sound with one model and one set of options. It is safe for concurrent use.
type Transcriber struct {
	files  *transcribe.Transcriber
	opt    transcribe.Options
	voices *diarize.Options // how voices are identified; nil if they are not
	step   float64          // 0 means DefaultStep
}

// DefaultStep is how many seconds of new sound a pass waits for.
const DefaultStep = 0.6

// New returns a Transcriber. SkipSpeechCheck matters only to a [Stream] that does not detect turns. New ignores the
// options that make sense only for files (Spans, VAD, Chunked, Prefix, TokenOrigins, Translate), and those for
// windows after the first, since a pass has
// only one. It uses only the last 4096 bytes of a prompt.
func New(m *transcribe.Model, o transcribe.Options) (*Transcriber, error) {
	o.WordTimestamps, o.Task = true, transcribe.Transcribe
	o.Spans, o.VAD = nil, nil
	o.Prefix, o.Chunked, o.TokenOrigins = "", false, false
	o.Multilingual, o.CarryInitialPrompt = false, false
	voices := o.Speakers
	if o.Speakers = nil; voices != nil {
		if err := voices.Check(); err != nil {
			return nil, err
		}
		copied := *voices
		voices, copied.Pool = &copied, m.Pool
	}
	o.InitialPrompt = lastBytes(o.InitialPrompt, maxPromptBytes)
	files, err := transcribe.New(m, o)
	if err != nil {
		return nil, err
	}
	return &Transcriber{files: files, opt: o, voices: voices}, nil
}

// WithStep returns a Transcriber whose passes wait for some seconds of new sound. With a longer step, words come later,
// cost less, and are more often right, since the second of two passes that agree has heard more.
func (t *Transcriber) WithStep(seconds float64) *Transcriber {
	n := *t
	n.step = seconds
	return &n
}

// utterance returns a new utterance of a stream that begins at sample start.
func (t *Transcriber) utterance(s *Stream, start int64) *Utterance {
	return &Utterance{
		Number: s.utterances, Start: start, onePass: t.pass, step: cmp.Or(t.step, DefaultStep), prompt: t.opt.InitialPrompt,
		language: t.opt.Language, upstream: t.opt.Strategy == transcribe.Upstream, spoken: s.detector != nil,
		stream: s, tracker: s.tracker, ended: make(chan struct{}), agreed: agreement{unfinished: t.files.Unfinished},
	}
}

// pass implements the type pass.
func (t *Transcriber) pass(ctx context.Context, pcm []float32, p transcribe.Pass, draft []transcript.Cue) (
	*transcript.Transcript, []transcript.Cue, error,
) {
	by, err := t.files.ForPass(p)
	if err != nil {
		return nil, nil, err
	}
	tr, err := by.WithOwnDraft(draft).Transcribe(ctx, audio.FromSamples("live sound", pcm), transcribe.Callbacks{})
	if err != nil {
		return nil, nil, err
	}
	return tr, by.DraftFrom(tr), nil
}

// Sound yields mono samples from -1 to 1 at audio.SampleRate as they arrive, then io.EOF. *audio.Clip implements it. Other
// samples are a *audio.SampleError.
type Sound interface {
	Read(dst []float32) (int, error)
}

// Listen transcribes sound while it arrives. It yields the result of every pass until the
// sound has ended and its last words are confirmed. The last pair may hold an error. When ctx
// or the loop ends, a Read that still waits is abandoned.
func (t *Transcriber) Listen(ctx context.Context, sound Sound, o TurnOptions) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := o.Check(); err != nil {
			yield(Result{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, ended := NewStream(t, &o), make(chan error, 1)
		go func() { ended <- s.addAll(ctx, sound) }()
		for u := range s.Utterances(ctx) {
			for r, err := range u.Passes(ctx, nil) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
		err := ctx.Err()
		if err == nil {
			err = <-ended
		}
		switch {
		case err != io.EOF:
			yield(Result{}, err)
		case s.tracker != nil:
			yield(Result{Start: seconds(s.Len()), Last: true, Speakers: s.tracker.Finish()}, nil)
		}
	}
}

// PhraseLength returns the number of words before the sentence ends or the speaker changes. The last words of an
// utterance end a sentence; otherwise it is 0 until the sentence ends.
func PhraseLength(words []transcript.Word, last bool) int {
	n := 0
	for i, w := range words {
		next := "a word that may come"
		if i+1 < len(words) {
			next = words[i+1].Word
		} else if last {
			next = ""
		}
		if transcript.EndsSentence(w.Word, next) || last && next == "" {
			n = i + 1
			break
		}
	}
	for i := range n {
		if words[i].Speaker != words[0].Speaker {
			return i
		}
	}
	return n
}
