package transcribe

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/transcript"
)

// A source is the log-mel spectrogram of one clip. *audio.Spectrogram implements it for files,
// *audio.Live for sound that is still arriving.
type source interface {
	Frames() int
	// Reach returns the number of frames. If the sound is still arriving, it first waits
	// until there are at least that many.
	Reach(ctx context.Context, frames int) (int, error)
	// Start returns the frame in which the sound starts, once Reach has returned.
	Start() int
	Seconds() float64
	Hash() uint64
	Silence() float32
	Window(ctx context.Context, frame int) (*audio.Mel, error)
	SilentWindow(ctx context.Context, frame int) (*audio.Mel, error)
}

// A transcription is the state of the work on one clip, or on one chunk of it.
type transcription struct {
	t            *Transcriber
	log          *slog.Logger
	name         string
	src          source
	callbacks    Callbacks
	frames       int // of a window
	cursor       cursor
	clipLanguage detection               // of the first window
	language     detection               // of the last window
	textLanguage string                  // of the last text, a code
	textProposer *assistant.TextProposer // nil without a text to draft from
	continued    bool                    // a chunk other than the first

	retried map[frameSpan]bool // windows decoded again to cover gaps
	gaps    []transcript.Gap   // speech without words

	history      history
	segments     []transcript.Segment
	stats        transcript.Stats
	failures     *atomic.Int32 // windows in which the assistant failed to draft, in all chunks
	lastWord     float64       // end of the last word, in seconds
	choices      choiceHash
	lastEstimate float64 // last value passed to Callbacks.Estimate
}

func (t *Transcriber) newTranscription(name string, src source, w Callbacks) *transcription {
	r := &transcription{
		t: t, log: t.opt.Log.With("audio", name), name: name, src: src, callbacks: w,
		frames:  t.windowFrames(),
		cursor:  cursor{todo: frameSpans(t.opt.Spans, src.Frames(), t.opt.Strategy == Upstream)},
		history: history{tokens: slices.Clone(t.prompt), initial: len(t.prompt)},
		choices: newChoiceHash(), failures: new(atomic.Int32), retried: map[frameSpan]bool{},
	}
	if t.draftText != nil {
		r.textProposer = t.draftText.NewProposer()
	}
	return r
}

// transcribeSpans finds the language, then transcribes the spans window after window.
func (r *transcription) transcribeSpans(ctx context.Context) error {
	if err := r.setStart(ctx); err != nil {
		return err
	}
	if r.src.Frames() == 0 {
		r.log.Warn("the audio is shorter than 10 ms: there is nothing to transcribe")
	} else {
		r.logUnreachable(ctx)
	}
	ahead, err := r.findLanguage(ctx)
	if err != nil {
		return err
	}
	if all := r.clipLanguage.all; all != nil && r.callbacks.Languages != nil {
		r.callbacks.Languages(all)
	}
	if begin := r.callbacks.Begin; begin != nil {
		begin(r.clipLanguage.Code, r.clipLanguage.probability, r.src.Seconds())
	}
	r.reportProgress()
	if r.t.opt.Chunked {
		return r.transcribeChunks(ctx, ahead)
	}
	return r.transcribeWindows(ctx, ahead)
}

// setStart leaves out of the spans what is before the start of the sound.
func (r *transcription) setStart(ctx context.Context) error {
	_, err := r.src.Reach(ctx, 1)
	for i, s := range r.cursor.todo {
		r.cursor.todo[i].start = min(max(s.start, r.src.Start()), max(s.start, s.end))
	}
	return err
}

// logUnreachable says which parts to transcribe lie outside the sound.
func (r *transcription) logUnreachable(ctx context.Context) {
	todo, spans := r.cursor.todo, r.t.opt.Spans
	if len(todo) > 0 && !slices.ContainsFunc(todo, func(s frameSpan) bool { return s.start < s.end }) {
		level, why := slog.LevelInfo, "the audio ends before them" // the text is empty for a reason that callers see
		if spans[0].Start < r.src.Seconds() {
			level, why = slog.LevelWarn, "the audio begins after them"
		}
		r.log.Log(ctx, level, "the parts to transcribe hold no sound: "+why, "seconds", r.src.Seconds())
	} else if len(spans) > 0 && r.src.Frames() != audio.Unknown {
		if end := spans[len(spans)-1].End; !math.IsInf(end, 1) && end > r.src.Seconds()+1 {
			r.log.Warn(fmt.Sprintf("the last part to transcribe ends at %.4g s, after the end of the audio at %.4g s", end, r.src.Seconds()))
		}
	}
}

