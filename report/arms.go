package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"verity/internal/show"
	"verity/transcript"
)

// ArmsSchema is the schema field of the JSON of a comparison of several arms.
const ArmsSchema = "verity.arms/1"

// An Arm is one of several ways to run a model over the same utterances.
type Arm struct {
	*Score
	TokensPerSecond float64 `json:"tokens_per_second"`

	// Compared with the first arm; null for the first itself.
	Speedup *Speedups `json:"speedup"`

	// Memory that loading and running the arm took; absent if not measured.
	Memory int64 `json:"memory_bytes,omitempty"`

	set *Set
}

// newArm returns the arm of a set, given its comparison with the first arm; nil for the
// first arm itself.
func newArm(s *Set, c *Comparison, memory int64) *Arm {
	a := &Arm{Score: s.Score(), Memory: memory, set: s}
	a.TokensPerSecond = transcript.Ratio(float64(a.Work.Tokens), a.Seconds.Decode)
	if c != nil {
		a.Speedup = &c.Speedup
		if c.Batch.Pairs > 0 {
			a.TokensPerSecond = c.Batch.TokensPerSecond.Assisted
		}
	}
	return a
}

// An ArmPair is two arms, by index, and their comparison.
type ArmPair struct {
	Baseline, Assisted int
	Pairs              *Pairs
}

// DocumentOf returns the document of several arms. The pairs of the first arm with each
// other arm come first, in the order of the arms.
func DocumentOf(sets []*Set, pairs []ArmPair, memory []int64) *Document {
	d := &Document{}
	first := map[int]*Comparison{} // comparisons with the first arm
	for _, p := range pairs {
		c := p.Pairs.Comparison()
		c.arm = p.Assisted
		if p.Baseline == 0 {
			first[p.Assisted] = c
		}
		d.Comparisons = append(d.Comparisons, c)
	}
	for i, s := range sets {
		a := newArm(s, first[i], memory[i])
		if i == 0 && first[1] != nil && first[1].Batch.Pairs > 0 {
			a.TokensPerSecond = first[1].Batch.TokensPerSecond.Baseline
		}
		d.Arms, d.Scores = append(d.Arms, a), append(d.Scores, a.Score)
	}
	return d
}

// Verdict is the combined verdict of the comparisons that demand equality; Free if none
// does.
func (d *Document) Verdict() Verdict {
	v := Free
	for _, c := range d.Comparisons {
		switch {
		case c.Verdict == Different:
			return Different
		case c.Verdict == Inconclusive, c.Verdict == Identical && v == Free:
			v = c.Verdict
		}
	}
	return v
}

// An armsReport is the JSON of several arms: verity.arms/1.
type armsReport struct {
	Schema      string        `json:"schema"`
	Verdict     Verdict       `json:"verdict"`     // of the comparisons that demand equality; free if none does
	Arms        []*Arm        `json:"arms"`        // in the order requested
	Comparisons []*Comparison `json:"comparisons"` // of each arm with the first, then with the first of its precision
}

func (d *Document) armsJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(armsReport{ArmsSchema, d.Verdict(), d.Arms, d.Comparisons})
}

// armRows returns the table of the arms, header first.
func (d *Document) armRows() [][]string {
	head := []string{"arm", "tokens/s", "decoding", "accepted", "memory", "WER"}
	rows := [][]string{head}
	for _, a := range d.Arms {
		r := []string{a.Name, show.Digits(a.TokensPerSecond), a.gain(), "", "", ""}
		if a.Drafting.Drafted > 0 {
			r[3] = fmt.Sprintf("%.1f %%", 100*a.Drafting.Rate())
		}
		if a.Memory > 0 {
			r[4] = show.Bytes(a.Memory)
		}
		if a.Scored > 0 {
			r[5] = fmt.Sprintf("%s (%.2f – %.2f %%)",
				show.Percent(a.WER), 100*a.WERInterval.Low, 100*a.WERInterval.High)
		}
		rows = append(rows, r)
	}
	return dense(rows)
}

// gain spells the speed-up of decoding over the first arm.
func (a *Arm) gain() string {
	if a.Speedup == nil {
		return ""
	}
	d := a.Speedup.Decode
	switch i := d.Interval; {
	case i == nil:
		return show.Times(d.Overall)
	case i[0] <= 1 && 1 <= i[1]:
		return fmt.Sprintf("%s (%s to %s, inconclusive)", show.Times(d.Mean), show.Times(i[0]), show.Times(i[1]))
	default:
		return fmt.Sprintf("%s (%s to %s)", show.Times(d.Mean), show.Times(i[0]), show.Times(i[1]))
	}
}

// dense removes the columns of a table that are empty below their header.
func dense(rows [][]string) [][]string {
	for j := len(rows[0]) - 1; j > 0; j-- {
		if !slices.ContainsFunc(rows[1:], func(r []string) bool { return r[j] != "" }) {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], j, j+1)
			}
		}
	}
	return rows
}

// arms writes the table of the arms.
func (p painter) arms(d *Document) {
	writeColumns(p, d.armRows())
	fmt.Fprintln(p)
}

// replay returns the replay of all arms side by side.
func (d *Document) replay() *replayView {
	if d.Arms == nil {
		return nil
	}
	panes := make([]pane, len(d.Arms))
	for i, a := range d.Arms {
		panes[i].name, panes[i].slow = a.Name, i == 0
	}
	for _, r := range d.Arms[0].set.some {
		scene := make([]*Record, 0, len(d.Arms))
		for _, a := range d.Arms {
			if o := a.set.sampled(r.ID); o != nil {
				scene = append(scene, o)
			}
		}
		if len(scene) < len(d.Arms) || r.Hypothesis == "" {
			continue
		}
		for i, o := range scene {
			panes[i].records = append(panes[i].records, o)
		}
	}
	return newReplay(panes)
}

// sampled returns the record of an utterance if it was kept for the replay.
func (s *Set) sampled(id string) *Record {
	for _, r := range s.some {
		if r.ID == id {
			return r
		}
	}
	return nil
}
