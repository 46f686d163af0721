package diarize

import (
	"context"
	"fmt"
	"slices"

	"verity/audio"
	"verity/internal/option"
	"verity/parallel"
)

// A Voice is a speaker whose voice is known before a clip is analyzed: Options.Known.
type Voice struct {
	Name   string
	Vector []float32 // unit vector of 192 numbers, as in Diarization.Voices
}

const (
	knownSimilarity = 0.55 // least cosine of a speaker and the known voice that names it
	sampleLeast     = 1.0  // s of speech in a sample
)

// A SampleError says why the sample of a voice cannot be used.
type SampleError struct {
	Name    string // of the voice
	Problem string
}

func (e *SampleError) Error() string {
	return fmt.Sprintf("diarize: sample of the voice of %q: %s", e.Name, e.Problem)
}

// NewVoice returns the voice of the one speaker in a clip; 2 to 30 s of speech are best. It reads the clip to its
// end twice and leaves it rewound. p may be nil. Errors are those of the clip and the context, and a *SampleError
// where less than a second of speech is heard or more than one speaker.
func NewVoice(ctx context.Context, name string, clip *audio.Clip, p *parallel.Pool) (Voice, error) {
	d, err := Analyze(ctx, clip, Options{Pool: p})
	if err != nil {
		return Voice{}, err
	}
	speech := 0.0
	for _, t := range d.Turns {
		speech += t.End - t.Start
	}
	switch {
	case len(d.Voices) == 0:
		return Voice{}, &SampleError{name, "no speech is heard; want a few seconds of one speaker"}
	case len(d.Voices) > 1:
		return Voice{}, &SampleError{name, fmt.Sprintf("%d speakers are heard, want one", len(d.Voices))}
	case speech < sampleLeast:
		return Voice{}, &SampleError{name, fmt.Sprintf("got %.1f s of speech, want at least %.0f s", speech, sampleLeast)}
	}
	return Voice{name, d.Voices[0]}, nil
}

// checkKnown returns an *option.Error for the first of the known voices that cannot be used.
func (o Options) checkKnown() error {
	for i, v := range o.Known {
		problem := ""
		switch {
		case v.Name == "":
			problem = "a voice has no name"
		case slices.ContainsFunc(o.Known[:i], func(w Voice) bool { return w.Name == v.Name }):
			problem = fmt.Sprintf("the name %q is used twice", v.Name)
		case len(v.Vector) != voiceSize:
			problem = fmt.Sprintf("voice %q: got %d numbers, want %d", v.Name, len(v.Vector), voiceSize)
		default:
			if length := cosine(v.Vector, v.Vector); !(length > 0.99 && length < 1.01) {
				problem = fmt.Sprintf("voice %q: want a vector of length 1", v.Name)
			}
		}
		if problem != "" {
			return option.New("Known", nil, problem)
		}
	}
	return nil
}

// nameVoices returns the name of the known voice that each of the clusters has, "" if none. The most similar are paired
// first. Two clusters of one known voice become one, unless fewer than least are then left.
func nameVoices(clusters []cluster, known []Voice, least int) (joined []cluster, names []string) {
	names = make([]string, len(clusters))
	left := len(clusters)
	for range clusters {
		best, at, name := float32(knownSimilarity), -1, ""
		for i, c := range clusters {
			if names[i] != "" || c.members == nil {
				continue
			}
			v := c.voice()
			for _, k := range known {
				if c := cosine(v, k.Vector); c >= best && (left > least || !slices.Contains(names, k.Name)) {
					best, at, name = c, i, k.Name
				}
			}
		}
		if at < 0 {
			break
		}
		if first := slices.Index(names, name); first >= 0 {
			clusters[first] = join(clusters[first], clusters[at])
			clusters[at].members = nil
			left--
		} else {
			names[at] = name
		}
	}
	for i, c := range clusters {
		if c.members != nil {
			joined = append(joined, c)
			names[len(joined)-1] = names[i]
		}
	}
	return joined, names[:len(joined)]
}
