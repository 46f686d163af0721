package transcribe

import (
	"context"
	"fmt"

	"verity/audio"
	"verity/tokenizer"
)

// A detection is the language of a window. The probability is 0 if the language was given.
type detection struct {
	tokenizer.Language
	probability float64
	all         []float32 // of all languages of the model; nil if the language was given
}

// findLanguage fixes the language of the clip. It returns the window in which it was detected, if that can be decoded.
func (r *transcription) findLanguage(ctx context.Context) (ahead *window, err error) {
	if r.t.language != nil {
		r.language = detection{Language: *r.t.language}
	} else if ahead, err = r.detect(ctx); err != nil {
		ahead.close()
		return nil, err
	}
	r.clipLanguage = r.language
	if r.t.opt.Pad != audio.PadAudio {
		ahead.close() // decoding pads differently
		return nil, nil
	}
	return ahead, nil
}

const (
	// lateSpeech is the time before the first speech, in frames, from which the language is detected where the speech
	// begins. Else the window is the one that is decoded first.
	lateSpeech = 5 * audio.FramesPerSecond
	// searchFrames bounds how far the first speech is looked for: the sound may still arrive, and is kept meanwhile.
	searchFrames = 600 * audio.FramesPerSecond
)

// languageSpan returns the stretch to detect the language in: the first span, from its first speech if that is late.
// Upstream begins at the start of the sound.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "Detecting language".
func (r *transcription) languageSpan(ctx context.Context) (frameSpan, error) {
	src, ok := r.src.(sampler)
	if r.t.opt.Strategy == Upstream || len(r.cursor.todo) == 0 {
		return frameSpan{r.src.Start(), r.src.Frames()}, nil
	}
	left := searchFrames
	for _, s := range r.cursor.todo {
		for at := s.start; ok && at < s.end && left > 0; at, left = at+lateSpeech, left-lateSpeech {
			end := min(at+lateSpeech+leadIn, s.end)
			have, err := r.src.Reach(ctx, end)
			if err != nil {
				return s, err
			}
			pcm, err := src.Samples(ctx, at, min(end, have)-at)
			if err != nil {
				return s, err
			}
			if found := confirmVAD.Speech(pcm); len(found) > 0 {
				if at > s.start {
					s.start = at + int(found[0].Start/audio.HopLength)
				}
				return s, nil
			}
			if have < end {
				break // the sound has ended
			}
		}
	}
	return r.cursor.todo[0], nil
}

// detect finds the language of a window that begins with speech.
func (r *transcription) detect(ctx context.Context) (*window, error) {
	span, err := r.languageSpan(ctx)
	if err != nil {
		return nil, err
	}
	have, err := r.src.Reach(ctx, min(span.start+r.frames, span.end))
	if err != nil {
		return nil, err
	}
	size := max(0, min(r.frames, span.end-span.start, have-span.start))
	w := &window{seek: span.start, size: size, frames: r.encodedFrames(size)}
	for {
		// For detection, upstream pads with silence, however it pads for decoding.
		if err := r.encodeFrom(ctx, w, r.src.SilentWindow); err != nil {
			return nil, err
		}
		if w.language, err = r.t.languageOf(ctx, w); err != nil {
			return w, err
		}
		if !r.isShort(w) || w.language.probability >= shortLanguageProbability {
			r.language = w.language
			r.log.Info("language detected", "language", r.language.Code, "probability", r.language.probability)
			return w, nil
		}
		w.close()
		w.frames = r.frames
	}
}

// languageOf returns the likeliest language of a window among those allowed. Its
// probability is the model's, over all languages.
func (t *Transcriber) languageOf(ctx context.Context, w *window) (l detection, err error) {
	probs, err := w.encoded.languages(ctx)
	if err != nil {
		return l, fmt.Errorf("detecting the language: %w", err)
	}
	known := t.model.Tokenizer.Languages()
	if len(probs) != len(known) {
		return l, fmt.Errorf("got %d probabilities, want %d", len(probs), len(known))
	}
	best := -1
	for i, p := range probs {
		if (t.allowed == nil || t.allowed[i]) && (best < 0 || p > probs[best]) {
			best = i
		}
	}
	return detection{known[best], float64(probs[best]), probs}, nil
}

