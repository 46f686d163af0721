package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Tests leave nothing behind, nor do the programs that scripts run.
func init() {
	if os.Getenv("VERITY_CACHE") == "" {
		os.Setenv("VERITY_CACHE", "off")
	}
}

// TestCostsKept: a run leaves a file that the next one begins with; the text is
// the same with it, without it, and with a spoilt one.
func TestCostsKept(t *testing.T) {
	dir := t.TempDir()
	sound := filepath.Join(dir, "tone.wav")
	if err := os.WriteFile(sound, wav(7), 0o600); err != nil {
		t.Fatal(err)
	}
	model := modelDir(t)
	run := func(cache string, more ...string) string {
		t.Helper()
		t.Setenv("VERITY_CACHE", cache)
		code, out, errs := cli(t, nil, append([]string{"transcribe", "-q", "-m", model, "-l", "en", "-a", "self", sound}, more...)...)
		if code != 0 || errs != "" {
			t.Fatalf("status %d: %s", code, errs)
		}
		return out
	}
	want := run("off")
	cache := filepath.Join(dir, "cache")
	files := func() []string {
		list, err := filepath.Glob(filepath.Join(cache, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if run(cache); len(files()) != 1 {
		t.Fatalf("files %v, want one", files())
	}
	name := files()[0]
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var r remembered
	if err := json.Unmarshal(raw, &r); err != nil || r.Schema != costsSchema || len(r.Costs.Verify) == 0 || len(r.Costs.Draft) == 0 {
		t.Fatalf("%v: %s", err, raw)
	}
	for spoilt, content := range map[string]string{"kept": string(raw), "garbage": "{", "empty": ""} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(cache); got != want {
			t.Errorf("%s: %q, want %q", spoilt, got, want)
		}
	}
	run(cache, "--draft-tokens", "2") // learns nothing
	if run(cache, "--threads", "1"); len(files()) != 2 {
		t.Errorf("files %v, want another for one thread", files())
	}
	// Where nothing can be written nothing is said.
	if got := run(sound); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCompareBatch: groups are compared to the bit like single utterances, and timed
// by the clock.
func TestCompareBatch(t *testing.T) {
	dir := t.TempDir()
	var args []string
	for i := range 3 {
		sound := filepath.Join(dir, string(rune('a'+i))+".wav")
		if err := os.WriteFile(sound, wav(float64(3+2*i)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--audio", sound)
	}
	args = append(args, args[0], args[1]) // the same once more
	model := modelDir(t)
	code, out, errs := cli(t, nil, append([]string{"compare", "-q", "--json", "-m", model, "-l", "en", "-a", "self", "--batch", "3", "--repeats", "2"}, args...)...)
	if code != 0 {
		t.Fatalf("status %d: %s", code, errs)
	}
	var c struct {
		Verdict    string
		Utterances int
		Identical  struct{ All int }
		Batch      struct {
			Size, Pairs int
			Decode      struct{ Baseline, Assisted float64 } `json:"decode_seconds"`
			Speed       struct{ Baseline, Assisted float64 } `json:"tokens_per_second"`
		}
		Acceptance struct{ Drafted int }
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	if c.Verdict != "identical" || c.Utterances != 4 || c.Identical.All != 4 || c.Batch.Size != 3 || c.Batch.Pairs != 4 {
		t.Errorf("%+v", c)
	}
	if !(c.Batch.Decode.Baseline > 0 && c.Batch.Decode.Assisted > 0 && c.Batch.Speed.Baseline > 0 && c.Batch.Speed.Assisted > 0) {
		t.Errorf("not timed: %+v", c.Batch)
	}
	for _, n := range []string{"0", "-1", "x"} {
		if code, _, _ := cli(t, nil, append([]string{"compare", "-q", "-m", model, "--batch", n}, args...)...); code != 2 {
			t.Errorf("--batch %s: status %d, want 2", n, code)
		}
	}
	// A batch in which nothing was drafted proves nothing either.
	if code, _, _ := cli(t, nil, append([]string{"compare", "-q", "-m", model, "-l", "en", "-a", "self", "--draft-tokens", "0", "--batch", "2"}, args...)...); code != 3 {
		t.Errorf("nothing drafted: status %d, want 3", code)
	}
}
