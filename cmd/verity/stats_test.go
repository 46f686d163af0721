package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestStats: JSON of several files has the statistics of each file, and with --stats the totals.
func TestStats(t *testing.T) {
	dir := t.TempDir()
	file, again := dir+"/tone.wav", dir+"/again.wav"
	if err := os.WriteFile(file, wav(1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(again, wav(1), 0o600); err != nil {
		t.Fatal(err)
	}
	type work struct {
		Schema string
		Files  int
		Text   string
		Stats  struct {
			Tokens int
			Drafts struct {
				Rounds, Drafted, Accepted, Refused int
			}
			Seconds   struct{ Verify, Rules float64 }
			Passes    struct{ Bytes int64 }
			Speed     *float64 `json:"tokens_per_second"`
			MBU       *float64
			Agreement *float64 `json:"alpha_agreement"`
			Overlap   *float64 `json:"alpha_overlap"`
		}
	}
	run := func(more ...string) (all []work) {
		t.Helper()
		args := append([]string{"transcribe", "-m", modelDir(t), "-l", "en", "-q", "-f", "json", "-a", "self", "--draft-tokens", "3", file, again}, more...)
		code, out, errs := program(t, nil, args...)
		if code != 0 {
			t.Fatalf("%v: status %d: %s", more, code, errs)
		}
		for line := range strings.Lines(out) {
			var w work
			if err := json.Unmarshal([]byte(line), &w); err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
		}
		return all
	}
	plain := run()
	if len(plain) != 2 || plain[0].Stats.MBU != nil || plain[0].Stats.Overlap != nil || plain[0].Stats.Agreement == nil || plain[0].Stats.Speed == nil {
		t.Fatalf("%d objects, the first %+v: want two, with agreement and speed, without what was not measured", len(plain), plain[0])
	}
	all := run("--stats")
	if len(all) != 2 {
		t.Fatalf("%d objects with --stats, want two", len(all))
	}
	a := all[0].Stats
	if a.MBU == nil || !(*a.MBU > 0) || !(a.Seconds.Rules > 0 && a.Seconds.Rules < a.Seconds.Verify) {
		t.Errorf("MBU %v, rules %v s of %v s", a.MBU, a.Seconds.Rules, a.Seconds.Verify)
	}
	if all[0].Text != plain[0].Text || a.Drafts.Accepted != plain[0].Stats.Drafts.Accepted {
		t.Errorf("measured %q, %+v, unmeasured %q, %+v", all[0].Text, a.Drafts, plain[0].Text, plain[0].Stats.Drafts)
	}
}
