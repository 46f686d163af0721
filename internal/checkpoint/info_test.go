package checkpoint

import (
	"strings"
	"testing"

	"verity/bench"
)

// TestDrafts: what a pass costs decides from which share of right tokens drafts pay.
func TestDrafts(t *testing.T) {
	for _, tt := range []struct {
		name            string
		two, three      float64 // steps that passes of so many rows take
		four            float64
		text, assistant float64
		want            string
	}{
		// A token with chance α is worth α of a step, and costs what two rows take beyond one.
		{"passes for little", 1.104, 1.15, 1.5, 0.11, 0.21, "takes 1.10, 1.50 steps of 5.0 ms: a draft from text pays where 11 % of tokens are right, " +
			"one by an assistant that takes a tenth of a step for a token pays where 21 % of tokens are right"},
		{"rows as dear as steps", 2, 3, 4, 1, 1, "a draft from text cannot pay, even if all is right"},
		{"an assistant cannot", 1.95, 2.95, 3.95, 0.96, 1, "for a token cannot pay, even if all is right"},
		{"faster than a step by noise", 0.9, 1, 1.2, 0.01, 0.11, "pays where 1 %"},
		{"rows that are not shown do not count", 1.5, 1, 3, 0.51, 0.61, "pays where 51 %"},
	} {
		d := draftsOf([]bench.Pass{{Rows: 1, Ratio: 1, Seconds: 0.005}, {Rows: 2, Ratio: tt.two}, {Rows: 3, Ratio: tt.three}, {Rows: 4, Ratio: tt.four}})
		if d.Text != tt.text || d.Assistant != tt.assistant || !strings.Contains(d.String(), tt.want) {
			t.Errorf("%s: %v, %v: %s", tt.name, d.Text, d.Assistant, d)
		}
	}
}
