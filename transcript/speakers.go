package transcript

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"verity/tokenizer"
)

// MergeSpeakers returns one transcript of speakers who were recorded on a channel each: all segments in order
// of their starts, with the speakers' names. There must be at least one part, and a name for each.
func MergeSpeakers(names []string, parts []*Transcript) *Transcript {
	all := *parts[max(0, slices.IndexFunc(parts, func(t *Transcript) bool { return t.Language != "" }))]
	all.Text, all.Segments, all.Gaps, all.Stats, all.ChoiceHashes = "", nil, nil, Stats{}, ChoiceHashes{}
	for i, t := range parts {
		for _, s := range t.Segments {
			s.Speaker = names[i]
			all.Segments = append(all.Segments, s)
		}
		all.Gaps = append(all.Gaps, t.Gaps...)
		all.Stats.Add(t.Stats)
	}
	slices.SortStableFunc(all.Segments, func(a, b Segment) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortFunc(all.Gaps, func(a, b Gap) int { return cmp.Compare(a.Start, b.Start) })
	for i := range all.Segments {
		all.Segments[i].ID = i
		all.Text += all.Segments[i].Text
	}
	return &all
}

func (t *Transcript) hasSpeakers() bool {
	return slices.ContainsFunc(t.Segments, func(s Segment) bool { return s.Speaker != "" })
}

// Line returns s as one line of text. The name of its speaker comes first, unless he spoke before; with times, both times
// and the name always do. It is empty if s has no text.
func (s Segment) Line(before string, times bool) string {
	text := inOneLine(s.TrimmedText())
	if text != "" && s.Speaker != "" && (times || s.Speaker != before) {
		text = inOneLine(s.Speaker) + ": " + text
	}
	if text != "" && times {
		text = fmt.Sprintf("[%s --> %s] %s", formatTime(s.Start, false, "."), formatTime(s.End, false, "."), text)
	}
	return text
}

// SetTurns sets the turns, sorted by start, and names the speaker of each word, and of segments without words. If there
// are no turns, names stay as they are.
func (t *Transcript) SetTurns(turns []Turn) {
	t.Turns = turns
	for i := range t.Segments {
		s := &t.Segments[i]
		if k := nearestTurn(turns, "", s.Start, s.End); k >= 0 {
			s.Speaker = turns[k].Speaker
		}
		NameSpeakers(s.Words, turns)
	}
}

// NameSpeakers gives words the speakers of turns, sorted by start. If there are no turns, words stay as they are.
func NameSpeakers(words []Word, turns []Turn) {
	for i := range words {
		w := &words[i]
		if k := nearestTurn(turns, "", w.Start, w.End); k >= 0 {
			w.Speaker = turns[k].Speaker
		}
	}
}

// nearestTurn returns which turn of a speaker, or of anybody for "", overlaps a stretch of time most, or else is nearest;
// -1 if there is none. Of several that hold all of it, it is the one whose ends are farther away.
func nearestTurn(turns []Turn, speaker string, start, end float64) int {
	best, nearest, farthest := -1, math.Inf(1), 0.0
	for i, t := range turns {
		if t.Start-end >= nearest {
			break
		}
		distance := max(start, t.Start) - min(end, t.End) // minus the overlap, if there is one
		ends := min(end-t.Start, t.End-start)
		if (speaker == "" || t.Speaker == speaker) && (distance < nearest || distance == nearest && ends > farthest) {
			best, nearest, farthest = i, distance, ends
		}
	}
	return best
}

// SetTurnTexts sets the text of each turn: the words of its speaker that are in it, or nearest to it.
func (t *Transcript) SetTurnTexts() {
	for i := range t.Turns {
		t.Turns[i].Text = ""
	}
	for _, s := range t.Segments {
		for _, w := range s.Words {
			if k := nearestTurn(t.Turns, w.Speaker, w.Start, w.End); w.Speaker != "" && k >= 0 {
				t.Turns[k].Text += w.Word
			}
		}
	}
}

// CutAtSpeakers ends segments where the speaker of the words changes, and sets Segment.Speaker to that of the
// words. IDs are given anew. A token belongs to the segment in which the text that it completes begins.
func (t *Transcript) CutAtSpeakers(tok *tokenizer.Tokenizer) {
	var all []Segment
	for _, s := range t.Segments {
		for len(s.Words) > 0 {
			n := slices.IndexFunc(s.Words, func(w Word) bool { return w.Speaker != s.Words[0].Speaker })
			s.Speaker = s.Words[0].Speaker
			if n < 0 {
				break
			}
			head, rest := s.cut(tok, n)
			head.ID = len(all)
			all, s = append(all, head), rest
		}
		s.ID = len(all)
		all = append(all, s)
	}
	t.Segments = all
}

// cut divides a segment before word n.
func (s Segment) cut(tok *tokenizer.Tokenizer, n int) (head, rest Segment) {
	head, rest = s, s
	head.Words, rest.Words = s.Words[:n:n], s.Words[n:]
	head.Text, rest.Text = JoinWords(head.Words), JoinWords(rest.Words)
	head.End, rest.Start = head.Words[n-1].End, rest.Words[0].Start
	at, bytes := 0, 0
	for ; at < len(s.Tokens) && bytes < len(head.Text); at++ {
		if tok.IsText(s.Tokens[at]) {
			bytes += len(tok.Bytes(s.Tokens[at]))
		}
	}
	head.Tokens, rest.Tokens = s.Tokens[:at:at], s.Tokens[at:]
	head.LogProbs, rest.LogProbs = divide(s.LogProbs, at)
	head.Origins, rest.Origins = divide(s.Origins, at)
	head.Runs, rest.Runs = nil, nil
	return head, rest
}

// divide cuts x at an index; a list that is shorter stays whole.
func divide[T any](x []T, at int) (head, rest []T) {
	at = min(at, len(x))
	return x[:at:at], x[at:]
}

func roundedTurns(turns []Turn) []Turn {
	turns = slices.Clone(turns)
	for i, t := range turns {
		turns[i].Start, turns[i].End = RoundTime(t.Start), RoundTime(t.End)
	}
	return turns
}

// speakerTurns returns the turns, or if there are none those that the segments make, which have speakers.
func (t *Transcript) speakerTurns() []Turn {
	if len(t.Turns) > 0 {
		return t.Turns
	}
	var turns []Turn
	for _, s := range t.Segments {
		n := len(turns)
		switch {
		case s.Speaker == "":
		case n > 0 && turns[n-1].Speaker == s.Speaker && s.Start <= turns[n-1].End:
			turns[n-1].End = max(turns[n-1].End, s.End)
		default:
			turns = append(turns, Turn{Start: s.Start, End: s.End, Speaker: s.Speaker})
		}
	}
	return turns
}

// writeRTTM writes a line for each turn. The file is named as the clip without directory and extension; white space
// in names becomes an underscore.
func writeRTTM(b io.Writer, t *Transcript) {
	name := oneField(t.title())
	for _, turn := range t.speakerTurns() {
		fmt.Fprintf(b, "SPEAKER %s 1 %.3f %.3f <NA> <NA> %s <NA> <NA>\n", name, turn.Start, turn.End-turn.Start,
			oneField(turn.Speaker))
	}
}

// oneField returns text without white space, and not empty.
func oneField(text string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, text), "<NA>")
}
