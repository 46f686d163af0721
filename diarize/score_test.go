package diarize

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"
)

// TestScore compares with pyannote.metrics: testdata/scores.py. Its figures are rounded to 1e-6, and times to 0.01 s.
func TestScore(t *testing.T) {
	var cases []struct {
		Reference   [][3]float64 `json:"reference"`
		Found       [][3]float64 `json:"found"`
		Collar      float64      `json:"collar"`
		SkipOverlap bool         `json:"skip_overlap"`
		Errors
	}
	b, err := os.ReadFile("testdata/scores.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	turns := func(rows [][3]float64) (turns []Turn) {
		for _, r := range rows {
			turns = append(turns, Turn{r[0], r[1], int(r[2])})
		}
		return turns
	}
	for i, c := range cases {
		got := Scoring{c.Collar, c.SkipOverlap}.Score(turns(c.Reference), turns(c.Found))
		for _, d := range []float64{got.Total - c.Total, got.Missed - c.Missed, got.FalseAlarm - c.FalseAlarm,
			got.Confusion - c.Confusion} {
			if !(math.Abs(d) < 1e-5) {
				t.Errorf("case %d, collar %v, skip overlap %v: got %+v, want %+v", i, c.Collar, c.SkipOverlap, got, c.Errors)
				break
			}
		}
	}
	if len(cases) != 48 {
		t.Errorf("%d cases, want 48", len(cases))
	}
}

// TestScoreLong scores as many turns, all overlapping, as eval takes of one recording. The square of their number
// would take a minute.
func TestScoreLong(t *testing.T) {
	var reference, found []Turn
	for i := range 20000 {
		start := float64(i) * 0.1
		reference = append(reference, Turn{start, start + 3000, 1 + i%20})
		found = append(found, Turn{start, start + 3000, 20 - i%20})
	}
	began := time.Now()
	e := Scoring{Collar: 0.01}.Score(reference, found)
	if took := time.Since(began); e.Rate() != 0 || took > 20*time.Second {
		t.Errorf("rate %v, want 0; %v", e.Rate(), took)
	}
}
