package report

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"verity/internal/show"
	"verity/transcript"
)

// mostReplayed is how many utterances a page can replay: the first.
const mostReplayed = 24

// A replayView is the data of the replay of all variants.
type replayView struct {
	Panes  []paneView
	Count  string // empty if there is only one
	Drafts bool   // some text was drafted
	Found  bool   // the text was lost and found again
}

// A paneView is one variant: its utterances in turn.
type paneView struct {
	Name, Class string
	Total       float64 // seconds of decoding
	Passes      int     // of the model
	Lines       []lineView
}

// A lineView is one utterance. The texts of its steps, concatenated, are its text.
type lineView struct {
	ID    string
	Steps []stepView
}

// A stepView is text that appears at once: the tokens chosen in one pass of the model.
type stepView struct {
	Text     string
	Refused  string  // drafted text that the model refused, struck out before Text
	Accepted bool    // Text was drafted
	Found    bool    // the text to draft from was lost before and is found again
	At       float64 // s
	Pass     int     // passes so far, over all utterances
}

// replay returns the replay of all variants side by side, of the utterances for
// which all have text; nil if there is nothing to show.
func (d *Document) replay() *replayView {
	if len(d.sets) < 2 {
		return nil
	}
	v := &replayView{Panes: make([]paneView, len(d.sets))}
	for i, name := range d.names() {
		v.Panes[i].Name = name
	}
	v.Panes[0].Class = "slow"
	seen := 0
	for _, first := range d.sets[0].utterances[:min(len(d.sets[0].utterances), mostReplayed)] {
		scene := d.scene(first)
		if scene == nil {
			continue
		}
		seen++
		for i, r := range scene {
			marked, found := v.Panes[i].play(r)
			v.Drafts, v.Found = v.Drafts || marked, v.Found || found
		}
	}
	for _, p := range v.Panes {
		if p.Total == 0 {
			return nil
		}
	}
	if seen > 1 {
		v.Count = show.Some(seen, "utterance")
	}
	return v
}

// scene returns the records of an utterance in all variants; nil if one has none or no text.
func (d *Document) scene(first utterance) (scene []*Record) {
	for _, s := range d.sets {
		at, ok := s.index[first.ID]
		if !ok || at >= mostReplayed || first.Hypothesis == "" {
			return nil
		}
		scene = append(scene, s.utterances[at].Record)
	}
	return scene
}

// play adds an utterance after the earlier ones, and reports whether it has drafts, and
// some after the text was lost. Its passes are spread evenly over its decoding time.
func (p *paneView) play(r *Record) (marked, found bool) {
	line := lineView{ID: r.ID}
	passes := max(r.Drafting.Rounds, 1)
	for _, s := range r.Segments {
		line.Steps = append(line.Steps, steps(s)...)
	}
	if n := len(line.Steps); n > 0 {
		line.Steps[0].Text = strings.TrimLeft(line.Steps[0].Text, " ")
		line.Steps[n-1].Text = strings.TrimRight(line.Steps[n-1].Text, " ")
	}
	total, seen := 0, 0
	for _, s := range line.Steps {
		total += utf8.RuneCountInString(s.Text)
		marked, found = marked || s.Accepted || s.Refused != "", found || s.Found
	}
	for i := range line.Steps {
		s := &line.Steps[i]
		seen += utf8.RuneCountInString(s.Text)
		if s.Pass == 0 { // nothing was drafted: estimate it from the length of the text
			s.Pass = (seen*passes + total - 1) / max(total, 1)
		}
		s.Pass = min(s.Pass, passes)
		s.At = p.Total + r.Seconds.Decode*(float64(s.Pass)/float64(passes)) // in this order, the last pass ends with Total
		s.Pass += p.Passes
	}
	p.Lines = append(p.Lines, line)
	p.Total += r.Seconds.Decode
	p.Passes += passes
	return marked, found
}

// spacedWords matches words, each with the space before it, and space at the end.
var spacedWords = regexp.MustCompile(` *[^ ]+| +$`)

// steps returns the pieces of a segment; if nothing was drafted, its words, each with the
// space before it.
func steps(s transcript.Segment) (all []stepView) {
	for _, piece := range s.Runs {
		all = append(all, stepView{Text: piece.Text, Refused: piece.Refused,
			Accepted: piece.Accepted, Pass: piece.Round, Found: piece.Resumed})
	}
	if all != nil {
		return all
	}
	for _, word := range spacedWords.FindAllString(s.Text, -1) {
		all = append(all, stepView{Text: word})
	}
	return all
}
