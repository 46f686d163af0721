package eval

import (
	"path/filepath"
	"strings"
	"testing"

	"verity/eval/report"
	"verity/transcript"
)

// trio is three variants: one that drafts nothing, one that does, and one of another
// precision, which may differ from the first.
func trio(t *testing.T, third Engine) ([]Variant, []Match) {
	t.Helper()
	set := func(name string) *report.Set {
		s, err := report.NewSet(name, "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	variants := []Variant{
		{Name: "a", Engine: hearer{}.engine, Run: transcript.Provenance{Program: "a"}, Set: set("a")},
		{Name: "a+assistant", Engine: hearer{drafts: true}.engine, Run: transcript.Provenance{Program: "b"}, Set: set("b")},
		{Name: "c", Engine: third, Run: transcript.Provenance{Program: "c", Options: map[string]string{"precision": "int4"}}, Set: set("c")},
	}
	return variants, []Match{{0, 1}, {0, 2}}
}

// odd hears the first word otherwise.
var odd = hearer{wrong: func([]float32) bool { return true }}.engine

func TestCompareVariants(t *testing.T) {
	dir := t.TempDir()
	seen := 0
	o := CompareOptions{Dir: dir, Repeats: 2, Limit: 4, Watch: func(r []*report.Record, what []string) {
		if seen++; len(r) != 3 || len(what) > 0 {
			t.Errorf("%d records, %v differ, want 3 and nothing that must not", len(r), what)
		}
	}}
	variants, matches := trio(t, odd)
	pairs, err := Compare(t.Context(), variants, matches, shelf(10), o)
	if err != nil {
		t.Fatal(err)
	}
	demanded, free := pairs[0].Comparison(), pairs[1].Comparison()
	if demanded.Verdict != report.Identical || free.Verdict != report.Free || free.Different == 0 || free.Divergence.Differ == 0 {
		t.Errorf("verdicts %s and %s, %d differ by %+v", demanded.Verdict, free.Verdict, free.Different, free.Divergence)
	}
	before, first := seen, variants[0].Set.Score().Utterances
	if first != demanded.Utterances || first == 0 {
		t.Errorf("the variant's set has %d utterances, the pairs %d", first, demanded.Utterances)
	}
	// Again: what is there is not run again.
	variants, matches = trio(t, odd)
	o.Limit = 0
	if pairs, err = Compare(t.Context(), variants, matches, shelf(10), o); err != nil {
		t.Fatal(err)
	}
	if c := pairs[0].Comparison(); c.Resumed != demanded.Utterances || c.Utterances <= demanded.Utterances || seen <= before {
		t.Errorf("resumed %d of %d utterances, want the %d of the first run and more", c.Resumed, c.Utterances, demanded.Utterances)
	}
	for _, name := range []string{"a", "a+assistant", "c"} {
		if n := len(records(t, []byte(read(t, filepath.Join(dir, name+".jsonl"))))); n != 10 {
			t.Errorf("%s has %d records, want 10", name, n)
		}
	}
	// Records of another run are no variant's.
	variants, matches = trio(t, hearer{}.engine)
	variants[2].Run.Program = "other"
	if _, err := Compare(t.Context(), variants, matches, shelf(10), o); err == nil || !strings.Contains(err.Error(), "c.jsonl: cannot be written: it holds results of another run") {
		t.Errorf("error %v, want that c.jsonl is of another run", err)
	}
}
