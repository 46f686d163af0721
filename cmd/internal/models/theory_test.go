package models

import (
	"math"
	"strings"
	"testing"

	"verity/eval/bench"
)

// TestOutlooks: an assistant that takes as long as the model cannot pay, a cheap one pays as much as passes allow.
func TestOutlooks(t *testing.T) {
	passes := []bench.Pass{{Rows: 1, Ratio: 1}, {Rows: 2, Ratio: 1.1}, {Rows: 3, Ratio: 1.2}, {Rows: 4, Ratio: 3}}
	for _, tt := range []struct {
		guess guess
		best  string // the line of the best length
		three Outlook
	}{
		{guess{0.8, 0.1}, "       2      2.44      2.03×      1.74×        1.31×     0.49×  ← best",
			Outlook{3, 2.952, 2.952 / 1.3, 2.952 / 3.3, 4.3 / 2.952, 1.3 / 2.952}},
		{guess{0.8, 1}, "       0      1.00      1.00×      1.00×        1.00×     1.00×  ← best",
			Outlook{3, 2.952, 2.952 / 4, 2.952 / 6, 7 / 2.952, 4 / 2.952}},
		{guess{1, 0}, "       2      3.00      3.00×      2.50×        1.00×     0.33×  ← best",
			Outlook{3, 4, 4, 4. / 3, 1, 0.25}},
	} {
		got := tt.guess.outlooks(passes)
		o, w := got[3], tt.three
		for _, x := range [][2]float64{{o.Tokens, w.Tokens}, {o.Ideal, w.Ideal}, {o.Speedup, w.Speedup}, {o.Operations, w.Operations}, {o.Bytes, w.Bytes}} {
			if !(math.Abs(x[0]-x[1]) < 1e-9) {
				t.Errorf("%v: drafts of 3: got %+v, want %+v", tt.guess, o, w)
				break
			}
		}
		if text := table(tt.guess, got); !strings.Contains(text, tt.best+"\n") {
			t.Errorf("%v: want the line %q in\n%s", tt.guess, tt.best, text)
		}
	}
}
