package diarize

import (
	"math"
	"strings"
	"unicode"

	"verity/tokenizer"
	"verity/transcript"
)

// Costs of a change of speaker between two words, in the unit of votes' logarithms: what
// it costs inside a phrase, after a mark or a pause, and after the end of a sentence.
const (
	switchCost    = 3.0
	clauseCost    = 1.0
	sentenceCost  = 0.3
	longPause     = 0.3 // s
	pauseCost     = 0.5 // after a pause that long
	leastVote     = 0.01
	sentenceMarks = ".?!。？！"
	clauseMarks   = ",;:，；：、—-"
)

// Label names the speaker of each word of t, which needs word times (transcribe.Options.WordTimestamps), and of each
// segment without words, and adds the turns and the speakers' vectors. Where nobody was found, t stays as it is.
// Transcript.CutAtSpeakers then ends segments where the speaker changes.
//
// A word's votes are those of the windows around it. The sequence of speakers is the most likely one
// (Viterbi's), where a change has a cost, which is small where a sentence, a clause or a pause ends.
func (d *Diarization) Label(t *transcript.Transcript) {
	if len(d.Voices) == 0 {
		return
	}
	var words []transcript.Word
	for _, s := range t.Segments {
		if len(s.Words) == 0 {
			words = append(words, transcript.Word{Word: s.Text, Start: s.Start, End: s.End})
		}
		words = append(words, s.Words...)
	}
	speakers := d.path(words)
	for i := range t.Segments {
		s := &t.Segments[i]
		s.Speaker = d.Names[speakers[0]-1]
		for j := range s.Words {
			s.Words[j].Speaker = d.Names[speakers[j]-1]
		}
		speakers = speakers[max(1, len(s.Words)):]
	}
	for _, turn := range d.Turns {
		t.Turns = append(t.Turns, transcript.Turn{Start: turn.Start, End: turn.End, Speaker: d.Names[turn.Speaker-1]})
	}
	t.Embeddings = map[string][]float32{}
	for i, name := range d.Names {
		t.Embeddings[name] = d.Voices[i]
	}
}

// path returns the most likely speaker of each word, from 1.
func (d *Diarization) path(words []transcript.Word) []int {
	n := len(d.Voices)
	cost, next := make([]float64, n), make([]float64, n)
	from := make([]int, len(words)*n)
	votes, first, last := make([]float32, n), 0, 0
	for i, w := range words {
		start, end := int(100*w.Start), max(int(100*w.End), int(100*w.Start)+1)
		if start < last { // words are almost always in order
			first = 0
		}
		last = start
		clear(votes)
		first = d.votesAt(votes, start, end, first)
		total := float32(0)
		for _, v := range votes {
			total += v
		}
		change := 0.0
		if i > 0 {
			change = changeCost(words[i-1], w)
		}
		best := 0
		for s := range cost {
			if cost[s] < cost[best] {
				best = s
			}
		}
		for s := range next {
			next[s], from[i*n+s] = cost[s], s
			if moved := cost[best] + change; moved < next[s] {
				next[s], from[i*n+s] = moved, best
			}
			share := float64(1) / float64(n)
			if total > 0 {
				share = float64(votes[s] / total)
			}
			next[s] -= math.Log(max(share, leastVote))
		}
		cost, next = next, cost
	}
	speakers, at := make([]int, len(words)), 0
	for s := range cost {
		if cost[s] < cost[at] {
			at = s
		}
	}
	for i := len(words) - 1; i >= 0; i-- {
		speakers[i] = at + 1
		at = from[i*n+at]
	}
	return speakers
}

// changeCost returns the cost of a change of speaker between two words.
func changeCost(before, after transcript.Word) float64 {
	cost := switchCost
	if text := strings.TrimRightFunc(tokenizer.Strip(before.Word), func(r rune) bool {
		return unicode.In(r, unicode.Pe, unicode.Pf) || r == '"' || r == '\''
	}); text != "" {
		runes := []rune(text)
		switch end := runes[len(runes)-1]; {
		case strings.ContainsRune(sentenceMarks, end):
			cost = sentenceCost
		case strings.ContainsRune(clauseMarks, end):
			cost = clauseCost
		}
	}
	if after.Start-before.End >= longPause {
		cost = min(cost, pauseCost)
	}
	return cost
}
