package report

import (
	"strings"

	"verity/internal/show"
)

// replayed is how many utterances a page can replay; it is even.
const replayed = 24

// A Scene is one utterance of both arms, as the replay shows it.
type Scene struct {
	ID       string
	Baseline *Record
	Assisted *Record
}

// Scenes returns some utterances from all over, that both arms have text for.
func (p *Pairs) Scenes() []Scene {
	other := map[string]*Record{}
	for _, r := range p.Assisted.some {
		other[r.ID] = r
	}
	var scenes []Scene
	for _, r := range p.Baseline.some {
		if o := other[r.ID]; o != nil && r.Hypothesis != "" {
			scenes = append(scenes, Scene{r.ID, r, o})
		}
	}
	return scenes
}

// A replayView is the replay of both arms.
type replayView struct {
	Panes  []paneView
	Count  string // empty for one
	Marked bool
}

// A paneView is one arm: its utterances one after the other, as lines of words.
type paneView struct {
	Name, Class string
	Total       float64
	Lines       [][]wordView
}

// A wordView is a word and when it is there, in seconds.
type wordView struct {
	Text     string
	At       float64
	Accepted bool
}

// replayOf returns the replay of a comparison, nil if there is nothing to show.
func replayOf(c *Comparison) *replayView {
	if len(c.scenes) == 0 {
		return nil
	}
	a, b := paneView{Name: "Baseline", Class: "slow"}, paneView{Name: "Assisted"}
	for _, s := range c.scenes {
		a.play(s.Baseline)
		b.play(s.Assisted)
	}
	v := &replayView{Panes: []paneView{a, b}}
	if n := len(c.scenes); n > 1 {
		v.Count = show.Some(n, "utterance")
	}
	for _, line := range b.Lines {
		for _, w := range line {
			v.Marked = v.Marked || w.Accepted
		}
	}
	if a.Total == 0 || b.Total == 0 {
		return nil
	}
	return v
}

// play adds an utterance behind those before it.
func (p *paneView) play(r *Record) {
	words := shownWords(r)
	began := p.Total + r.Seconds.Total - r.Seconds.Decode
	for i := range words {
		words[i].At = began + r.Seconds.Decode*float64(i+1)/float64(len(words))
	}
	p.Lines = append(p.Lines, words)
	p.Total += r.Seconds.Total
}

// shownWords are the words of a record, or its pieces if it has them.
func shownWords(r *Record) (words []wordView) {
	for _, s := range r.Segments {
		for _, piece := range s.Pieces {
			words = append(words, wordView{Text: strings.TrimSpace(piece.Text), Accepted: piece.Accepted})
		}
	}
	if len(words) > 0 {
		return words
	}
	for w := range strings.FieldsSeq(r.Hypothesis) {
		words = append(words, wordView{Text: w})
	}
	return words
}
