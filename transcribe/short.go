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
// window; and if the text is in doubt, the whole window is decoded. docs/ACCURACY.md has the measurements.
const (
	shortMost                = 1500 // frames of sound: longer windows are in doubt too often to gain
	shortMargin              = 128  // audio positions of silence after the sound: 2.56 s
	shortLanguageProbability = 0.9  // of the language; below it, it is in doubt
	shortDoubt               = 0.75 // of the text; above it, it is in doubt
	shortExcess              = 0.6  // s: speech that lasts longer than its text does slowly by more than this puts it in doubt
	endMargin                = 0.4  // s: text that ends so close to the end of the sound is the last
)

// encodedFrames returns how many frames of a window with size frames of sound are encoded. It is the one place that
// decides so: for files and their last windows, and for windows that are decoded together. A least number of tokens may need
// more than the sound has, so its windows are whole.
func (r *transcription) encodedFrames(size int) int {
	o, provisional := &r.t.opt, r.t.pass.Provisional
	if o.AudioContext != 0 || o.Strategy == Upstream || o.Repetition.MinTokens > 0 ||
		!provisional && (o.Multilingual || size > shortMost) {
		return r.frames
	}
	return min(r.frames, framesPerStep*((size+1)/framesPerStep+shortMargin))
}

func (r *transcription) isShort(w *window) bool { return w.frames < r.frames }

// decodeShort decodes a short window, no further than its text may stand. It reports whether it does; else the window is
// encoded whole. Provisional text stands unless it is a loop, which is no text.
func (r *transcription) decodeShort(ctx context.Context, w *window) (stands bool, err error) {
	provisional := r.t.pass.Provisional
	follow := func() func(decoder.Choice) bool {
		d := doubt{t: r.t.model.Tokenizer}
		return func(c decoder.Choice) bool {
			d.add(c)
			return d.loop || d.sum > shortDoubt && !provisional
		}
	}
	o := r.decodeOptions(w)
	o.stop = follow()
	a, err := r.decodeOnce(ctx, w, &o)
	if err != nil {
		return false, err
	}
	stopped := slices.ContainsFunc(a.Choices, follow())
	if provisional && stopped {
		a.tokens, a.logProbs = nil, nil
	}
	stands = provisional || !stopped && a.ended() && len(textOf(r.t.model.Tokenizer, a.tokens)) > 0 && !r.t.opt.repetitive(a)
	if stands && !provisional {
		lacks, err := r.lacksText(ctx, w, a)
		if err != nil {
			return false, err
		}
		stands = !lacks
	}
	if stands {
		w.attempt = &a
		return true, nil
	}
	w.close()
	w.frames = r.frames
	return false, r.encode(ctx, w)
}

// lacksText reports whether a piece of text is too short for the speech in the time that it states, if it does. A model may write
// once what is said several times. Most text is long enough for all of its time, so the detector seldom has to look.
func (r *transcription) lacksText(ctx context.Context, w *window, a attempt) (bool, error) {
	src, ok := r.src.(sampler)
	if !ok || r.t.opt.WithoutTimestamps {
		return false, nil
	}
	pieces, _ := splitAtTimestamps(r.t.model.Tokenizer, a.tokens, w.size)
	for _, p := range pieces {
		text := r.t.model.Tokenizer.Decode(p.tokens)
		if excess(p.end-p.start, text) <= shortExcess {
			continue
		}
		from, to := w.seek+frameCount(p.start), w.seek+frameCount(p.end)
		speech, err := r.speechIn(ctx, src, w, frameSpan{from - gapEdge, to + gapEdge}) // which leaves out the edges
		if err != nil {
			return false, err
		}
		if excess(seconds(totalFrames(speech)), text) > shortExcess {
			return true, nil
		}
	}
	return false, nil
}

// A doubt tells how far a text is from certain, choice by choice.
type doubt struct {
	t    *tokenizer.Tokenizer
	text []tokenizer.Token

	// What each token's log-probability lacks to that of one half. Words of which the model is sure do not make up for
	// one of which it is not, and times, of which it never is, do not count.
	sum float64

	// Some tokens of text, three or more, follow a second time at once. In a window of a few seconds that is too little
	// for the compression of the whole text to show it.
	loop bool
}

func (d *doubt) add(c decoder.Choice) {
	if c.Token <= d.t.EOT {
		d.sum += max(0, -math.Ln2-float64(c.LogProb))
	}
	if !isTimed(d.t, c.Token) {
		return
	}
	d.text = append(d.text, c.Token)
	for period := 3; 2*period <= len(d.text)+1; period++ {
		i := len(d.text) - 1
		for i >= period && d.text[i] == d.text[i-period] {
			i--
		}
		if len(d.text)-1-i >= max(3, period-1) { // the first may differ in its capital
			d.loop = true
		}
	}
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
