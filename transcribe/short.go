package transcribe

import (
	"context"
	"math"

	"verity/decoder"
	"verity/tokenizer"
)

// A short window has less sound than a whole one, such as a clip of a few seconds or the end of a long one. With
// FitAudioContext the encoder reads only that sound and some silence after it. Models were trained on whole windows,
// so three things keep the words right: text ends where the sound does (decoder.EndOfSound), a language in doubt is
// detected in the whole window, and so is text in doubt decoded again.
const (
	shortMargin              = 128   // audio positions of silence after the sound: 2.56 s
	shortLanguageProbability = 0.9   // of the language; below it the window is encoded whole
	shortLogProb             = -0.35 // mean of the tokens; below it the window is encoded whole
	endMargin                = 0.4   // s: text that ends so close to the end of the sound is the last
)

// encodedFrames returns how many frames of a window with size frames of sound are encoded. It is the one place that
// decides so: for files and their last windows, and for windows that are decoded together.
func (r *transcription) encodedFrames(size int) int {
	if o := &r.t.opt; o.AudioContext != FitAudioContext || o.Strategy == Upstream || o.Multilingual {
		return r.frames
	}
	return min(r.frames, framesPerStep*((size+1)/framesPerStep+shortMargin))
}

func (r *transcription) isShort(w *window) bool { return w.frames < r.frames }

// decodeShort decodes a short window once. It reports whether the text stands; else the window is encoded whole.
func (r *transcription) decodeShort(ctx context.Context, w *window) (accepted bool, err error) {
	o, h, temperature := r.sessionOptions(w), r.draftSources(w), r.t.opt.Temperatures[0]
	o.Sampling.Temperature, o.Search = float32(temperature), r.t.searchOptions(temperature)
	a, err := r.decodeOnce(ctx, w, o, &h, temperature)
	if err != nil {
		return false, err
	}
	ended := len(a.Choices) > len(a.tokens) // with end-of-text
	if ended && a.logProb >= shortLogProb && !r.t.opt.repetitive(a) {
		w.attempt = &a
		return true, nil
	}
	w.close()
	w.frames = r.frames
	return false, r.encode(ctx, w)
}

// rules returns the logit rules of a window.
func (r *transcription) rules(w *window) []decoder.Rule {
	tok := r.t.model.Tokenizer
	if !r.isShort(w) || tok.TimestampBegin < 0 || r.t.opt.WithoutTimestamps {
		return r.t.rules
	}
	at := func(s float64) tokenizer.Token {
		return tok.TimestampBegin + tokenizer.Token(math.Round(max(0, s)/tok.Seconds(tok.TimestampBegin+1)))
	}
	end := seconds(w.size)
	rule := decoder.EndOfSound{EOT: tok.EOT, TimestampBegin: tok.TimestampBegin, Last: at(end), Near: at(end - endMargin)}
	return append([]decoder.Rule{rule}, r.t.rules...)
}
