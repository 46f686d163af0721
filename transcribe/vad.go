package transcribe

import (
	"context"
	"math"
	"slices"
	"time"

	"verity/audio"
	"verity/audio/vad"
	"verity/transcript"
)

// transcribeSpeech transcribes the parts of a clip that hold speech as if they followed each
// other, and maps all times back to the clip.
func (t *Transcriber) transcribeSpeech(
	ctx context.Context, clip *audio.Clip, w Callbacks,
) (*transcript.Transcript, error) {
	began := time.Now()
	parts, length, err := vad.Detect(ctx, clip, *t.opt.VAD)
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	if err := clip.Rewind(); err != nil {
		return nil, err
	}
	seconds, speech := float64(length)/audio.SampleRate, 0.0
	for _, p := range parts {
		speech += float64(p.End-p.Start) / audio.SampleRate
	}
	t.opt.Log.Info("speech found", "audio", clip.Name(), "parts", len(parts),
		"speech_seconds", speech, "seconds", seconds)

	m := timeMap{parts}
	tr := &transcript.Transcript{Name: clip.Name(), Segments: []transcript.Segment{}}
	if t.language != nil {
		tr.Language = t.language.Code
	}
	if len(parts) > 0 {
		tr, err = t.withDraft(packTimes(t.draftCues, parts)).transcribeWithDraft(ctx, clip.Parts(parts), m.watch(w, seconds))
		if tr == nil {
			return nil, err
		}
		for i := range tr.Segments {
			tr.Segments[i] = m.segment(tr.Segments[i])
		}
		for i, g := range tr.Gaps {
			tr.Gaps[i] = transcript.Gap{Start: m.time(g.Start, false), End: m.time(g.End, true)}
		}
	}
	tr.Duration = seconds
	tr.Stats.Seconds.Mel += took
	tr.Stats.Seconds.Total += took
	return tr, err
}

// A timeMap maps times in the joined parts to times in the clip, to the sample.
type timeMap struct{ parts []audio.Part }

func (m timeMap) time(seconds float64, end bool) float64 {
	sample := int64(math.Round(seconds * audio.SampleRate))
	return float64(audio.Original(m.parts, sample, end)) / audio.SampleRate
}

// segment returns s with the times of the clip. Skipped silence inside a segment is part of it.
func (m timeMap) segment(s transcript.Segment) transcript.Segment {
	s.Start, s.End = m.time(s.Start, false), m.time(s.End, true)
	s.Words = slices.Clone(s.Words) // the segment of the joined parts is unchanged
	for i := range s.Words {
		w := &s.Words[i]
		w.Start, w.End = m.time(w.Start, false), m.time(w.End, true)
	}
	s.Seek = int(audio.Original(m.parts, int64(s.Seek)*audio.HopLength, false) / audio.HopLength)
	return s
}

func (m timeMap) watch(w Callbacks, total float64) Callbacks {
	if segment := w.Segment; segment != nil {
		w.Segment = func(s transcript.Segment) { segment(m.segment(s)) }
	}
	if begin := w.Begin; begin != nil {
		w.Begin = func(language string, probability, _ float64) { begin(language, probability, total) }
	}
	w.Progress, w.Estimate = m.progress(w.Progress, total), m.progress(w.Estimate, total)
	return w
}

// progress wraps a callback so that it receives times of the clip.
func (m timeMap) progress(report func(done, total float64), total float64) func(done, total float64) {
	if report == nil {
		return nil
	}
	return func(done, all float64) {
		if done >= all {
			report(total, total)
			return
		}
		report(min(m.time(done, false), total), total)
	}
}
