package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"verity/transcript"
)

// TestDefects holds what a reviewer missed on the page, but for what make page,
// TestPanes, TestTicks and TestWarnings hold.
func TestDefects(t *testing.T) {
	d := compared(t, 40, func(all []*Record) {
		for i, r := range all {
			r.Run.Assistant = "self"
			if i%4 == 0 { // nothing was drafted here
				r.Drafting.Empty += r.Drafting.Histogram[0]
			}
			s := &r.Segments[0]
			s.Runs = []transcript.TextRun{{Text: s.Text, Accepted: true, Round: 1, Refused: " and"}}
		}
	})
	d.Scores[0].Memory, d.Scores[1].Memory = 50<<20, 54<<20
	for _, r := range []*transcript.Provenance{&d.Scores[0].Run, &d.Scores[1].Run} {
		r.Model, r.Dataset, r.Precision = "/home/me/models/tiny.en", "/home/me/data/speech", "f32"
	}
	d.Scores[1].Run.AssistantPrecision = "int8"
	var b bytes.Buffer
	if err := d.HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(b.String(), "\u00a0", " ")
	for _, tt := range []struct{ what, want string }{
		{"2: rounds without a draft are a bar of their own", `<th scope="row">no draft</th>`},
		{"3: precision of model and assistant at the top", "<strong>precision</strong> f32"},
		{"3: of the assistant", "<strong>its precision</strong> int8"},
		{"5: what was refused", "<del> and</del>"},
		{"5: a counter of passes", "passes of the model</span>"},
		{"6: what was said is green, by the class of the style sheet", ".w del { color: var(--good)"},
		{"6: what was written is red", ".w ins { color: var(--bad)"},
		{"7: insertions are not part of the words that were said", "<li>8 inserted (not said)</li>"},
		{"9: the mean with its interval", "mean (95 % interval 2."},
		{"10: the title says what was compared", "<title>tiny.en with assistant self against tiny.en alone</title>"},
		{"12: all numbers are folded", "<details><summary>Show the table</summary>"},
		{"13: memory", "<span>Memory</span><b>56.6 MB</b><small>52.4 MB in baseline</small>"},
		{"13: the interval of the word error rate", "95 % interval 4.89 to 13.28 %"},
		{"14: the panes can be reached and scrolled by keyboard", `<div class="text" tabindex="0" role="region"`},
	} {
		if !strings.Contains(page, tt.want) {
			t.Errorf("%s: no %q", tt.what, tt.want)
		}
	}
	shown, _, _ := strings.Cut(page, "<details><summary>How ")
	if strings.Contains(shown, "/home/me") {
		t.Error("10: directories of the author's machine are shown")
	}
}

// TestSetup: the tile says what was compared, and nothing of a precision that no assistant has.
func TestSetup(t *testing.T) {
	r := transcript.Provenance{Model: "/m/tiny.en", Precision: "f16", Assistant: "ngram", Options: map[string]string{"assistant-precision": "auto"}}
	want := [][2]string{{"model", "tiny.en"}, {"precision", "f16"}, {"assistant", "ngram"}}
	if got := setup(&Score{Run: r}); !slices.Equal(got, want) {
		t.Errorf("ngram: got %v, want %v", got, want)
	}
	r.Assistant, r.AssistantPrecision = "self", "int8"
	if got := setup(&Score{Run: r}); !slices.Equal(got, append(want[:2:2], [][2]string{{"assistant", "self"}, {"its precision", "int8"}}...)) {
		t.Errorf("self: got %v", got)
	}
}
