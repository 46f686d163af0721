package transcribe

import (
	"context"
	"fmt"
	"io"

	"verity/audio"
	"verity/tokenizer"
)

// A detection is the language of a window. The probability is 0 if the language was given.
type detection struct {
	tokenizer.Language
	probability float64
	all         []float32 // of all languages of the model; nil if the language was given
}

// setLanguage fixes the language of the clip. Detection uses the window at the start of the
// sound, as upstream does, even if the first span begins later. It returns that window, if it can be decoded.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "Detecting language".
func (r *transcription) setLanguage(ctx context.Context) (ahead *window, err error) {
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

// detect finds the language of the window at the start of the sound.
func (r *transcription) detect(ctx context.Context) (*window, error) {
	start := r.src.Start()
	size := min(r.frames, r.src.Frames()-start)
	w := &window{seek: start, size: size, frames: r.encodedFrames(size)}
	// For detection, upstream pads with silence, however it pads for decoding.
	mel, err := r.src.SilentWindow(ctx, start)
	if err != nil {
		return nil, err
	}
	for {
		part := mel.First(w.frames)
		if r.t.opt.Pad == audio.PadAudio {
			if err := r.endInSpeech(ctx, part, w); err != nil {
				return nil, err
			}
		}
		if err := r.encodeMel(ctx, part, w); err != nil {
			return nil, err
		}
		if r.language, err = r.t.languageOf(ctx, w); err != nil {
			return w, err
		}
		if !r.isShort(w) || r.language.probability >= shortLanguageProbability {
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

// DetectLanguage returns the language of the first window of a clip, of which it reads no more, and its probability:
// 0 if the options or the model name the language. It decodes no text.
func (t *Transcriber) DetectLanguage(ctx context.Context, clip *audio.Clip) (
	l tokenizer.Language, probability float64, err error,
) {
	if t.model.closed.Load() {
		return l, 0, ErrClosed
	}
	pcm := make([]float32, t.model.Dims.WindowFrames()*audio.SampleRate/audio.FramesPerSecond)
	n, err := clip.Read(pcm)
	if err != nil && err != io.EOF {
		return l, 0, err
	}
	s, err := audio.NewSpectrogram(ctx, audio.FromSamples(clip.Name(), pcm[:n]), t.melOptions())
	if err != nil {
		return l, 0, err
	}
	r := t.newTranscription(clip.Name(), soundFile{s}, Callbacks{})
	w, err := r.setLanguage(ctx)
	w.close()
	return r.clipLanguage.Language, r.clipLanguage.probability, err
}

// minLanguageProbability is the least probability at which a window changes the language.
const minLanguageProbability = 0.5

// changeFrames is how much of a window tells whether the language changes amid it.
const changeFrames = 10 * audio.FramesPerSecond

// detectWindowLanguage sets the language of a window: the clip's, or with Multilingual its own. The language of
// the text before it stays unless another one is probable enough. Even then, the window may begin in the
// former language: then it ends after changeFrames.
func (r *transcription) detectWindowLanguage(ctx context.Context, w *window) (err error) {
	switch {
	case w.attempt != nil: // it has been decoded in its language
	case !r.t.opt.Multilingual:
		w.language = r.clipLanguage
	default:
		err = r.detectChange(ctx, w)
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
	case changes && w.language.probability < minLanguageProbability:
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
		if first.Code == r.textLanguage && first.probability >= minLanguageProbability {
			w.encoded, part.encoded = part.encoded, w.encoded
			w.language, w.size = first, changeFrames
		}
	}
	return nil
}
