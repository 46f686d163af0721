package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/transcript"
)

func writeRecords(t testing.TB, path string, all []*Record) {
	t.Helper()
	var b bytes.Buffer
	for _, r := range all {
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDiffer changes one thing at a time, as little as it can be changed.
func TestDiffer(t *testing.T) {
	up := func(v *float64) { *v = math.Nextafter(*v, math.Inf(1)) }
	tests := []struct {
		name   string
		change func(r *Record)
		want   string
	}{
		{"nothing", func(*Record) {}, ""},
		{"times and drafts", func(r *Record) { r.Seconds.Total *= 2; r.Drafting.Drafted++; r.Run.Machine = "another" }, ""},
		{"a token", func(r *Record) { r.Segments[0].Tokens[1]++ }, "tokens"},
		{"a token less", func(r *Record) { r.Segments[0].Tokens = r.Segments[0].Tokens[1:] }, "tokens"},
		{"a token in another segment", func(r *Record) {
			s := r.Segments[0]
			r.Segments = []transcript.Segment{s, s}
			r.Segments[0].Tokens, r.Segments[1].Tokens = s.Tokens[:1], s.Tokens[1:]
		}, "tokens,logprobs,segments"},
		{"log-probability", func(r *Record) { up(&r.Segments[0].AvgLogProb) }, "logprobs"},
		{"no-speech probability", func(r *Record) { up(&r.Segments[0].NoSpeechProb) }, "logprobs"},
		{"temperature", func(r *Record) { up(&r.Segments[0].Temperature) }, "logprobs"},
		{"compression", func(r *Record) { up(&r.Segments[0].CompressionRatio) }, "logprobs"},
		{"minus zero", func(r *Record) { r.Segments[0].Temperature = math.Copysign(0, -1) }, "logprobs"},
		{"start", func(r *Record) { up(&r.Segments[0].Start) }, "segments"},
		{"end", func(r *Record) { up(&r.Segments[0].End) }, "segments"},
		{"text of a segment", func(r *Record) { r.Segments[0].Text += " " }, "segments"},
		{"hypothesis", func(r *Record) { r.Hypothesis += " " }, "segments"},
		{"language", func(r *Record) { r.Language = "nl" }, "segments"},
		{"failed", func(r *Record) { r.Error = "no" }, "failed"},
		{"a choice that led to no segment", func(r *Record) { r.ChoiceHashes.Tokens = "2" }, "tokens"},
		{"a log-probability inside a mean", func(r *Record) { r.ChoiceHashes.LogProbs = "2" }, "logprobs"},
	}
	for _, tt := range tests {
		a, b := made(1, false)[0], made(1, false)[0]
		a.ChoiceHashes, b.ChoiceHashes = &transcript.ChoiceHashes{Tokens: "1", LogProbs: "1"}, &transcript.ChoiceHashes{Tokens: "1", LogProbs: "1"}
		tt.change(b)
		if got := strings.Join(Differ(a, b), ","); got != tt.want {
			t.Errorf("%s: differs in %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	tests := []struct {
		values []float64
		p      float64
		want   float64
	}{
		{[]float64{3}, 0.5, 3}, {[]float64{3}, 0.95, 3}, {[]float64{1, 2}, 0.5, 1.5}, {[]float64{1, 2, 9}, 0.5, 2},
		{[]float64{1, 2, 3, 4, 5}, 0.25, 2}, {[]float64{1, 2, 3, 4, 5}, 1, 5}, {[]float64{1, 2, 3, 4, 5}, 0, 1},
	}
	for _, tt := range tests {
		if got := quantile(tt.values, tt.p); got != tt.want {
			t.Errorf("quantile of %v at %v = %v, want %v", tt.values, tt.p, got, tt.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name   string
		change func(r []*Record)
		want   Verdict
	}{
		{"drafted", nil, Identical},
		{"nothing drafted", func(r []*Record) {
			for _, r := range r {
				r.Drafting.Drafted = 0
			}
		}, Inconclusive},
		{"a bit, and nothing drafted", func(r []*Record) {
			for _, r := range r {
				r.Drafting.Drafted = 0
			}
			r[4].Segments[0].End += 1e-12
		}, Different},
	}
	for _, tt := range tests {
		c := compared(t, 9, tt.change).Comparisons[0]
		if c.Verdict != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, c.Verdict, tt.want)
		}
	}
	d := compared(t, 0, nil)
	empty := d.Comparisons[0]
	if empty.Verdict != Inconclusive {
		t.Errorf("no utterance: %s, want inconclusive", empty.Verdict)
	}
}

// TestJoin checks that files say what pairs say, in whatever order and wherever
// the second one's records are.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	a, b := made(30, false), made(30, true)
	b[4].Segments[0].Tokens[0]++
	b[9].Error = "lost"
	a[11].Error, b[11].Error = "no sound", "no sound"
	want := compared(t, 30, func(r []*Record) {
		r[4].Segments[0].Tokens[0]++
		r[9].Error = "lost"
	}).Comparisons[0]
	writeRecords(t, filepath.Join(dir, "a.jsonl"), a)
	slices.Reverse(b)
	writeRecords(t, filepath.Join(dir, "b1.jsonl"), b[:10])
	writeRecords(t, filepath.Join(dir, "b2.jsonl"), append(b[10:28:28], &Record{ID: "more", Hypothesis: "x", Run: b[0].Run}))

	d, err := Load(t.Context(), []Files{{"a", []string{filepath.Join(dir, "a.jsonl")}}, {"b", []string{filepath.Join(dir, "b1.jsonl"), filepath.Join(dir, "b2.jsonl")}}},
		"basic", "")
	if err != nil {
		t.Fatal(err)
	}
	c := d.Comparisons[0]
	found := map[string]string{}
	for _, f := range c.Differences {
		found[f.ID] = strings.Join(f.What, ",")
	}
	if diff := cmp.Diff(map[string]string{
		a[4].ID: "tokens", a[9].ID: "failed in b",
		a[0].ID: "missing in b", a[1].ID: "missing in b", "more": "missing in a",
	}, found); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if c.Failed != 1 || c.Utterances != want.Utterances-3 || c.Different != 2 || c.Verdict != Different {
		t.Errorf("%d failed, %d compared, %d different, %s", c.Failed, c.Utterances, c.Different, c.Verdict)
	}
	if note := strings.Join(d.notes(), " "); !strings.Contains(note, "a and b do not have the same ones, since 3 utterances are in one") {
		t.Errorf("note %q", note)
	}
	if i := slices.IndexFunc(c.Differences, func(f Difference) bool { return f.ID == a[9].ID }); c.Differences[i].Text.Assisted != "failed: lost" || c.Differences[i].Text.Baseline != a[9].Hypothesis {
		t.Errorf("texts of a difference: %+v", c.Differences[i].Text)
	}
}

func TestRead(t *testing.T) {
	good := `{"schema":"verity.record/2","id":"a","hypothesis":"x"}`
	other := strings.Replace(good, `"a"`, `"b"`, 1)
	row := func(n int, id string) string {
		return fmt.Sprintf(`{"schema":"verity.record/2","id":%q,"row":%d}`, id, n) + "\n"
	}
	tests := []struct {
		name, text string
		want       []string // ids, or parts of errors
	}{
		{"whole", good + "\n\n" + other + "\n", []string{"a", "b"}},
		{"tried again", row(2, "a") + row(1, "b") + row(3, "c") + row(2, "a"), []string{"b", "a", "c"}},
		{"withdrawn", row(1, "a") + strings.Replace(row(1, "a"), "{", `{"withdrawn":true,`, 1) + row(2, "b"), []string{"b"}},
		{"torn", good + "\n" + good[:20], []string{"a", "test:2: the last line is incomplete"}},
		{"torn at its very end", good + "\n" + good, []string{"a", "test:2: the last line is incomplete"}},
		{"bad line", "{]\n" + good + "\n", []string{"a", "test:1: malformed"}},
		{"another schema", `{"schema":"verity.record/9","id":"a"}` + "\n", []string{"unsupported"}},
		{"no id", `{"schema":"verity.record/2"}` + "\n", []string{"no id"}},
	}
	for _, tt := range tests {
		var got []string
		records, bad, err := Read("test", strings.NewReader(tt.text))
		if err != nil {
			t.Error(err)
		}
		for _, r := range records {
			got = append(got, r.ID)
		}
		for _, line := range bad {
			got = append(got, line.Error())
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tt.want[i]) {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
	}
	if _, bad, _ := Read("test", strings.NewReader("{")); len(bad) != 1 || !errors.Is(bad[0], ErrTorn) {
		t.Errorf("torn line: %v", bad)
	}
}

// TestRoundTrip checks that a record is the same bits when it is read again.
func TestRoundTrip(t *testing.T) {
	r := made(1, true)[0]
	r.Segments[0].AvgLogProb = -math.Pi / 1e7
	r.Segments[0].Temperature = math.Copysign(0, -1)
	r.Segments[0].Runs = []transcript.TextRun{{Text: " two", Accepted: true, Round: 2, Refused: " too"}}
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	records, bad, err := Read("x", bytes.NewReader(line))
	if len(records) != 1 {
		t.Fatal(bad, err)
	}
	got := records[0]
	if diff := cmp.Diff(r, got, cmp.AllowUnexported(transcript.Segment{})); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if d := Differ(r, got); d != nil {
		t.Errorf("differs in %v", d)
	}
	r.Segments[0].AvgLogProb = math.Inf(-1)
	if _, err := r.Line(); err == nil {
		t.Error("a record with -Inf: no error")
	}
}

func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if f, err := Find(dir); err == nil {
		t.Errorf("an empty folder: %v", f)
	}
	for _, name := range []string{"baseline.jsonl", "assisted.jsonl"} {
		writeRecords(t, filepath.Join(dir, name), nil)
	}
	if err := os.WriteFile(filepath.Join(dir, VariantsFile), []byte(`["baseline","assisted"]`), 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := Find(dir); err != nil || len(f) != 2 || f[1].Name != "assisted" {
		t.Errorf("two variants: %v, %v", f, err)
	}
	for _, name := range []string{"records-2-of-2.jsonl", "records-1-of-2.jsonl"} {
		writeRecords(t, filepath.Join(dir, name), nil)
	}
	if f, err := Find(dir); err != nil || len(f) != 1 || len(f[0].Paths) != 2 {
		t.Errorf("shards: %v, %v", f, err)
	}
}
