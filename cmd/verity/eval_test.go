package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
	"verity/eval/report"
	"verity/internal/testing/needs"
)

// shelf writes a dataset: sounds with their texts, and whatever else is asked for.
func shelf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEvalStatus(t *testing.T) {
	model := modelDir(t)
	good := shelf(t, map[string]string{"a.wav": string(wav(0.4)), "a.txt": "hello there", "b.wav": string(wav(0.3)), "b.txt": "so"})
	bad := shelf(t, map[string]string{"a.wav": string(wav(0.4)), "a.txt": "hello", "b.wav": "RIFF, no sound", "b.txt": "so", "c.wav": string(wav(0.1))})
	silent := shelf(t, map[string]string{"a.wav": string(wav(0.4)), "a.txt": "hello", "b.wav": string(wav(0.3)), "b.txt": " \n"})
	splits := shelf(t, map[string]string{"a.wav": string(wav(0.2)), "m.jsonl": `{"audio":"a.wav","text":"so","split":"train"}` + "\n" + `{"audio":"a.wav","text":"so","split":"dev"}`, "none.jsonl": "\n"})
	once := "--temperature-increment-on-fallback=none"
	with := func(args ...string) []string { return append([]string{"eval", "-m", model, once}, args...) }
	tests := []struct {
		name   string
		args   []string
		want   int
		stderr string
	}{
		{"good", with("-d", good), 0, ""},
		{"bad sound", with("-d", bad), 1, "utterances failed"},
		{"empty text", with("-d", silent), 0, ""},
		{"split", with("-d", filepath.Join(splits, "m.jsonl:dev")), 0, ""},
		{"no column", with("-d", tableWithout(t)), 2, "t.tsv: has no field of sound: the fields are"},
		{"no row", with("-d", filepath.Join(splits, "none.jsonl")), 2, "there is nothing to do"},
		{"compare no such split", []string{"compare", "-a", "self", "-m", model, "-d", filepath.Join(splits, "m.jsonl:test")}, 2, "want dev or train"},
		{"empty shard", with("-d", good, "--shard", "3/3"), 0, "shard 3/3 is empty"},
		{"compare without", []string{"compare", "-m", model, "-a", "self"}, 2, "name a dataset with --dataset PATH, or sound files"},
		{"compare nothing drafted", []string{"compare", "-m", model, "-d", good, once, "-a", "self", "--draft-tokens", "0"}, 3, "inconclusive"},
		{"compare assisted by itself", []string{"compare", "-m", model, "-d", good, once, "-a", "self", "--draft-tokens", "3"}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := program(t, nil, tt.args...)
			if code != tt.want || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d, want %d, with %q in:\n%s", code, tt.want, tt.stderr, stderr)
			}
		})
	}
}

