package live

import (
	"context"
	"slices"

	"verity/audio"
	"verity/diarize"
	"verity/transcript"
)

// A stretch is a part of an utterance that the tracker has labelled.
type stretch struct {
	from     float64 // s of the stream
	speakers *diarize.Diarization
}

// trackAbove is how many samples are labelled at a time while an utterance lasts: 20 s.
const trackAbove = 20 * audio.SampleRate

// track labels the sound of an utterance, and at its end the words.
func (u *Utterance) track(ctx context.Context, r *Result) error {
	u.words = append(u.words, r.Confirmed...)
	u.mu.Lock()
	pcm := u.voice
	if !r.Last && len(pcm) < trackAbove {
		u.mu.Unlock()
		return nil
	}
	u.voice = nil
	u.mu.Unlock()
	for part := range slices.Chunk(pcm, trackAbove) {
		at := u.Start + u.tracked
		d, err := u.tracker.Add(ctx, part, at)
		if err != nil {
			return err
		}
		u.heard = append(u.heard, stretch{seconds(at), d})
		u.tracked += int64(len(part))
	}
	if r.Last {
		r.Words = label(u.words, u.heard, r.Start)
	}
	return nil
}

// label returns words, whose times begin at start, with the names of their speakers.
func label(words []transcript.Word, heard []stretch, start float64) []transcript.Word {
	words = slices.Clone(words)
	placed := slices.Clone(words) // in the stream
	for i := range placed {
		placed[i].Start += start
		placed[i].End += start
	}
	for at := 0; len(heard) > 0; heard = heard[1:] {
		end := len(placed)
		if len(heard) > 1 {
			for end = at; end < len(placed) && placed[end].Start < heard[1].from; end++ {
			}
		}
		heard[0].speakers.LabelWords(placed[at:end])
		at = end
	}
	for i := range words {
		words[i].Speaker = placed[i].Speaker
	}
	return words
}
