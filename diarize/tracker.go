package diarize

import (
	"context"
	"slices"

	"verity/audio"
	"verity/internal/kernel"
	"verity/transcript"
)

// A Tracker tells speakers apart in sound that is still arriving. Each stretch is labelled when it has ended, by
// the nearest of the voices until then; Finish labels all of it anew, as Clip does. So a label may change at the end:
// early stretches know few voices. Memory grows by 90 kB for a minute of speech and 30 kB for one of silence.
type Tracker struct {
	o       Options
	heard   []cluster // the speakers so far; members only count
	names   []int     // which known voice each is; -1 if none
	whole   Diarization
	act     activity
	vectors []float32
}

// newSpeaker is the average cosine with every voice below which a single window is a new speaker. Two windows or
// more need only be less similar than Options.Similarity.
const newSpeaker = 0.2

// NewTracker returns an *OptionError if o cannot be used.
func NewTracker(o Options) (*Tracker, error) { return &Tracker{o: o}, o.Check() }

// Add labels a stretch of sound, of at most a minute, that begins at a sample of the whole. Stretches must be in order.
// Times in the result are those of the whole.
func (t *Tracker) Add(ctx context.Context, pcm []float32, start int64) (*Diarization, error) {
	clip, o := audio.FromSamples("live sound", pcm), t.o
	ignore := func(int64) {}
	act, err := detect(ctx, clip, o, ignore)
	if err != nil {
		return nil, err
	}
	if err := clip.Rewind(); err != nil {
		return nil, err
	}
	d := &Diarization{windows: act.windows()}
	vectors, err := d.embed(ctx, clip, o, ignore)
	if err != nil {
		return nil, err
	}
	if len(d.windows) > 0 {
		t.assign(vectors)
	}
	for i, c := range t.heard {
		d.Voices = append(d.Voices, slices.Clone(c.sum))
		normalise(d.Voices[i])
		name := ""
		if k := t.names[i]; k >= 0 {
			name = o.Known[k].Name
		}
		d.Names = append(d.Names, name)
	}
	d.Names = numbered(d.Names)
	d.vote(vectors)
	for i := range d.windows {
		d.windows[i].start += int(start / fbankHop)
		d.windows[i].end += int(start / fbankHop)
	}
	t.append(d.windows, vectors, act, start)
	return d, nil
}

// assign gives each cluster of the vectors of a stretch to the speaker with the most similar vectors, or to a new one.
func (t *Tracker) assign(vectors []float32) {
	_, most := t.o.bounds()
	clusters := groups(t.o.Pool, vectors, t.o.similarity(), 1, most, 1)
	for _, members := range clusters {
		slices.Sort(members)
	}
	slices.SortFunc(clusters, func(a, b []int) int { return a[0] - b[0] })
	for _, members := range clusters {
		sum := make([]float32, voiceSize)
		for _, i := range members {
			kernel.Add(sum, vectors[i*voiceSize:][:voiceSize])
		}
		best, similarity := -1, float32(-2)
		for s, c := range t.heard {
			if v := cosine(sum, c.sum) / float32(len(members)*len(c.members)); v > similarity {
				best, similarity = s, v
			}
		}
		least := t.o.similarity()
		if len(members) == 1 {
			least = min(least, newSpeaker)
		}
		if best < 0 || float64(similarity) < least && len(t.heard) < most {
			t.heard, t.names = append(t.heard, cluster{members, sum}), append(t.names, t.known(sum))
			continue
		}
		c := &t.heard[best]
		kernel.Add(c.sum, sum)
		c.members = append(c.members, members...)
	}
}

// known returns which known voice a new speaker is: the most similar that no other speaker is, -1 if none.
func (t *Tracker) known(sum []float32) (best int) {
	v, similarity := slices.Clone(sum), float32(knownSimilarity)
	normalise(v)
	best = -1
	for k, known := range t.o.Known {
		if c := cosine(v, known.Vector); c >= similarity && !slices.Contains(t.names, k) {
			best, similarity = k, c
		}
	}
	return best
}

// append keeps what Finish needs of a stretch.
func (t *Tracker) append(windows []window, vectors []float32, act *activity, start int64) {
	t.whole.windows, t.vectors = append(t.whole.windows, windows...), append(t.vectors, vectors...)
	first := int(start / frameStep)
	for len(t.act.speech) < first+len(act.speech) {
		t.act.speech, t.act.overlap = append(t.act.speech, 0), append(t.act.overlap, 0)
	}
	copy(t.act.speech[first:], act.speech)
	copy(t.act.overlap[first:], act.overlap)
	t.act.samples = max(t.act.samples, start+act.samples)
}

// Finish returns who speaks in all of the sound.
func (t *Tracker) Finish() *Diarization {
	d := &Diarization{windows: slices.Clone(t.whole.windows)}
	d.identify(t.vectors, t.o)
	d.Turns = d.turns(&t.act)
	return d
}

// LabelWords names the speakers of words, whose times are those of the sound. Where nobody was found, they stay as
// they are.
func (d *Diarization) LabelWords(words []transcript.Word) {
	if len(d.Voices) == 0 || len(words) == 0 {
		return
	}
	for i, s := range d.path(words) {
		words[i].Speaker = d.Names[s-1]
	}
}
