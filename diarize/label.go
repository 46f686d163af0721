package diarize

import (
	"math"

	"verity/transcript"
)

// Label names the speaker of each word of t, which needs word times (transcribe.Options.WordTimestamps), and of each
// segment without words, and adds the turns and the speakers' vectors. Where nobody was found, t stays as it is.
// Transcript.CutAtSpeakers then ends segments where the speaker changes.
func (d *Diarization) Label(t *transcript.Transcript) {
	if len(d.Turns) == 0 {
		return
	}
	for i := range t.Segments {
		s := &t.Segments[i]
		s.Speaker = d.speaker(s.Start, s.End)
		d.LabelWords(s.Words)
	}
	for _, turn := range d.Turns {
		t.Turns = append(t.Turns, transcript.Turn{Start: turn.Start, End: turn.End, Speaker: d.Names[turn.Speaker-1]})
	}
	t.Embeddings = map[string][]float32{}
	for i, name := range d.Names {
		t.Embeddings[name] = d.Voices[i]
	}
}

// LabelWords names the speakers of words, whose times are those of the sound. Where nobody was found, they stay as
// they are.
func (d *Diarization) LabelWords(words []transcript.Word) {
	if len(d.Turns) == 0 {
		return
	}
	for i, w := range words {
		words[i].Speaker = d.speaker(w.Start, w.End)
	}
}

// speaker returns the name of the speaker of the turn that overlaps a stretch of time most, or else is nearest.
func (d *Diarization) speaker(start, end float64) string {
	best, nearest := 0, math.Inf(1)
	for i, t := range d.Turns {
		if t.Start-end >= nearest {
			break
		}
		if distance := max(t.Start-end, start-t.End); distance < nearest {
			best, nearest = i, distance
		}
	}
	return d.Names[d.Turns[best].Speaker-1]
}
