package diarize

import (
	"context"
	"slices"

	"verity/audio"
)

// A Tracker identifies speakers in sound that is still arriving. Each stretch is labelled when it has ended, by
// the nearest of the voices until then; Finish labels all of it anew, as Clip does. So a label may change at the end:
// early stretches know few voices. Memory grows by 160 kB for a minute of speech and 30 kB for one of silence.
type Tracker struct {
	o        Options
	speakers []cluster // so far; members only count
	names    []string  // of the known voice that each is; "" if none
	whole    Diarization
	activity activity
	vectors  []float32
}

// NewTracker returns an *option.Error if o cannot be used. Progress has no effect.
func NewTracker(o Options) (*Tracker, error) {
	o.Progress = nil
	return &Tracker{o: o}, o.Check()
}

// Add labels a stretch of sound, of at most a minute, that begins at a sample of the whole. Stretches must be in order.
// Times in the result are those of the whole.
func (t *Tracker) Add(ctx context.Context, pcm []float32, start int64) (*Diarization, error) {
	d := &Diarization{}
	activity, vectors, err := d.scan(ctx, audio.FromSamples("live sound", pcm), t.o)
	if err != nil {
		return nil, err
	}
	if len(d.windows) > 0 {
		t.assign(vectors)
	}
	for _, s := range t.speakers {
		d.Voices = append(d.Voices, s.voice())
	}
	d.Names = numbered(t.names)
	d.vote(vectors)
	d.Turns = d.turns(activity)
	t.append(d, vectors, activity, start)
	return d, nil
}

// assign adds each cluster of the vectors of a stretch to the speaker that is most like it, or to a new one.
func (t *Tracker) assign(vectors []float32) {
	_, most := t.o.bounds()
	clusters, _ := groups(t.o.Pool, vectors, 1, most, 1)
	n := (len(t.vectors) + len(vectors)) / voiceSize
	for _, c := range clusters {
		best, nearest := -1, float32(0)
		for i, s := range t.speakers {
			if v := margin(c, s, n); best < 0 || v > nearest {
				best, nearest = i, v
			}
		}
		if best < 0 || nearest < 0 && len(t.speakers) < most {
			t.speakers, t.names = append(t.speakers, c), append(t.names, t.known(c.voice()))
			continue
		}
		t.speakers[best] = join(t.speakers[best], c)
	}
}

// known returns the name of the known voice that is most similar to a new speaker and that no other has; "" if none.
func (t *Tracker) known(v []float32) (name string) {
	similarity := float32(knownSimilarity)
	for _, k := range t.o.Known {
		if c := cosine(v, k.Vector); c >= similarity && !slices.Contains(t.names, k.Name) {
			name, similarity = k.Name, c
		}
	}
	return name
}

// append adds what Finish needs of a stretch, and makes its times those of the whole.
func (t *Tracker) append(d *Diarization, vectors []float32, a *activity, start int64) {
	for i := range d.windows {
		d.windows[i].start += int(start / fbankHop)
		d.windows[i].end += int(start / fbankHop)
	}
	for i := range d.Turns {
		d.Turns[i].Start += float64(start) / audio.SampleRate
		d.Turns[i].End += float64(start) / audio.SampleRate
	}
	t.whole.windows, t.vectors = append(t.whole.windows, d.windows...), append(t.vectors, vectors...)
	first := int(start / frameStep)
	for len(t.activity.speech) < first+len(a.speech) {
		t.activity.speech, t.activity.overlap = append(t.activity.speech, 0), append(t.activity.overlap, 0)
	}
	copy(t.activity.speech[first:], a.speech)
	copy(t.activity.overlap[first:], a.overlap)
	t.activity.samples = max(t.activity.samples, start+a.samples)
}

// Finish returns who speaks in all of the sound.
func (t *Tracker) Finish() *Diarization {
	d := &Diarization{windows: slices.Clone(t.whole.windows)}
	d.identify(t.vectors, t.o)
	d.Turns = d.turns(&t.activity)
	return d
}