// transcribeWindows transcribes from the cursor to the end, window after window. ahead is a window that is encoded
// already, or nil.
func (r *transcription) transcribeWindows(ctx context.Context, ahead *window) error {
	defer func() { ahead.close() }()
	for size := r.cursor.next(r.frames); size > 0; size = r.cursor.next(r.frames) {
		have, err := r.src.Reach(ctx, r.cursor.seek+size)
		if err != nil {
			return err
		}
		if size = min(size, have-r.cursor.seek); size <= 0 {
			break // live sound has ended
		}
		w := r.nextWindow(size, ahead)
		ahead, err = r.transcribeWindow(ctx, w)
		w.close()
		if err != nil {
			return err
		}
		r.cursor.seek += w.advance
		r.reportProgress()
	}
	return ctx.Err()
}

// transcribeWindow takes a window through all stages, and adds its text to the transcript. It returns the window
// that follows if that is decoded already, else nil.
func (r *transcription) transcribeWindow(ctx context.Context, w *window) (next *window, err error) {
	for _, stage := range []func(context.Context, *window) error{r.encode, r.detectWindowLanguage, r.decode, r.judge} {
		if err := stage(ctx, w); err != nil {
			return nil, err
		}
	}
	if w.verdict == invented {
		return nil, nil
	}
	if w.verdict == speech {
		r.divide(w)
		if err := r.timeWords(ctx, w); err != nil {
			return nil, err
		}
	}
	if next, err = r.cover(ctx, w); err == nil && w.verdict == speech && !w.dropped {
		r.appendWindow(w)
	}
	return next, err
}

// decodeOptions returns how to decode a window at the first temperature.
func (r *transcription) decodeOptions(w *window) decodeOptions {
	room := r.t.promptRoom()
	previous := r.history.forPrompt(room, r.t.opt.CarryInitialPrompt)
	if w.retry {
		previous = nil
	}
	start := r.t.startTokens(w.language.Language)
	if r.stats.Windows == 0 && !r.continued && len(r.t.prefix) > 0 {
		start = slices.Concat(start, r.t.prefix)
	} else if hot := r.t.hotwords; len(hot) > 0 {
		previous = slices.Concat(hot, tail(previous, room-len(hot)))
	}
	prompt, sot := buildPrompt(r.t.model.Tokenizer, previous, start, room)
	o := decodeOptions{drafts: r.draftSources(w), SessionOptions: decoder.SessionOptions{
		Prompt: prompt, SOT: sot, NoSpeech: r.t.model.Tokenizer.NoSpeech,
		Rules: r.rules(w),
		Sampling: decoder.Sampling{
			TopK: r.t.opt.TopK, TopP: r.t.opt.TopP,
			Seed: r.t.opt.Seed, Audio: r.src.Hash(), Window: w.seek,
		},
	}}
	o.setTemperature(&r.t.opt, 0)
	return o
}

// maxPromptTemperature is the highest temperature of text in the prompts of later windows.
// Source: openai/whisper@c0d2f62 whisper/transcribe.py.
const maxPromptTemperature = 0.5

// appendWindow adds the segments of a window to the transcript.
func (r *transcription) appendWindow(w *window) {
	r.numberSegments(w.segments)
	a := w.attempt // as a prompt, repetition would go on
	r.appendSegments(w.segments, w.language, a.failed || a.repeated || a.temperature > maxPromptTemperature)
}

// appendSegments adds segments to the transcript and to the text that later windows continue,
// unless they are too doubtful for that.
func (r *transcription) appendSegments(segments []transcript.Segment, language detection, doubtful bool) {
	for _, s := range segments {
		r.history.tokens = append(r.history.tokens, s.Tokens...)
		if s.TrimmedText() != "" {
			r.textLanguage = language.Code
		}
		if r.callbacks.Segment != nil {
			r.callbacks.Segment(s)
		}
	}
	r.segments = append(r.segments, segments...)
	if r.t.opt.ForgetPrevious || doubtful {
		r.history.forget()
	}
}

// transcript returns the transcript so far.
func (r *transcription) transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Name: r.name, Text: r.t.model.Tokenizer.Decode(r.history.text()),
		Language: r.clipLanguage.Code, LanguageProb: r.clipLanguage.probability, Duration: r.src.Seconds(),
		Segments: r.segments, Gaps: r.gaps, Stats: r.stats, ChoiceHashes: r.choices.sum(),
	}
}
