package transcribe

import (
	"context"
	"time"

	"verity/audio"
	"verity/diarize"
	"verity/transcript"
)

// speakersShare is the part of a transcription's progress that finding the speakers is.
const speakersShare = 0.25

// transcribeSpeakers finds out who speaks when, transcribes the clip, and names the speaker of each word. Segments
// are reported at the end, when their speakers are known.
func (t *Transcriber) transcribeSpeakers(
	ctx context.Context, clip *audio.Clip, w Callbacks,
) (*transcript.Transcript, error) {
	began := time.Now()
	o := *t.opt.Speakers
	o.Pool = t.model.Pool
	if reports := []func(done, total float64){w.Progress, w.Estimate}; w.Progress != nil || w.Estimate != nil {
		length := clip.HeaderDuration()
		o.Progress = func(share float64) {
			for _, report := range reports {
				if report != nil && length > 0 {
					report(speakersShare*share*length, length)
				}
			}
		}
		w.Progress, w.Estimate = afterSpeakers(w.Progress), afterSpeakers(w.Estimate)
	}
	d, err := diarize.Analyze(ctx, clip, o)
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	t.opt.Log.Info("speakers found", "audio", clip.Name(), "speakers", len(d.Voices), "turns", len(d.Turns),
		"seconds", took)
	plain, report := *t, w.Segment
	plain.opt.Speakers, plain.replacer, w.Segment = nil, nil, nil
	tr, err := plain.Transcribe(ctx, clip, w)
	if tr == nil {
		return nil, err
	}
	d.Label(tr)
	tr.CutAtSpeakers(t.model.Tokenizer)
	t.replacer.Transcript(tr)
	tr.Stats.Seconds.Total += took
	if report != nil {
		for _, s := range tr.Segments {
			report(s)
		}
	}
	return tr, err
}

// afterSpeakers returns a report of progress for the part of the work after the speakers are found; nil for nil.
func afterSpeakers(report func(done, total float64)) func(done, total float64) {
	if report == nil {
		return nil
	}
	return func(done, total float64) { report(speakersShare*total+(1-speakersShare)*done, total) }
}
