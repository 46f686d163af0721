package transcribe

import (
	"context"
	"math"
	"slices"

	"verity/decoder"
	"verity/tokenizer"
)

// A short window has less sound than a whole one, such as a clip of a few seconds or the end of a long one. The
// encoder reads only that sound and some silence after it. Models were trained on whole windows, so three things keep
// the words right: text ends where the sound does (decoder.EndOfSound); a language in doubt is detected in the whole
// window; and text in doubt stands only if a search in several sequences finds it too, else the whole window is decoded.
const (
	shortMargin              = 128   // audio positions of silence after the sound: 2.56 s
	shortLanguageProbability = 0.9   // of the language; below it, it is in doubt
	shortLogProb             = -0.3  // mean of the tokens; below it, the text is in doubt
	shortLeastLogProb        = -0.45 // below it, no search is tried
	endMargin                = 0.4   // s: text that ends so close to the end of the sound is the last
)

// encodedFrames returns how many frames of a window with size frames of sound are encoded. It is the one place that
// decides so: for files and their last windows, and for windows that are decoded together.
func (r *transcription) encodedFrames(size int) int {
	o, provisional := &r.t.opt, r.t.pass.Provisional
	if o.AudioContext != 0 || o.Strategy == Upstream || o.Multilingual && !provisional {
		return r.frames
	}
	return min(r.frames, framesPerStep*((size+1)/framesPerStep+shortMargin))
}

func (r *transcription) isShort(w *window) bool { return w.frames < r.frames }

// decodeShort decodes a short window. It reports whether the text stands; else the window is encoded whole.
func (r *transcription) decodeShort(ctx context.Context, w *window) (stands bool, err error) {
	o, h, temperature := r.sessionOptions(w), r.draftSources(w), r.t.opt.Temperatures[0]
	o.Sampling.Temperature, o.Search = float32(temperature), r.t.searchOptions(temperature)
	a, err := r.decodeOnce(ctx, w, o, &h, temperature)
	if err != nil {
		return false, err
	}
	plausible := a.ended() && a.logProb >= shortLeastLogProb && !r.hasLoop(a)
	stands = plausible && a.logProb >= shortLogProb || r.t.pass.Provisional
	if plausible && !stands && temperature == 0 && o.Search.Beams <= 1 {
		o.Search.Beams = doubtBeams
		b, err := r.decodeOnce(ctx, w, o, &h, temperature)
		if err != nil {
			return false, err
		}
		text := func(a attempt) string { return upstreamText(r.t.model.Tokenizer, a.tokens) }
		stands = b.ended() && text(a) == text(b)
	}
	if stands {
		w.attempt = &a
		return true, nil
	}
	w.close()
	w.frames = r.frames
	return false, r.encode(ctx, w)
}

// hasLoop reports whether some tokens of text, three or more, follow a second time at once. In a window of a few seconds
// that is too little for the compression of the whole text to show it.
func (r *transcription) hasLoop(a attempt) bool {
	text := slices.DeleteFunc(slices.Clone(a.tokens), func(t tokenizer.Token) bool { return t >= r.t.model.Tokenizer.EOT })
	for period := 3; 2*period <= len(text)+1; period++ {
		same := 0
		for i, t := range text[period:] {
			if same++; t != text[i] {
				same = 0
			}
			if same >= max(3, period-1) { // the first may differ in its capital
				return true
			}
		}
	}
	return r.t.opt.repetitive(a)
}

// ended reports whether the model wrote end-of-text.
func (a *attempt) ended() bool { return len(a.Choices) > len(a.tokens) }

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
