package measure

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
	"verity/eval/report"
	"verity/tokenizer"
	"verity/transcript"
)

// TestCompareWarm: both variants have decoded before anything is measured.
func TestCompareWarm(t *testing.T) {
	digits := filepath.Join("..", "..", "..", "model", "digits")
	sound := filepath.Join(digits, "digits.wav")
	v, c := newCompare(cli.Env{Out: io.Discard, Err: io.Discard})
	if err := c.ParseFlags([]string{"-q", "-m", filepath.Join(digits, "target"), "--clip-timestamps", "0,1", "-l", "en", "-a", "self", "--draft-tokens", "2"}); err != nil {
		t.Fatal(err)
	}
	if err := v.check([]string{sound}); err != nil {
		t.Fatal(err)
	}
	data, err := v.data.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := v.newVariants()
	defer r.close()
	if err := r.loadAll(t.Context(), v.precisions.specs(), data); err != nil {
		t.Fatal(err)
	}
	for _, a := range r.list {
		if a.Decoding() == 0 {
			t.Errorf("%v is cold", a.variantSpec)
		}
	}
}

// TestCompareStatus checks that one wrong bit of one utterance is status 3, and nothing
// drafted, too; that failures are status 1.
func TestCompareStatus(t *testing.T) {
	tests := []struct {
		name   string
		change func(*report.Record)
		want   int
		stderr string
	}{
		{"the same", func(*report.Record) {}, 0, ""},
		{"a token", func(r *report.Record) { r.Segments[0].Tokens[1] = 7 }, 3, "1 utterance differs: b"},
		{"a bit of a log-probability", func(r *report.Record) { r.Segments[0].AvgLogProb -= 1e-16 }, 3, "differs"},
		{"a time", func(r *report.Record) { r.Segments[0].End = 0.98 }, 3, "differs"},
		{"nothing drafted", func(r *report.Record) { r.Drafting = transcript.Drafts{} }, 3, "inconclusive: nothing was drafted"},
		{"one failed in a variant", func(r *report.Record) { r.Error = "no" }, 3, "differs: b; 1 utterance failed"},
	}
	for _, tt := range tests {
		var sets []*report.Set
		record := func(id string) *report.Record {
			r := &report.Record{ID: id, Hypothesis: "hello", Reference: "hello", Duration: 1}
			r.Segments = []transcript.Segment{{End: 1, Text: " hello", Tokens: []tokenizer.Token{5, 6}, AvgLogProb: -0.5}}
			r.Drafting = transcript.Drafts{Rounds: 2, Drafted: 3, Accepted: 1, Histogram: []int{1, 1}}
			return r
		}
		for _, name := range []string{"baseline", "assisted"} {
			s, err := report.NewSet(name, "")
			if err != nil {
				t.Fatal(err)
			}
			sets = append(sets, s)
		}
		p := report.NewPairs(sets[0], sets[1])
		a, b := record("b"), record("b")
		a.Drafting = transcript.Drafts{}
		tt.change(b)
		for i, r := range []*report.Record{a, b} {
			if err := sets[i].Add(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		err := conclusion(report.NewDocument(sets, []*report.Pairs{p}), "")
		code, text := 0, ""
		if err != nil {
			if code, text = 1, err.Error(); errors.As(err, new(cli.DiffersError)) {
				code = 3
			}
		}
		if code != tt.want || !strings.Contains(text, tt.stderr) {
			t.Errorf("%s: status %d, want %d, with %q in %q", tt.name, code, tt.want, tt.stderr, text)
		}
	}
}
