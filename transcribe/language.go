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
}

// setLanguage fixes the language of the clip. Detection uses the window at the start of the
// sound, as upstream does, even if the first span begins later.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "Detecting language".
func (r *transcription) setLanguage(ctx context.Context) (err error) {
	if r.t.language != nil {
		r.windowLanguage = detection{Language: *r.t.language}
	} else {
		r.windowLanguage, err = r.detect(ctx)
	}
	r.clipLanguage = r.windowLanguage
	return err
}

// detect finds the language of the window at the start of the sound.
func (r *transcription) detect(ctx context.Context) (detection, error) {
	// For detection, upstream pads with silence, however it pads for decoding.
	mel, err := r.src.SilentWindow(ctx, r.src.Start())
	if err != nil {
		return detection{}, err
	}
	mel = mel.First(r.frames)
	if r.t.opt.Pad == audio.PadAudio {
		if err := r.endInSpeech(ctx, mel, r.src.Start(), min(r.frames, r.src.Frames()-r.src.Start())); err != nil {
			return detection{}, err
		}
	}
	w, err := r.encode(ctx, mel)
	if err != nil {
		return detection{}, err
	}
	if r.t.opt.Pad == audio.PadAudio {
		r.languageWindow = w // likely the first to be decoded
	} else {
		defer w.close()
	}
	l, err := r.t.languageOf(ctx, w)
	if err == nil {
		r.log.Info("language detected", "language", l.Code, "probability", l.probability)
	}
	return l, err
}

// languageOf returns the likeliest language of a window among those allowed. Its
// probability is the model's, over all languages.
func (t *Transcriber) languageOf(ctx context.Context, w encodedWindow) (l detection, err error) {
	probs, err := w.languages(ctx)
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
	return detection{known[best], float64(probs[best])}, nil
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
	defer r.closeLanguageWindow()
	err = r.setLanguage(ctx)
	return r.clipLanguage.Language, r.clipLanguage.probability, err
}

// minLanguageProbability is the least probability at which a window changes the language.
const minLanguageProbability = 0.5

// changeFrames is how much of a window tells whether the language changes amid it.
const changeFrames = 10 * audio.FramesPerSecond

// detectWindowLanguage sets the language of the window at the cursor, with Multilingual. The language of
// the text before it stays unless another one is probable enough. Even then, the window may begin in the
// former language: then it ends after changeFrames. It returns the window and its size.
func (r *transcription) detectWindowLanguage(ctx context.Context, w encodedWindow, size int) (encodedWindow, int, error) {
	if !r.t.opt.Multilingual {
		r.setWindowLanguage(r.clipLanguage)
		return w, size, nil
	}
	l, err := r.t.languageOf(ctx, w)
	if err != nil {
		return w, 0, err
	}
	changes := r.t.opt.Strategy != Upstream && r.textLanguage != "" && r.textLanguage != l.Code
	switch {
	case changes && l.probability < minLanguageProbability:
		l = r.windowLanguage
	case changes && size > changeFrames:
		part, err := r.encodeAt(ctx, changeFrames)
		if err != nil {
			return w, 0, err
		}
		first, err := r.t.languageOf(ctx, part)
		if first.Code == r.textLanguage && first.probability >= minLanguageProbability {
			w, part, l, size = part, w, first, changeFrames
		}
		part.close()
		if err != nil {
			return w, 0, err
		}
	}
	r.setWindowLanguage(l)
	return w, size, nil
}

// setWindowLanguage sets the language of the window at the cursor. Text of another language is not part of its
// prompt: it would be translated.
func (r *transcription) setWindowLanguage(l detection) {
	r.windowLanguage = l
	if r.t.opt.Strategy != Upstream && r.textLanguage != "" && r.textLanguage != l.Code {
		r.history.forget()
	}
}
