package diarize

import "verity/transcript"

// Label names the speaker of each word of t, which needs word times (transcribe.Options.WordTimestamps), and of each
// segment without words, and adds the turns. Where nobody was found, t stays as it is.
// Transcript.CutAtSpeakers then ends segments where the speaker changes.
func (d *Diarization) Label(t *transcript.Transcript) {
	if len(d.Turns) > 0 {
		t.SetTurns(d.namedTurns())
	}
}

// LabelWords names the speakers of words, whose times are those of the sound. Where nobody was found, they stay as
// they are.
func (d *Diarization) LabelWords(words []transcript.Word) {
	transcript.NameSpeakers(words, d.namedTurns())
}

func (d *Diarization) namedTurns() (turns []transcript.Turn) {
	for _, t := range d.Turns {
		turns = append(turns, transcript.Turn{Start: t.Start, End: t.End, Speaker: d.Names[t.Speaker-1]})
	}
	return turns
}
