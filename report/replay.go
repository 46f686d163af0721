package report

import (
	"html/template"
	"strings"
	"unicode/utf8"

	"verity/internal/show"
)

// replayed is how many utterances a page can replay. It must be even.
const replayed = 24

// A Scene is one utterance in both arms, for the replay.
type Scene struct {
	ID       string
	Baseline *Record
	Assisted *Record
}

// Scenes returns evenly spaced utterances for which both arms have text.
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

// A replayView is the data of the replay of all arms.
type replayView struct {
	Panes  []paneView
	Count  string // empty if there is only one
	Marked bool   // rounds are known
	Sounds []soundView

	records []*Record // of one arm
}

// A soundView is the sound of an utterance on the page.
type soundView struct {
	ID  string
	URL template.URL
}

// listen fills in the sounds of all utterances. A nil replay has none.
func (v *replayView) listen(sound func(*Record) string) {
	if v == nil || sound == nil {
		return
	}
	for _, r := range v.records {
		if url := sound(r); url != "" {
			v.Sounds = append(v.Sounds, soundView{r.ID, template.URL(url)}) // Document.Sound must return a safe address
		}
	}
}

// A paneView is one arm: its utterances in turn.
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
	At       float64 // s
	Pass     int     // passes so far, over all utterances
}

// A pane is one arm: its name and its records.
type pane struct {
	name    string
	slow    bool // the pane that the others are compared with
	records []*Record
}

// replayOf returns the replay of a comparison; nil if there is nothing to show.
func replayOf(c *Comparison) *replayView {
	a, b := pane{name: "Baseline", slow: true}, pane{name: "Assisted"}
	for _, s := range c.scenes {
		a.records, b.records = append(a.records, s.Baseline), append(b.records, s.Assisted)
	}
	return newReplay([]pane{a, b})
}

// newReplay returns the replay of panes with the same number of records; nil if there
// is nothing to show.
func newReplay(panes []pane) *replayView {
	v := &replayView{}
	for _, p := range panes {
		view := paneView{Name: p.name}
		if p.slow {
			view.Class = "slow"
		}
		for _, r := range p.records {
			view.play(r)
		}
		if view.Total == 0 {
			return nil
		}
		for _, line := range view.Lines {
			for _, s := range line.Steps {
				v.Marked = v.Marked || s.Accepted || s.Refused != ""
			}
		}
		v.Panes = append(v.Panes, view)
	}
	v.records = panes[0].records
	if n := len(v.records); n > 1 {
		v.Count = show.Some(n, "utterance")
	}
	return v
}

// play adds an utterance after the earlier ones. Its passes are spread evenly over its
// decoding time.
func (p *paneView) play(r *Record) {
	line := lineView{ID: r.ID}
	passes := max(r.Drafting.Rounds, 1)
	for _, s := range r.Segments {
		line.Steps = append(line.Steps, steps(s)...)
	}
	trim(line.Steps)
	total, seen := 0, 0
	for _, s := range line.Steps {
		total += utf8.RuneCountInString(s.Text)
	}
	for i := range line.Steps {
		s := &line.Steps[i]
		seen += utf8.RuneCountInString(s.Text)
		if s.Pass == 0 { // unknown: estimate it from the length of the text
			s.Pass = (seen*passes + total - 1) / max(total, 1)
		}
		s.Pass = min(s.Pass, passes)
		s.At = p.Total + r.Seconds.Decode*float64(s.Pass)/float64(passes)
		s.Pass += p.Passes
	}
	p.Lines = append(p.Lines, line)
	p.Total += r.Seconds.Decode
	p.Passes += passes
}

// steps returns the pieces of a segment; if its rounds are unknown, its words, each
// with the space before it.
func steps(s Segment) (all []stepView) {
	var text strings.Builder
	for _, piece := range s.Pieces {
		text.WriteString(piece.Text)
		all = append(all, stepView{Text: piece.Text, Refused: piece.Refused,
			Accepted: piece.Accepted, Pass: piece.Round})
	}
	if len(all) > 0 && text.String() == s.Text {
		return all
	}
	all = nil
	for rest := s.Text; rest != ""; {
		end := len(rest)
		if i := strings.IndexByte(strings.TrimLeft(rest, " "), ' '); i >= 0 {
			end = len(rest) - len(strings.TrimLeft(rest, " ")) + i
		}
		all = append(all, stepView{Text: rest[:end]})
		rest = rest[end:]
	}
	return all
}

// trim removes the space before the first text and after the last.
func trim(all []stepView) {
	for i := range all {
		if all[i].Text = strings.TrimLeft(all[i].Text, " "); all[i].Text != "" {
			break
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Text = strings.TrimRight(all[i].Text, " "); all[i].Text != "" {
			break
		}
	}
}
