package transcribe

import (
	"context"
	"math"
	"slices"

	"verity/audio"
	"verity/audio/vad"
	"verity/transcript"
)

// The settings of the speech detector, by what it is asked.
var (
	// Does a window hold speech? Silero's own minimum duration leaves out knocks.
	confirmVAD = vad.Options{MinSpeechDurationMS: 250}

	// Which parts of a gap are speech? They are decoded again, so short pauses do not divide them, and there is no
	// padding to reach the words beside the gap.
	gapVAD = vad.Options{MinSpeechDurationMS: 250, MinSilenceDurationMS: 500, SpeechPadMS: -1}

	// Where does a word begin after a pause? The detector hears it about two steps of 32 ms late.
	edgeVAD = vad.Options{MinSpeechDurationMS: 250, MinSilenceDurationMS: 200, SpeechPadMS: 60}

	// Does somebody speak where a window ends? The least pause counts, since a sentence may end there.
	endVAD = vad.Options{MinSilenceDurationMS: 60, SpeechPadMS: -1}
)

// A sampler is a source whose samples can be read again. It is valid within the last window.
type sampler interface {
	Samples(ctx context.Context, frame, n int) ([]float32, error)
}

// confirmSpeechAbove is the no-speech probability from which a window is checked for speech.
// With base, 13 of 310 windows of recordings with speech were above it: LibriSpeech, and half an
// hour of other speech, read, spoken and noisy. So were all 9 windows with invented text.
const confirmSpeechAbove = 0.2

// leadIn is how many frames before what is examined the detector needs to settle.
const leadIn = 50

// slowBytes of text a second are slow speech.
const slowBytes = 12.0

// judge decides whether the text of a window counts. If no speech is heard where text is in doubt, it is invented.
func (r *transcription) judge(ctx context.Context, w *window) error {
	r.stats.Windows++
	if r.t.opt.silent(*w.attempt) {
		w.verdict = silent
	} else if heard, err := r.confirmSpeech(ctx, w); err != nil {
		return err
	} else if !heard {
		w.verdict = invented
	}
	if w.verdict != speech {
		w.advance = w.size
		r.stats.Silent++
		r.log.Debug("no speech", "seek", w.seek, "no_speech_prob", w.attempt.noSpeech, "avg_logprob", w.attempt.logProb)
	}
	return nil
}

// confirmSpeech reports whether a window holds speech. If it does not, its text is invented. A window that
// failed at every temperature is in doubt whatever its no-speech probability, which hotwords and prompts lower,
// and so is one that repeats those.
func (r *transcription) confirmSpeech(ctx context.Context, w *window) (bool, error) {
	src, ok := r.src.(sampler)
	hints, a := slices.Concat(r.t.hotwords, r.t.prompt), w.attempt
	repeats := len(hints) > 0 && isCopied(r.t.model.Tokenizer, hints, a.tokens)
	if !ok || r.t.opt.SkipSpeechCheck || a.noSpeech < confirmSpeechAbove && !a.failed && !repeats {
		return true, nil
	}
	pcm, err := src.Samples(ctx, w.seek, w.size)
	return err != nil || len(confirmVAD.Speech(pcm)) > 0, err
}

// startWithSpeech moves the start of a word after a pause to where the detector hears speech begin, since
// alignment adds much of the pause to the word. Only words that may follow a pause are examined: after a
// gap, or long.
func (r *transcription) startWithSpeech(ctx context.Context, w *window) error {
	const gap, long = 0.2, 0.8 // s
	src, ok := r.src.(sampler)
	if !ok || r.t.opt.Strategy == Upstream {
		return nil
	}
	last := r.lastWord
	for i := range w.segments {
		s := &w.segments[i]
		for k := range s.Words {
			word := &s.Words[k]
			if after := word.Start - last; after > gap || word.End-word.Start > long {
				start, err := r.speechStart(ctx, src, w, *word)
				if err != nil {
					return err
				}
				if word.Start = start; k == 0 {
					s.Start = max(s.Start, start)
				}
			}
			last = word.End
		}
	}
	return nil
}

// speechStart returns the first time within a word at which speech begins, else the start of the word.
func (r *transcription) speechStart(ctx context.Context, src sampler, w *window, word transcript.Word) (float64, error) {
	const tail = 30 // frames after the word, since the detector leaves out short speech
	from := max(w.seek, frameCount(word.Start)-leadIn)
	n := min(frameCount(word.End)+tail, w.seek+w.size) - from
	if n <= 0 {
		return word.Start, nil
	}
	pcm, err := src.Samples(ctx, from, n)
	if err != nil {
		return 0, err
	}
	for _, p := range edgeVAD.Speech(pcm) {
		if at := round2(seconds(from) + float64(p.Start)/audio.SampleRate); word.Start < at && at < word.End {
			return at, nil
		}
	}
	return word.Start, nil
}

// speechIn returns the speech in a stretch of a window, without the edges of the stretch.
func (r *transcription) speechIn(ctx context.Context, src sampler, w *window, s frameSpan) (speech []frameSpan, err error) {
	from := max(w.seek, s.start-leadIn)
	pcm, err := src.Samples(ctx, from, s.end-from)
	if err != nil {
		return nil, err
	}
	for _, p := range gapVAD.Speech(pcm) {
		part := frameSpan{
			max(from+int(p.Start/audio.HopLength), s.start+gapEdge),
			min(from+int(p.End/audio.HopLength), s.end-gapEdge),
		}
		if part.start < part.end {
			speech = append(speech, part)
		}
	}
	return speech, nil
}

// excess returns how many seconds a text lasts longer than at slowBytes a second.
func excess(seconds float64, text string) float64 { return seconds - float64(len(text))/slowBytes }

// endInSpeech fills a window with zeros after its first size frames, as upstream does, if the sound is cut while
// somebody speaks. Silence would say that the sentence has ended, and the model would end it with words of its
// own. The detector hears speech somewhat longer than it lasts, so the end must be loud as well.
func (r *transcription) endInSpeech(ctx context.Context, mel *audio.Mel, w *window) error {
	src, ok := r.src.(sampler)
	if !ok || w.size >= w.frames || r.t.opt.Strategy == Upstream {
		return nil
	}
	from := max(w.seek, w.seek+w.size-audio.FramesPerSecond)
	pcm, err := src.Samples(ctx, from, w.seek+w.size-from)
	if err != nil {
		return err
	}
	const last, least = audio.SampleRate / 20, 0.1
	if !(rms(pcm[max(0, len(pcm)-last):]) > least*rms(pcm)) {
		return nil // most recordings; the detector would take as long as the mel spectrogram
	}
	if parts := endVAD.Speech(pcm); len(parts) > 0 && parts[len(parts)-1].End == int64(len(pcm)) {
		fillFrom(mel, w.size, 0)
	}
	return nil
}

func rms(pcm []float32) float64 {
	sum := 0.0
	for _, v := range pcm {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(pcm)))
}
