package models

import (
	"strings"
	"testing"

	"verity/eval/bench"
)

// TestCostLines: what a pass costs decides from which share of right tokens drafts pay.
func TestCostLines(t *testing.T) {
	for _, tt := range []struct {
		name             string
		two, three, four float64 // the cost of a pass of 2, 3 and 4 rows, in steps
		draft            float64 // steps that a drafted token takes
		opening          float64 // steps that a window takes
		want             string
	}{
		// A token with chance α is worth α of a step, and costs what two rows take beyond one.
		{"passes for little", 1.104, 1.15, 1.5, 0, 0, "a pass of 2, 4 rows takes 1.10, 1.50 steps of 5.0 ms; nothing; in windows of 80 tokens, drafts of 1, 3 tokens pay where 11, 35 % are right"},
		{"longer drafts for nothing", 1.5, 1.5, 1, 0, 0, "pay where 51, 1 % are right"},
		{"rows as dear as steps", 2, 3, 4, 0, 0, "drafts cannot pay, even if all tokens are right"},
		{"drafts that take time", 1.104, 1.15, 1.5, 0.1, 0, "drafts of 1, 3 tokens pay where 21, 48 % are right"},
		// 8 steps are a tenth of a window: 1/0.9 of a step must be saved.
		{"a window that takes time", 1.104, 1.15, 1.5, 0, 8, "drafts of 1, 3 tokens pay where 23, 42 % are right"},
		{"barely", 1.95, 2.95, 3.95, 0, 0, "pay where 96, 100 % are right"},
		{"faster than a step by noise", 0.9, 1, 1.2, 0, 0, "pay where 1, 17 % are right"},
		{"what is not shown does not count", 1.5, 1, 3, 0, 0, "pay where 51, 82 % are right"},
	} {
		i := &Properties{assistant: "nothing", DraftCost: tt.draft, Opening: 0.005 * tt.opening}
		i.Passes = []bench.Pass{{Rows: 1, Ratio: 1, Seconds: 0.005}, {Rows: 2, Ratio: tt.two}, {Rows: 3, Ratio: tt.three}, {Rows: 4, Ratio: tt.four}}
		i.PaysFrom = i.breakEvens()
		got := strings.Join(i.costLines(), "; ")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}
