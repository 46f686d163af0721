package transcribe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"verity/audio"
	"verity/diarize"
	"verity/transcript"
)

// SpeakersShare is the part of a transcription's progress that finding the speakers is: the last.
const SpeakersShare = 0.25

// addSpeakers names the speaker of each word of a transcript of the clip, unless that failed with err, and cuts the
// segments where the speaker changes. Only then are they reported.
func (t *Transcriber) addSpeakers(
	ctx context.Context, clip *audio.Clip, tr *transcript.Transcript, err error, w Callbacks,
) error {
	if err == nil {
		err = t.nameSpeakers(ctx, clip, tr, w)
	}
	t.replacer.Transcript(tr)
	tr.SetTurnTexts()
	if err == nil && w.Segment != nil {
		for _, s := range tr.Segments {
			w.Segment(s)
		}
	}
	return err
}

// nameSpeakers names the speakers of a transcript of the clip. Without words it has none: music can sound like speech.
func (t *Transcriber) nameSpeakers(ctx context.Context, clip *audio.Clip, tr *transcript.Transcript, w Callbacks) error {
	began, o := time.Now(), *t.opt.Speakers
	o.Pool = t.model.Pool
	o.Progress = func(share float64) {
		for _, report := range []func(done, total float64){w.Progress, w.Estimate} {
			if report != nil {
				report((1-SpeakersShare+SpeakersShare*share)*tr.Duration, tr.Duration)
			}
		}
	}
	if strings.TrimSpace(tr.Text) == "" {
		o.Progress(1)
		return nil
	}
	if err := clip.Rewind(); err != nil {
		return err
	}
	d, err := diarize.Analyze(ctx, clip, o)
	if err != nil {
		return err
	}
	switch n, want := len(d.Voices), max(o.Speakers, o.Min); {
	case n < want:
		t.opt.Log.Warn(fmt.Sprintf("only %d of %d speakers found", n, want), "audio", clip.Name())
	case d.Divided:
		t.opt.Log.Warn(fmt.Sprintf("one voice was divided to make %d speakers; leave the number open if you do not know it", want),
			"audio", clip.Name())
	}
	took := time.Since(began).Seconds()
	t.opt.Log.Info("speakers found", "audio", clip.Name(), "speakers", len(d.Voices), "turns", len(d.Turns),
		"seconds", took)
	d.Label(tr)
	tr.CutAtSpeakers(t.model.Tokenizer)
	tr.Stats.Seconds.Total += took
	return nil
}

// beforeSpeakers returns the callbacks of the work before the speakers are looked for.
func (t *Transcriber) beforeSpeakers(w Callbacks) Callbacks {
	scaled := func(report func(done, total float64)) func(done, total float64) {
		if report == nil {
			return nil
		}
		return func(done, total float64) { report((1-SpeakersShare)*done, total) }
	}
	text := Callbacks{Begin: w.Begin, Languages: w.Languages, Progress: scaled(w.Progress), Estimate: scaled(w.Estimate)}
	if w.Early != nil {
		text.Segment = func(s transcript.Segment) { w.Early(t.replacer.Segment(s)) }
	}
	return text
}
