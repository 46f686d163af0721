package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// threeVariants is the document of a wide variant, a narrow one that hears some utterances
// otherwise, and the narrow one with an assistant.
func threeVariants(t *testing.T, n int) *Document {
	t.Helper()
	set := func(name string) *Set {
		s, err := NewSet(name, "basic")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	names := []string{"f16", "mxfp6", "mxfp6+assistant"}
	records := [][]*Record{made(n, false), made(n, false), made(n, true)}
	for variant, all := range records {
		for i, r := range all {
			r.Run.Options = map[string]string{"precision": strings.TrimSuffix(names[variant], "+assistant")}
			if variant > 0 && i%5 == 2 {
				r.Hypothesis += " nine"
				r.Segments[0].Text, r.Segments[0].Tokens = " "+r.Hypothesis, append(r.Segments[0].Tokens, 9)
			}
		}
	}
	sets := []*Set{set(names[0]), set(names[1]), set(names[2])}
	var pairs []*Pairs
	of := [][2]int{{0, 1}, {0, 2}, {1, 2}}
	for _, x := range of {
		pairs = append(pairs, NewPairs(sets[x[0]], sets[x[1]]))
	}
	for i := range n {
		for variant, s := range sets {
			if err := s.Add(t.Context(), records[variant][i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := NewDocument(sets, pairs)
	for variant, s := range d.Scores {
		s.Resources.Memory, s.BytesPerToken, s.GBPS = int64(90-20*variant)<<20, float64(60-20*variant)*1e6, 7.5
	}
	return d
}

// TestVariants: variants of one precision must be the same, others may differ, and it is
// counted by how much.
func TestVariants(t *testing.T) {
	d := threeVariants(t, 20)
	if v := d.Verdict(); v != Identical {
		t.Errorf("verdict %s, want identical: only variants of different precision differ", v)
	}
	for i, want := range []Verdict{Free, Free, Identical} {
		if got := d.Comparisons[i].Verdict; got != want {
			t.Errorf("comparison %d: %s, want %s", i, got, want)
		}
	}
	c := d.Comparisons[0]
	if c.Divergence == nil || c.Divergence.Differ != 4 || c.Different != 4 || c.Identical.Tokens != 16 {
		t.Errorf("divergence %+v of %d utterances, want 4 tokens added in 4", c.Divergence, c.Different)
	}
	if x := c.Change; x == nil || !(x.Interval.Low <= x.Difference && x.Difference <= x.Interval.High) || x.Difference <= 0 {
		t.Errorf("change of the word error rate %+v, want one above 0 within its interval", x)
	}
	if c := d.Comparisons[2]; c.Divergence != nil || c.Change != nil {
		t.Errorf("identical variants have divergence %+v and change %+v", c.Divergence, c.Change)
	}
	if a := d.variants(); len(a) != 4 || len(a[0]) != 8 || a[1][2] != "" || a[3][2] == "" || !(d.Scores[2].TokensPerSecond > d.Scores[1].TokensPerSecond) {
		t.Errorf("variants %q: want speeds over the first variant, and the assisted one faster", a)
	}
	var b bytes.Buffer
	if err := d.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Schema, Verdict string
		Arms            []struct{ Name string }
	}
	if err := json.Unmarshal(b.Bytes(), &read); err != nil || read.Schema != CompareSchema || read.Verdict != "identical" || len(read.Arms) != 3 {
		t.Errorf("JSON %+v, %v", read, err)
	}
	b.Reset()
	if err := d.HTML(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "<summary>How "); n != 3 {
		t.Errorf("the page says how %d variants were made, want all three", n)
	}
}

// TestVariantsVerdict: one demanded comparison that fails decides.
func TestVariantsVerdict(t *testing.T) {
	for _, tt := range []struct {
		of   []Verdict
		want Verdict
	}{
		{[]Verdict{Free, Free}, Free},
		{[]Verdict{Free, Identical}, Identical},
		{[]Verdict{Inconclusive, Identical, Free}, Inconclusive},
		{[]Verdict{Inconclusive, Different, Identical}, Different},
	} {
		d := &Document{}
		for _, v := range tt.of {
			d.Comparisons = append(d.Comparisons, &Comparison{Verdict: v})
		}
		if got := d.Verdict(); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.of, got, tt.want)
		}
	}
}
