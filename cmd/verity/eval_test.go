package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"verity/audio"
	"verity/eval"
	"verity/report"
	"verity/tokenizer"
	"verity/transcript"
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
	once := "--temperature-increment-on-fallback=none"
	with := func(args ...string) []string { return append([]string{"eval", "-m", model, once}, args...) }
	tests := []struct {
		name   string
		args   []string
		want   int
		stderr string
	}{
		{"good", with("-d", good), 0, ""},
		{"bad sound", with("-d", bad), 1, "utterances have failed"},
		{"no dataset", with(), 2, "--dataset PATH is missing"},
		{"empty place", with("-d", t.TempDir()), 1, "dataset"},
		{"shard", with("-d", good, "--shard", "3/2"), 2, "--shard"[2:]},
		{"batch", with("-d", good, "--batch", "0"), 2, "--batch"},
		{"limit", with("-d", good, "--limit", "-1"), 2, "--limit"},
		{"format", with("-d", good, "--dataset-format", "xml"), 2, "--dataset-format"},
		{"normalizer", with("-d", good, "--normalizer", "dutch"), 2, "--normalizer"},
		{"decoding flag", with("-d", good, "--temperature", "-1"), 2, "--temperature"},
		{"argument", with("-d", good, "more"), 2, "no arguments"},
		{"compare without", []string{"compare", "-m", model}, 2, "--dataset PATH is missing"},
		{"compare both", []string{"compare", "-m", model, "-d", good, "--audio", "a.wav"}, 2, "take one"},
		{"compare argument", []string{"compare", "-m", model, "a.wav"}, 2, "--audio"},
		{"compare repeats", []string{"compare", "-m", model, "-d", good, "--repeats", "0"}, 2, "--repeats"},
		{"compare nothing drafted", []string{"compare", "-m", model, "-d", good, once, "-a", "none"}, 3, "inconclusive"},
		{"compare assisted by itself", []string{"compare", "-m", model, "-d", good, once, "-a", "self", "--draft-tokens", "3"}, 0, ""},
		{"report of nothing", []string{"report"}, 2, "no records"},
		{"report of no file", []string{"report", filepath.Join(good, "nowhere")}, 1, "nowhere"},
		{"report of no records", []string{"report", good}, 1, "records*.jsonl"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := cli(t, nil, tt.args...)
			if code != tt.want || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d, want %d, with %q in:\n%s", code, tt.want, tt.stderr, stderr)
			}
		})
	}
}

// TestEvalReport runs eval in shards, plain and assisted, and reports on what they
// leave: the scores must be those that eval itself gives for the whole.
func TestEvalReport(t *testing.T) {
	model, out := modelDir(t), t.TempDir()
	data := shelf(t, map[string]string{
		"a.wav": string(wav(0.4)), "a.txt": "hello there", "b.wav": string(wav(0.3)), "b.txt": "so", "c.wav": string(wav(0.2)), "c.txt": "",
	})
	once := "--temperature-increment-on-fallback=none"
	do := func(want int, args ...string) map[string]any {
		t.Helper()
		code, stdout, stderr := cli(t, nil, args...)
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
	page, md := filepath.Join(out, "page.html"), filepath.Join(out, "page.md")
	both := do(0, "report", "--json", "--html", page, "--markdown", md, "--title", "Mine", plain, assisted)
	for _, m := range []map[string]any{again, both} {
		for _, field := range []string{"utterances", "reference_words", "wer", "cer", "insertions", "audio_seconds"} {
			if m[field] != whole[field] {
				t.Errorf("%s = %v, want %v as eval gives", field, m[field], whole[field])
			}
		}
	}
	c := both["comparisons"].([]any)[0].(map[string]any)
	if c["verdict"] != "identical" || both["schema"] != "verity.report/1" {
		t.Errorf("verdict %v, schema %v", c["verdict"], both["schema"])
	}
	for _, name := range []string{page, md} {
		raw, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(raw, []byte("Mine")) {
			t.Errorf("%s: %v, or without its title", name, err)
		}
	}
	if code, _, stderr := cli(t, nil, "eval", "-m", model, once, "-d", data, "-a", "none", "-o", plain, "--suppress-tokens", "7"); code != 1 || !strings.Contains(stderr, "another run: options") {
		t.Errorf("other options over the same folder: status %d:\n%s", code, stderr)
	}
	if code, _, stderr := cli(t, nil, "report", "--merge", filepath.Join(assisted, "records-1-of-2.jsonl"), plain); code != 1 || !strings.Contains(stderr, "twice") {
		t.Errorf("shards of two runs: status %d:\n%s", code, stderr)
	}
}

// fixed returns a contest of two engines that say what they are told.
func fixed(assisted func(*transcript.Transcript)) func(context.Context, *comparing, *corpus) (*contest, error) {
	say := func(change func(*transcript.Transcript)) eval.Engine {
		return eval.EngineFunc(func(_ context.Context, clip *audio.Clip) (*transcript.Transcript, error) {
			t := &transcript.Transcript{Text: " hello", Language: "en", Duration: 1}
			t.Segments = []transcript.Segment{{End: 1, Text: " hello", Tokens: []tokenizer.Token{5, 6}, AvgLogProb: -0.5}}
			t.Stats.Seconds.Decode, t.Stats.Seconds.Total = 0.5, 1
			if strings.HasSuffix(clip.Name(), "b.wav") {
				change(t)
			}
			return t, nil
		})
	}
	return func(context.Context, *comparing, *corpus) (*contest, error) {
		b := say(func(t *transcript.Transcript) {
			t.Stats.Drafts = transcript.Drafts{Rounds: 2, Drafted: 3, Accepted: 1, Histogram: []int{1, 1}}
			assisted(t)
		})
		return &contest{Arms: eval.Arms{Baseline: say(func(*transcript.Transcript) {}), Assisted: b}, close: func() {}}, nil
	}
}

// TestCompareStatus checks that one wrong bit of one utterance is status 3.
func TestCompareStatus(t *testing.T) {
	data := shelf(t, map[string]string{"a.wav": string(wav(0.1)), "a.txt": "hello", "b.wav": string(wav(0.1)), "b.txt": "hello"})
	tests := []struct {
		name   string
		change func(*transcript.Transcript)
		want   int
		stderr string
	}{
		{"the same", func(*transcript.Transcript) {}, 0, ""},
		{"a token", func(t *transcript.Transcript) { t.Segments[0].Tokens[1] = 7 }, 3, "1 utterances differ: b"},
		{"a bit of a log-probability", func(t *transcript.Transcript) { t.Segments[0].AvgLogProb -= 1e-16 }, 3, "differ"},
		{"a time", func(t *transcript.Transcript) { t.Segments[0].End = 0.98 }, 3, "differ"},
		{"nothing drafted", func(t *transcript.Transcript) { t.Stats.Drafts = transcript.Drafts{} }, 3, "inconclusive"},
	}
	for _, tt := range tests {
		var out, stderr bytes.Buffer
		c := newComparing(env{out: &out, err: &stderr}, fixed(tt.change)).command()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs([]string{"-d", data, "--json", "-q"})
		err := c.ExecuteContext(t.Context())
		code := 0
		if err != nil {
			code = 1
			if errors.As(err, new(differsError)) {
				code = 3
			}
			stderr.WriteString(err.Error())
		}
		if code != tt.want || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%s: status %d, want %d, with %q in %q", tt.name, code, tt.want, tt.stderr, stderr.String())
		}
		var m report.Comparison
		if err := json.Unmarshal(out.Bytes(), &m); err != nil || m.Schema != report.CompareSchema {
			t.Errorf("%s: %v in %s", tt.name, err, out.String())
		}
	}
}

