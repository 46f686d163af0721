package transcript

import (
	"cmp"
	"slices"
)

// MergeSpeakers returns one transcript of speakers who were recorded on a channel each: all segments in order
// of their starts, with the speakers' names. There must be at least one part, and a name for each.
func MergeSpeakers(names []string, parts []*Transcript) *Transcript {
	all := *parts[max(0, slices.IndexFunc(parts, func(t *Transcript) bool { return t.Language != "" }))]
	all.Text, all.Segments, all.Stats, all.ChoiceHashes = "", nil, Stats{}, ChoiceHashes{}
	for i, t := range parts {
		for _, s := range t.Segments {
			s.Speaker = names[i]
			all.Segments = append(all.Segments, s)
		}
		all.Stats.Add(t.Stats)
	}
	slices.SortStableFunc(all.Segments, func(a, b Segment) int { return cmp.Compare(a.Start, b.Start) })
	for i := range all.Segments {
		all.Segments[i].ID = i
		all.Text += all.Segments[i].Text
	}
	return &all
}

func (t *Transcript) hasSpeakers() bool {
	return slices.ContainsFunc(t.Segments, func(s Segment) bool { return s.Speaker != "" })
}

// WithSpeakerNames returns t with the name of the speaker before the text wherever the speaker
// changes; t itself if no speaker is known.
func (t *Transcript) WithSpeakerNames() *Transcript {
	if !t.hasSpeakers() {
		return t
	}
	named := *t
	named.Segments = slices.Clone(t.Segments)
	last := ""
	for i := range named.Segments {
		s := &named.Segments[i]
		if s.Speaker == last {
			continue
		}
		last = s.Speaker
		name := " " + last + ":"
		s.Text = name + s.Text
		if len(s.Words) > 0 {
			s.Words = slices.Clone(s.Words)
			s.Words[0].Word = name + s.Words[0].Word
		}
	}
	return &named
}