// TestEvalReport runs eval in shards, plain and assisted. A report of all shards must have the
// scores of an eval of the whole.
func TestEvalReport(t *testing.T) {
	model, out := modelDir(t), t.TempDir()
	data := shelf(t, map[string]string{
		"a.wav": string(wav(0.4)), "a.txt": "hello there", "b.wav": string(wav(0.3)), "b.txt": "so", "c.wav": string(wav(0.2)), "c.txt": "",
	})
	once := "--temperature-increment-on-fallback=none"
	do := func(want int, args ...string) map[string]any {
		t.Helper()
		code, stdout, stderr := program(t, nil, args...)
		if code != want {
			t.Fatalf("%v: status %d, want %d:\n%s", args, code, want, stderr)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(stdout), &m); err != nil {
			t.Fatalf("%v: %v in %s", args, err, stdout)
		}
		return m
	}
	plain, assisted := filepath.Join(out, "plain"), filepath.Join(out, "assisted")
	whole := do(0, "eval", "-m", model, once, "-d", data, "--json", "-a", "none", "-o", plain, "--batch", "2")
	for _, shard := range []string{"1/2", "2/2"} {
		do(0, "eval", "-m", model, once, "-d", data, "--json", "-a", "self", "--draft-tokens", "2", "-o", assisted, "--shard", shard)
	}
	again := do(0, "eval", "-m", model, once, "-d", data, "--json", "-a", "none", "-o", plain)
	page := filepath.Join(out, "page.html")
	both := do(0, "report", "--json", "--html", page, plain, assisted)
	for _, m := range []map[string]any{again, both["arms"].([]any)[0].(map[string]any)} {
		for _, field := range []string{"utterances", "reference_words", "wer", "cer", "insertions", "audio_seconds"} {
			if m[field] != whole[field] {
				t.Errorf("%s = %v, want %v as eval gives", field, m[field], whole[field])
			}
		}
	}
	c := both["pairs"].([]any)[0].(map[string]any)
	if c["verdict"] != "identical" || both["schema"] != report.CompareSchema {
		t.Errorf("verdict %v, schema %v", c["verdict"], both["schema"])
	}
	for _, name := range []string{page} {
		raw, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(raw, []byte("<title>")) {
			t.Errorf("%s: %v, or without its title", name, err)
		}
	}
	if code, _, stderr := program(t, nil, "eval", "-m", model, once, "-d", data, "-a", "none", "-o", plain, "--suppress-tokens", "7"); code != 2 || !strings.Contains(stderr, "another run, with the default of --suppress-tokens") {
		t.Errorf("other options over the same folder: status %d:\n%s", code, stderr)
	}
	other := filepath.Join(out, "other")
	do(0, "eval", "-m", model, once, "-d", data, "--json", "-a", "none", "-o", other, "--shard", "2/2")
	if err := os.Link(filepath.Join(assisted, "records-1-of-2.jsonl"), filepath.Join(other, "records-1-of-2.jsonl")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program(t, nil, "report", other); code != 2 || !strings.Contains(stderr, `assistant: "self" and ""`) ||
		!strings.Contains(stderr, "records-1-of-2.jsonl") || !strings.Contains(stderr, "records-2-of-2.jsonl") {
		t.Errorf("shards of two runs: status %d:\n%s", code, stderr)
	}

	// What is missing is said in every form.
	if err := os.Remove(filepath.Join(assisted, "records-1-of-2.jsonl")); err != nil {
		t.Fatal(err)
	}
	const missing = "shard 1/2 is missing"
	for _, args := range [][]string{{assisted}, {filepath.Join(assisted, "records-2-of-2.jsonl")}, {plain, assisted}} {
		code, stdout, stderr := program(t, nil, append([]string{"report", "--html", page}, args...)...)
		if code != 1 || !strings.Contains(stderr, missing) || !strings.Contains(stdout, missing) || !strings.Contains(stdout, "1 of 2: INCOMPLETE") {
			t.Errorf("%v without a shard: status %d:\n%s\n%s", args, code, stderr, stdout)
		}
		for _, name := range []string{page} {
			if raw, err := os.ReadFile(name); err != nil || !bytes.Contains(raw, []byte(missing)) {
				t.Errorf("%s does not say what is missing: %v", name, err)
			}
		}
	}
	part := do(1, "report", "--json", assisted)
	if got := part["shards"].(map[string]any)["missing"].([]any); len(got) != 1 || got[0] != 1.0 || part["utterances"] != 1.0 {
		t.Errorf("JSON: missing %v, utterances %v, want 1 and the one that is there", got, part["utterances"])
	}
	if err := os.WriteFile(filepath.Join(plain, "records.jsonl"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program(t, nil, "report", plain); code != 2 || !strings.Contains(stderr, "nothing to report") {
		t.Errorf("no records: status %d:\n%s", code, stderr)
	}
}

// TestEvalRetriesFailures runs eval again after the broken files were repaired: every utterance
// is scored exactly once.
func TestEvalRetriesFailures(t *testing.T) {
	model, out := modelDir(t), t.TempDir()
	data := shelf(t, map[string]string{"a.wav": string(wav(0.2)), "b.wav": "RIFF, no sound", "m.jsonl": `{"audio":"a.wav","id":"a","text":"so"}
{"audio":"b.wav","id":"b","text":"so"}
{"audio":"a.wav","id":"c"}
{"audio":"lost.wav","id":"d","text":"so"}
{"audio":"a.wav","id":"e"
{"audio":"a.wav","id":"f","text":"so"}
`})
	eval := []string{"eval", "-m", model, "--temperature-increment-on-fallback=none", "-d", filepath.Join(data, "m.jsonl"), "-o", out}
	code, stdout, _ := program(t, nil, eval...)
	if code != 1 {
		t.Errorf("status %d, want 1", code)
	}
	for _, want := range []string{"failed  4", "m.jsonl:3: has no field of text", "m.jsonl:4: sound file", "m.jsonl:5: is no JSON object", "  b: "} {
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	mended := strings.NewReplacer(`"id":"e"`, `"id":"e","text":"so"}`, `"id":"c"`, `"id":"c","text":"so"`)
	raw, err := os.ReadFile(filepath.Join(data, "m.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"m.jsonl": mended.Replace(string(raw)), "b.wav": string(wav(0.2)), "lost.wav": string(wav(0.2))} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr := program(t, nil, eval...)
	if code != 0 || !strings.Contains(stderr, "found 2 records, added 4; tried 4 again that had failed") {
		t.Errorf("status %d:\n%s", code, stderr)
	}
	var ids []string
	done, err := os.ReadFile(filepath.Join(out, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	records, bad, err := report.Read("records", bytes.NewReader(done))
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	for _, r := range records {
		if r.Error != "" {
			t.Fatal(r)
		}
		ids = append(ids, r.ID)
	}
	if got := strings.Join(ids, " "); got != "a b c d e f" {
		t.Errorf("records of %s, want a to f in their order", got)
	}
}

// TestEvalProgress checks that a terminal shows progress and the score so far.
func TestEvalProgress(t *testing.T) {
	data := shelf(t, map[string]string{"a.wav": string(wav(0.1)), "a.txt": "hello"})
	var out, stderr bytes.Buffer
	e := cli.Env{Out: &out, Err: &stderr, ErrTerminal: true}
	if code := run(t.Context(), e, []string{"eval", "-m", modelDir(t), "-d", data, "--temperature-increment-on-fallback=none"}); code != 0 {
		t.Fatalf("status %d:\n%s", code, stderr.String())
	}
	if !regexp.MustCompile(`WER [\d.]+ %, [\d.]+× real time`).MatchString(stderr.String()) {
		t.Errorf("no score on the way in %q", stderr.String())
	}
	if !strings.Contains(stderr.String(), "\r\x1b[Kloading ") {
		t.Errorf("no word about loading in %q", stderr.String())
	}
}

// TestDigitsDemo evaluates and compares on the recording in the repository: plain and assisted
// decoding give the same bits and the same score.
func TestDigitsDemo(t *testing.T) {
	out := t.TempDir()
	for _, assistant := range []string{"none", "digits"} {
		code, _, stderr := program(t, nil, "eval", "-q", "-d", "../../model/digits", "--normalizer", "basic", "-a", assistant, "--draft-tokens", "4", "-o", filepath.Join(out, assistant))
		if code != 0 {
			t.Fatalf("eval with assistant %s: status %d:\n%s", assistant, code, stderr)
		}
	}
	var d struct {
		Arms  []report.Score
		Pairs []report.Comparison
	}
	code, stdout, stderr := program(t, nil, "report", "--json", "--normalizer", "basic", filepath.Join(out, "none"), filepath.Join(out, "digits"))
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v:\n%s", err, stderr)
	}
	c, a, b := d.Pairs[0], d.Arms[0], d.Arms[1]
	if code != 0 || c.Verdict != report.Identical || c.Identical.Tokens != 1 || c.Acceptance.Accepted == 0 {
		t.Errorf("status %d: %s\n%s", code, stdout, stderr)
	}
	if a.WER != b.WER || a.ReferenceWords != 10 || a.WER > 0.2 {
		t.Errorf("WER %v and %v of %d words, want the same, at most two of ten wrong", a.WER, b.WER, a.ReferenceWords)
	}
}

// TestDigitsCompare compares the digits model with its assistant on real speech.
func TestDigitsCompare(t *testing.T) {
	manifest := needs.SharedFile(t, "digits/manifest.jsonl")
	code, stdout, stderr := program(t, nil, "compare", "-d", manifest+":test", "--limit", "12", "--draft-tokens", "4", "--normalizer", "basic", "--json")
	var d struct{ Pairs []report.Comparison }
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || len(d.Pairs) != 1 {
		t.Fatalf("%v:\n%s", err, stderr)
	}
	c := d.Pairs[0]
	if code != 0 || c.Verdict != report.Identical || c.Utterances != 12 || c.Acceptance.Drafted == 0 || c.WER == nil || c.WER.Baseline != c.WER.Assisted {
		t.Errorf("status %d: %s\n%s", code, stdout, stderr)
	}
}

// tableWithout returns a table whose columns have unknown names.
func tableWithout(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "t.tsv")
	if err := os.WriteFile(name, []byte("snd\ttxt\na.wav\thello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
