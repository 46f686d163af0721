package report

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/transcript"
)

// scored returns the score of pairs of reference and hypothesis.
func scored(t *testing.T, normalizer, language string, pairs ...[2]string) *Score {
	t.Helper()
	s, err := NewSet("set", normalizer)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pairs {
		r := &Record{ID: fmt.Sprint(i), Language: language, Reference: p[0], Hypothesis: p[1], Duration: 2, Seconds: transcript.Seconds{Total: 0.5}}
		if err := s.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return s.Score()
}

func TestScore(t *testing.T) {
	s := scored(t, "none", "en",
		[2]string{"a b c d", "a x c"}, // one substitution, one deletion
		[2]string{"e f", "e f g h i"}, // three insertions
		[2]string{"", ""},
	)
	if s.ReferenceWords != 6 || s.Substitutions != 1 || s.Deletions != 1 || s.Insertions != 3 || s.Hits != 4 {
		t.Errorf("counts: %+v", s)
	}
	if s.WER != 5.0/6 || s.Exact != 1 || s.Utterances != 3 || s.RTFx != 4 {
		t.Errorf("WER %v, exact %d of %d, RTFx %v, want 5/6, 1 of 3, 4", s.WER, s.Exact, s.Utterances, s.RTFx)
	}
	if s.InsertionRate != 0.5 || s.Repeats != 0 {
		t.Errorf("insertion rate %v, repeats %d, want 1/2 and 0", s.InsertionRate, s.Repeats)
	}
	want := []string{"1: 3", "0: 2"}
	for i, u := range s.Worst {
		if got := fmt.Sprintf("%s: %d", u.ID, u.Errors); got != want[i] {
			t.Errorf("worst %d = %s, want %s", i, got, want[i])
		}
	}
	if diff := cmp.Diff([]Word{{"hit", "a", "a"}, {"sub", "b", "x"}, {"hit", "c", "c"}, {"del", "d", ""}}, s.Worst[1].Diff); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
}

// TestGroups: utterances are grouped by a field, and texts of another program are compared by their ids.
func TestGroups(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours.jsonl"), filepath.Join(dir, "theirs.jsonl")
	run := transcript.Provenance{Model: "base", ModelID: "1", Precision: "int8"}
	writeRecords(t, ours, []*Record{
		{ID: "1", Reference: "a b", Hypothesis: "a b", Fields: map[string]string{"lang": "en"}, Run: run},
		{ID: "2", Reference: "c d", Hypothesis: "c x", Fields: map[string]string{"lang": "de"}, Run: run},
		{ID: "3", Reference: "e f", Hypothesis: "e f", Run: run},
	})
	lines := `{"id": "1", "reference": "a b", "hypothesis": "b"}` + "\n" + `{"id": "2", "reference": "c d", "hypothesis": "c d"}` + "\n" +
		`{"id": "3", "reference": "e f", "hypothesis": "e f", "lang": "de"}` + "\n"
	if err := os.WriteFile(theirs, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Load(t.Context(), []Files{{"ours", []string{ours}}, {"theirs", []string{theirs}}}, "none", "lang")
	if err != nil {
		t.Fatal(err)
	}
	want := []Group{
		{Scored: 1, ReferenceWords: 2}, {Name: "de", Scored: 1, ReferenceWords: 2, WER: 0.5, CER: 1.0 / 3, Substitutions: 1},
		{Name: "en", Scored: 1, ReferenceWords: 2},
	}
	if diff := cmp.Diff(want, d.Scores[0].Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if got := d.Scores[1].WER; got != 1.0/6 || len(d.Scores[1].Groups) != 2 {
		t.Errorf("the other program: WER %v, groups %v", got, d.Scores[1].Groups)
	}
	c := d.Comparisons[0]
	if s := c.sentence(); c.Verdict != Free || c.Scored != 3 || s != "WER +0.00 points; no interval: fewer than 10 utterances, over 3 utterances" {
		t.Errorf("got %s of %d, %s", c.Verdict, c.Scored, s)
	}
	var page, text strings.Builder
	if err := errors.Join(d.HTML(&page), d.Text(&text, false)); err != nil || !strings.Contains(page.String(), `<th scope="row">ours, de</th>`) || !strings.Contains(text.String(), "\nours, de ") {
		t.Errorf("the groups are not shown: %v", err)
	}
	var table strings.Builder
	if err := d.Table(&table); err != nil || strings.Count(table.String(), "\n") != 9 ||
		!strings.Contains(table.String(), "\n| ours, de | 1 | 50.00 % | – | 33.33 % | 1 | 0 | 0 |\n") {
		t.Errorf("%v: table\n%s", err, &table)
	}
	if len(d.notes()) != 0 {
		t.Errorf("notes %q, want none", d.notes())
	}
	if err := os.WriteFile(theirs, []byte(strings.Replace(lines, `"a b"`, `"a x"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err = Load(t.Context(), []Files{{"ours", []string{ours}}, {"theirs", []string{theirs}}}, "none", "")
	if err != nil || len(d.notes()) != 1 || !strings.Contains(d.notes()[0], "for 1 utterance,") {
		t.Errorf("another reference: %v, %q", err, d.notes())
	}
	if err := os.WriteFile(theirs, []byte(`{"id": "1", "ref": "a b"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), []Files{{"theirs", []string{theirs}}}, "none", ""); err == nil || !strings.Contains(err.Error(), `line 1: there is no text "reference"`) {
		t.Errorf("a line without a reference: %v", err)
	}
	if _, err := Load(t.Context(), []Files{{"ours", []string{ours}}}, "none", "land"); err == nil || err.Error() != "by: got land: no record has this field; they have lang" {
		t.Errorf("an unknown field: %v", err)
	}
	writeRecords(t, ours, []*Record{
		{ID: "1", Duration: 12, Language: "en", Run: run}, {ID: "2", Duration: 7, Fields: map[string]string{"language": "de"}, Run: run}, {ID: "3", Duration: 99, Language: "en", Run: run},
	})
	d, err = Load(t.Context(), []Files{{"ours", []string{ours}}}, "none", "language,seconds")
	if err != nil {
		t.Fatal(err)
	}
	if g := d.Scores[0].Groups; len(g) != 3 || g[0].Name != "de, 05 to 10 s" || g[1].Name != "en, 10 to 20 s" || g[2].Name != "en, 30 s and more" {
		t.Errorf("language and length: %+v", g)
	}
}

// TestNormalizer checks that the choice reaches the score, and what auto means.
func TestNormalizer(t *testing.T) {
	pair := [2]string{"Twenty-One colours!", "21 colors"}
	tests := []struct {
		name, language string
		want           int // errors
	}{
		{"none", "en", 2}, {"basic", "en", 3}, {"english", "en", 0},
		{"auto", "en", 0}, {"auto", "", 0}, {"auto", "nl", 3}, {"", "en", 0},
	}
	for _, tt := range tests {
		s := scored(t, tt.name, tt.language, pair)
		if got := s.Substitutions + s.Deletions + s.Insertions; got != tt.want {
			t.Errorf("%s for language %q: %d errors, want %d", tt.name, tt.language, got, tt.want)
		}
	}
	for lang, want := range map[string]int{"de_DE": 3, "German": 3, "en-GB": 0, "English": 0} { // what the dataset states counts
		s, err := NewSet("set", "auto")
		if err != nil {
			t.Fatal(err)
		}
		detected := map[int]string{3: "en", 0: "nl"}[want]
		r := &Record{ID: "a", Language: detected, Fields: map[string]string{"lang": lang}, Reference: pair[0], Hypothesis: pair[1]}
		if err := s.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := s.Score(); got.Substitutions+got.Deletions+got.Insertions != want {
			t.Errorf("stated %s, detected %s: got %+v, want %d errors", lang, detected, got.Group, want)
		}
	}
	if _, err := NewSet("x", "german"); err == nil {
		t.Error("normalizer german: no error")
	}
}

func TestSetFailures(t *testing.T) {
	s, _ := NewSet("set", "")
	for i := range 150 {
		if err := s.Add(t.Context(), &Record{ID: fmt.Sprint(i), Error: "broken", Duration: 9}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(t.Context(), &Record{ID: "bare", NoReference: true, Hypothesis: "x", Duration: 1}); err != nil {
		t.Fatal(err)
	}
	r := s.Score()
	if r.Failed != 150 || len(r.Failures) != maxFailures || r.Utterances != 1 || r.Scored != 0 || r.AudioSeconds != 1 {
		t.Errorf("score = %+v", r)
	}
	if err := s.Add(t.Context(), &Record{ID: "7"}); err == nil {
		t.Error("an utterance twice: no error")
	}
	var report strings.Builder // without references there is no rate, not one of 0
	if err := (&Document{Scores: []*Score{r}}).JSON(&report); err != nil || strings.Contains(report.String(), `"wer"`) || strings.Contains(report.String(), `"mer"`) {
		t.Errorf("%v: %s", err, report.String())
	}
}

// TestKept: a set keeps no words, fields or turns of its records, whose memory would be many times theirs.
func TestKept(t *testing.T) {
	s, _ := NewSet("set", "")
	for i := range 2 {
		r := &Record{ID: fmt.Sprint(i), Fields: map[string]string{"a": "b"}, Turns: make([]transcript.Turn, 9),
			Segments: []transcript.Segment{{Words: make([]transcript.Word, 99), Runs: make([]transcript.TextRun, 9)}}}
		if err := s.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		k := s.utterances[i]
		if g := k.Segments[0]; k.Fields != nil || k.Turns != nil || g.Words != nil || g.Runs != nil || r.Fields == nil {
			t.Errorf("of record %d is kept %+v", i, k)
		}
	}
}

// TestFewUtterances: of fewer than ten utterances there is no interval, in any form.
func TestFewUtterances(t *testing.T) {
	for _, n := range []int{1, 2, 9, 10, 40} {
		d := compared(t, n, func(r []*Record) { r[0].Hypothesis += " nine" })
		s, c := d.Scores[1], d.Comparisons[0].Change
		if c == nil || (s.WERInterval == nil) != (n < 10) || (c.Interval == nil) != (n < 10) {
			t.Fatalf("%d utterances: intervals %v and %+v", n, s.WERInterval, c)
		}
		if i := s.WERInterval; i != nil && (!(i.Low <= float64(s.WER) && float64(s.WER) <= i.High) || i.Low == i.High) {
			t.Errorf("%d utterances: interval %+v of %v", n, i, s.WER)
		}
		var text, page strings.Builder
		if err := errors.Join(d.Text(&text, false), d.HTML(&page)); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{text.String(), page.String()} {
			if got := strings.Contains(form, "fewer than 10 utterances"); got != (n < 10) {
				t.Errorf("%d utterances: it says that they are too few: %v", n, got)
			}
		}
	}
}

// TestEach: a report has every utterance, and the change of each group with its interval.
func TestEach(t *testing.T) {
	dir := t.TempDir()
	var files []Files
	for _, wrong := range []int{1, 3} { // every third utterance of clean sound
		var lines strings.Builder
		for i := range 24 {
			said, written := "cat dog cow pig", "cat dog cow pig"
			if i%wrong == 0 && i%2 == 0 && wrong == 3 {
				written = "cat dog cow"
			}
			fmt.Fprintf(&lines, `{"id": "u%d", "reference": %q, "hypothesis": %q, "cond": %q}`+"\n", i, said, written, []string{"clean", "noisy"}[i%2])
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", wrong))
		if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Find(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	d, err := Load(t.Context(), files, "", "cond")
	if err != nil {
		t.Fatal(err)
	}
	each := d.Scores[1].Each
	if len(each) != 24 || each[0].ID != "u0" || each[0].Errors != 1 || each[0].WER != 0.25 || each[1].Errors != 0 {
		t.Errorf("each: %+v", each)
	}
	c := d.Comparisons[0]
	if len(c.Groups) != 2 || c.Groups[0].Name != "clean" || c.Groups[0].Scored != 12 || c.Groups[0].Difference != 4.0/48 ||
		c.Groups[0].Interval.High <= 4.0/48 || c.Groups[0].Interval.Low >= 4.0/48 || c.Groups[1].Difference != 0 {
		t.Errorf("groups: %+v", c.Groups)
	}
	line := `{"id": "u0", "reference": "cat", "hypothesis": "cat"}`
	for text, want := range map[string]string{
		"\ufeff" + line: "", "\ufeff\n" + line: "", "7\n": "it holds no records, want records.jsonl", line + "\n" + line: "an utterance occurs twice", "[" + line + "]": "is a JSON array, want a JSON object on each line: jq",
		strings.Replace(line, `"u0"`, "7", 1): "id is a number, want a string", strings.Replace(line, `"cat"`, "\"c\xe9\"", 1): "not UTF-8",
	} {
		path := filepath.Join(dir, "other.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), []Files{{"other", []string{path}}}, "", ""); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	var text, page strings.Builder
	if err := errors.Join(d.Text(&text, false), d.HTML(&page)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "  clean        +8.33 points, 95 % interval") || strings.Contains(text.String(), "not measured") || !strings.Contains(page.String(), "<small>clean ") {
		t.Error(text.String())
	}
}

// TestGroupSpeed: each group has its speed-up of decoding with an interval, and its α, though no error differs.
func TestGroupSpeed(t *testing.T) {
	dir := t.TempDir()
	var files []Files
	for i, name := range []string{"plain", "assisted"} {
		records := made(8, i > 0)
		for j, r := range records {
			r.Fields = map[string]string{"topic": []string{"news", "talk"}[j%2]}
			if r.Drafting.Drafted > 0 {
				r.Drafting.Accepted, r.Drafting.Refused = 8-j%2, 2+j%2
			}
			r.Seconds.Decode = []float64{1, []float64{0.5, 0.8}[j%2]}[i]
		}
		path := filepath.Join(dir, name+".jsonl")
		writeRecords(t, path, records)
		files = append(files, Files{name, []string{path}})
	}
	d, err := Load(t.Context(), files, "", "topic")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ speed, alpha float64 }{{2, 0.8}, {1.25, 0.7}} {
		c, g := d.Comparisons[0].Groups[i], d.Scores[1].Groups[i]
		if c.Name != g.Name || math.Abs(c.Speedup.Mean-want.speed) > 1e-9 || c.Speedup.Interval == nil || g.Alpha == nil || *g.Alpha != want.alpha {
			t.Errorf("%s: %+v, α %v, want %+v", g.Name, c.Speedup, g.Alpha, want)
		}
	}
	var table strings.Builder
	if err := d.Table(&table); err != nil || !strings.Contains(table.String(), "| 0.700 | 1.25× (1.25× to 1.25×) |") {
		t.Errorf("%v: table\n%s", err, &table)
	}
}
