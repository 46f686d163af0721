package transcribe

import (
	"context"
	"math"
	"slices"

	"verity/audio"
	"verity/audio/vad"
	"verity/transcript"
)

// endWithSound moves times that lie after limit, the end of a window's sound, since a model may write
// timestamps there. begin is the start of the window. Segments that begin after limit share the time of the
// last one that begins before it, by the lengths of their texts. Both are in seconds.
func endWithSound(segments []transcript.Segment, begin, limit float64) {
	if !slices.ContainsFunc(segments, func(s transcript.Segment) bool { return s.End > limit }) {
		return
	}
	late := len(segments)
	for late > 0 && segments[late-1].Start >= limit {
		late--
	}
	if shared := segments[max(0, late-1):]; late < len(segments) && len(shared) > 0 {
		at, size := min(max(begin, shared[0].Start), limit), 0
		if late == 0 {
			at = begin
		}
		for _, s := range shared {
			size += max(1, len(s.Text))
		}
		share := (limit - at) / float64(size)
		for i := range shared {
			s := &shared[i]
			s.Start = at
			at += share * float64(max(1, len(s.Text)))
			s.End = at
		}
	}
	for i := range segments {
		s := &segments[i]
		s.End = min(s.End, limit)
		for k := range s.Words {
			w := &s.Words[k]
			w.End = min(w.End, limit)
			w.Start = min(w.Start, w.End)
		}
	}
}

// startWithSpeech moves the start of a word after a pause to where the detector hears speech begin, since
// alignment adds much of the pause to the word. Only words that may follow a pause are examined: after a
// gap, or long.
func (r *transcription) startWithSpeech(ctx context.Context, segments []transcript.Segment, size int) error {
	const gap, long = 0.2, 0.8 // s
	src, ok := r.src.(sampler)
	if !ok || r.t.opt.Strategy == Upstream {
		return nil
	}
	last := r.lastWord
	for i := range segments {
		s := &segments[i]
		for k := range s.Words {
			w := &s.Words[k]
			if after := w.Start - last; after > gap || w.End-w.Start > long {
				start, err := r.speechStart(ctx, src, *w, size)
				if err != nil {
					return err
				}
				if w.Start = start; k == 0 {
					s.Start = max(s.Start, start)
				}
			}
			last = w.End
		}
	}
	return nil
}

// speechStart returns the first time within a word at which speech begins, else the start of the word.
func (r *transcription) speechStart(ctx context.Context, src sampler, w transcript.Word, size int) (float64, error) {
	const tail = 30 // frames after the word, since the detector leaves out short speech
	from := max(r.cursor.seek, frameCount(w.Start)-leadIn)
	n := min(frameCount(w.End)+tail, r.cursor.seek+size) - from
	if n <= 0 {
		return w.Start, nil
	}
	pcm, err := src.Samples(ctx, from, n)
	if err != nil {
		return 0, err
	}
	for _, p := range edgeVAD.Speech(pcm) {
		if at := round2(seconds(from) + float64(p.Start)/audio.SampleRate); w.Start < at && at < w.End {
			return at, nil
		}
	}
	return w.Start, nil
}

// edgeVAD is what counts as speech after a pause. The detector hears it about two steps of 32 ms late.
var edgeVAD = vad.Options{MinSpeechDurationMS: 250, MinSilenceDurationMS: 200, SpeechPadMS: 60}

// endInSpeech fills a window with zeros after its first size frames, as upstream does, if the sound is cut while
// somebody speaks. Silence would say that the sentence has ended, and the model would end it with words of its
// own. The detector hears speech somewhat longer than it lasts, so the end must be loud as well.
func (r *transcription) endInSpeech(ctx context.Context, mel *audio.Mel, seek, size int) error {
	src, ok := r.src.(sampler)
	if !ok || size >= r.frames || r.t.opt.Strategy == Upstream {
		return nil
	}
	from := max(seek, seek+size-audio.FramesPerSecond)
	pcm, err := src.Samples(ctx, from, seek+size-from)
	if err != nil {
		return err
	}
	const last, least = audio.SampleRate / 20, 0.1
	if !(rms(pcm[max(0, len(pcm)-last):]) > least*rms(pcm)) {
		return nil // most recordings; the detector would take as long as the mel spectrogram
	}
	if parts := endVAD.Speech(pcm); len(parts) > 0 && parts[len(parts)-1].End == int64(len(pcm)) {
		fillFrom(mel, size, 0)
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

// endVAD is what counts as speech at the end of a window.
var endVAD = vad.Options{MinSilenceDurationMS: 60, SpeechPadMS: -1}