// TestMustAgree checks whose records may not differ.
func TestMustAgree(t *testing.T) {
	run := report.Run{ModelID: "m", Dataset: "d", Options: map[string]string{"draft-tokens": "auto", "temperature": "0"}}
	tests := []struct {
		name  string
		other report.Run
		want  bool
	}{
		{"the same", run, true},
		{"another assistant", report.Run{ModelID: "m", Dataset: "d", Assistant: "a", Options: map[string]string{"draft-tokens": "5", "temperature": "0", "assistant-precision": "f16"}}, true},
		{"another model", report.Run{ModelID: "n", Dataset: "d", Options: run.Options}, false},
		{"another dataset", report.Run{ModelID: "m", Dataset: "e", Options: run.Options}, false},
		{"another temperature", report.Run{ModelID: "m", Dataset: "d", Options: map[string]string{"temperature": "1"}}, false},
	}
	for _, tt := range tests {
		if got := mustAgree(report.Pair[report.Run]{Baseline: run, Assisted: tt.other}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTally checks that a terminal sees how far it is, and with what score.
func TestTally(t *testing.T) {
	data := shelf(t, map[string]string{"a.wav": string(wav(0.1)), "a.txt": "hello"})
	var out, stderr bytes.Buffer
	e := env{out: &out, err: &stderr, errTerminal: true}
	if code := run(t.Context(), e, []string{"eval", "-m", modelDir(t), "-d", data, "--temperature-increment-on-fallback=none"}); code != 0 {
		t.Fatalf("status %d:\n%s", code, stderr.String())
	}
	if !regexp.MustCompile(`WER [\d.]+ %, [\de+.]+ times real time`).MatchString(stderr.String()) {
		t.Errorf("no score on the way in %q", stderr.String())
	}
}

// TestDigits compares on the test speakers of the digits, with the demo model: the
// promise, on real speech.
func TestDigits(t *testing.T) {
	manifest := filepath.Join("..", "..", "..", "shared", "data", "digits", "manifest.jsonl")
	if _, err := os.Stat(manifest); err != nil {
		t.Skipf("SKIPPED: %s is not here: nothing real is compared", manifest)
	}
	code, stdout, stderr := cli(t, nil, "compare", "-d", manifest, "--split", "test", "--limit", "12", "--draft-tokens", "4", "--normalizer", "basic", "--json")
	var c report.Comparison
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatalf("%v:\n%s", err, stderr)
	}
	if code != 0 || c.Verdict != report.Identical || c.Utterances != 12 || c.Acceptance.Drafted == 0 || c.WER == nil || c.WER.Baseline != c.WER.Assisted {
		t.Errorf("status %d: %s\n%s", code, stdout, stderr)
	}
}