// DetectLanguage returns the language of the first speech in a clip, which it reads no further than it must, and its
// probability: 0 if the options or the model name the language. It decodes no text.
func (t *Transcriber) DetectLanguage(ctx context.Context, clip *audio.Clip) (
	l tokenizer.Language, probability float64, err error,
) {
	if t.model.closed.Load() {
		return l, 0, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	live, err := audio.NewLive(ctx, clip, 0, t.melOptions())
	if err != nil {
		return l, 0, err
	}
	r := t.newTranscription(clip.Name(), live, Callbacks{})
	if err := r.setStart(ctx); err != nil {
		return l, 0, err
	}
	w, err := r.findLanguage(ctx)
	w.close()
	return r.clipLanguage.Language, r.clipLanguage.probability, err
}

// warnLanguage warns if there is text in a language that was detected, but is improbable.
func (r *transcription) warnLanguage() {
	p := r.clipLanguage.probability
	if r.textLanguage == r.clipLanguage.Code && 0 < p && p < MinLanguageProbability && r.t.pass == (Pass{}) {
		r.log.Warn(fmt.Sprintf("the language was taken for %s with a probability of only %.2g: state it if it is another",
			r.clipLanguage.Name, p))
	}
}

// MinLanguageProbability is the least probability at which a window or an utterance changes the language.
const MinLanguageProbability = 0.5

// changeFrames is how much of a window tells whether the language changes amid it.
const changeFrames = 10 * audio.FramesPerSecond

// detectWindowLanguage sets the language of a window: the clip's, or with Multilingual its own. The language of
// the text before it stays unless another one is probable enough. Even then, the window may begin in the
// former language: then it ends after changeFrames. Until there is text, a window in which another language is
// probable sets that of the clip.
func (r *transcription) detectWindowLanguage(ctx context.Context, w *window) (err error) {
	switch {
	case w.language.Code != "": // it has been detected
	case r.t.opt.Multilingual:
		err = r.detectChange(ctx, w)
	case r.t.language == nil && r.textLanguage == "" && r.cursor.stop == 0 && r.t.opt.Strategy != Upstream:
		if w.language, err = r.t.languageOf(ctx, w); w.language.probability >= MinLanguageProbability {
			r.clipLanguage = w.language
		}
		w.language = r.clipLanguage
	default:
		w.language = r.clipLanguage
	}
	// Text of another language is not part of the prompt: it would be translated.
	r.language = w.language
	if r.t.opt.Strategy != Upstream && r.textLanguage != "" && r.textLanguage != w.language.Code {
		r.history.forget()
	}
	return err
}

// detectChange detects the language of a window, which may differ from that of the text before it.
func (r *transcription) detectChange(ctx context.Context, w *window) (err error) {
	if w.language, err = r.t.languageOf(ctx, w); err != nil {
		return err
	}
	changes := r.t.opt.Strategy != Upstream && r.textLanguage != "" && r.textLanguage != w.language.Code
	switch {
	case changes && w.language.probability < MinLanguageProbability:
		w.language = r.language
	case changes && w.size > changeFrames:
		part := &window{seek: w.seek, size: changeFrames, frames: r.frames}
		defer part.close()
		if err := r.encode(ctx, part); err != nil {
			return err
		}
		first, err := r.t.languageOf(ctx, part)
		if err != nil {
			return err
		}
		if first.Code == r.textLanguage && first.probability >= MinLanguageProbability {
			w.encoded, part.encoded = part.encoded, w.encoded
			w.language, w.size = first, changeFrames
		}
	}
	return nil
}
