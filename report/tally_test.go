package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"verity/transcript"
)

// tallied are records of a run: some with errors in the text, some that failed, one
// without a reference.
func tallied(rng *rand.Rand, n int) []*Record {
	said := []string{"one", "two", "three", "four", "five", "six"}
	var all []*Record
	for i := range n {
		r := &Record{ID: fmt.Sprintf("u%03d", i), Duration: float64(i) / 8, Run: transcript.Maker{Model: "m"}}
		r.Seconds.Total, r.Work.Tokens = 0.25*float64(1+i), i
		for range 1 + rng.IntN(8) {
			r.Reference += said[rng.IntN(len(said))] + " "
			r.Hypothesis += said[rng.IntN(len(said))] + " "
		}
		switch i % 10 {
		case 3:
			r.Error = "no such file"
		case 4:
			r.NoReference = true
		case 5:
			r.Hypothesis = r.Reference
		}
		all = append(all, r)
	}
	return all
}

// TestTallyOfParts checks that tallies of parts, sent as JSON and merged in any order,
// come to the score of the whole in one Set.
func TestTallyOfParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	records := tallied(rng, 200)
	set, err := NewSet("all", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := set.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, parts := range []int{1, 2, 7} {
		tallies := make([]*Tally, parts)
		for i := range tallies {
			tallies[i] = newTally(t)
		}
		for i, r := range records {
			if err := tallies[i%parts].Add(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		rng.Shuffle(parts, func(i, j int) { tallies[i], tallies[j] = tallies[j], tallies[i] })
		whole := newTally(t)
		for _, part := range tallies {
			if err := whole.Merge(sent(t, part)); err != nil {
				t.Fatal(err)
			}
		}
		// Failures of several parts are in the order of names, as they are here.
		if diff := cmp.Diff(set.Score(), sent(t, whole).Score("all"), cmpopts.IgnoreUnexported(Score{}, Utterance{})); diff != "" {
			t.Errorf("%d parts (-whole +parts):\n%s", parts, diff)
		}
	}
}

func newTally(t *testing.T) *Tally {
	t.Helper()
	tally, err := NewTally("")
	if err != nil {
		t.Fatal(err)
	}
	return tally
}

// sent returns what comes out of the JSON of a tally.
func sent(t *testing.T, from *Tally) *Tally {
	t.Helper()
	raw, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	to := new(Tally)
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestTallyRefuses checks that runs are not mixed and that what is no tally is not read.
func TestTallyRefuses(t *testing.T) {
	a, b := newTally(t), newTally(t)
	for to, r := range map[*Tally]*Record{a: {ID: "1", Run: transcript.Maker{Model: "m"}}, b: {ID: "2", Run: transcript.Maker{Model: "other"}}} {
		if err := to.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Merge(b); err == nil {
		t.Error("records of two models were merged")
	}
	if err := a.Merge(newTally(t)); err != nil {
		t.Errorf("an empty part: %v", err)
	}
	for _, bad := range []string{"{}", "[]", `{"corpus":{"bins":{"x":1}},"score":{}}`, `{"normalizer":"x","corpus":{},"score":{}}`} {
		if err := json.Unmarshal([]byte(bad), new(Tally)); err == nil {
			t.Errorf("%s was read as a tally", bad)
		}
	}
	if _, err := NewTally("x"); err == nil {
		t.Error("an unknown normaliser was taken")
	}
}
