package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/bench"
)

func ladderOf(t *testing.T, args ...string) (*bench.Ladder, string, error) {
	t.Helper()
	var out bytes.Buffer
	c := benchCommand(env{out: &out, err: new(bytes.Buffer)})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	if err := c.ExecuteContext(t.Context()); err != nil {
		return nil, out.String(), err
	}
	l := new(bench.Ladder)
	return l, out.String(), json.Unmarshal(out.Bytes(), l)
}

// TestLadder: every rung is measured plain and assisted, the narrower ones read less.
func TestLadder(t *testing.T) {
	digits := filepath.Join("..", "..", "models", "digits")
	target, assistant := filepath.Join(digits, "target"), filepath.Join(digits, "assistant")
	data, chart := t.TempDir(), filepath.Join(t.TempDir(), "ladder.svg")
	sound, err := os.ReadFile(filepath.Join(digits, "digits.wav"))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"a.wav": sound, "a.txt": []byte("one nine seven six eight three five seven seven four\n")} {
		if err := os.WriteFile(filepath.Join(data, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, _, err := ladderOf(t, "--ladder=f16,int4", "-m", target, "-a", assistant, "--dataset", data, "-l", "en", "--json", "--out", chart)
	if err != nil {
		t.Fatal(err)
	}
	if l.Schema != bench.LadderSchema || len(l.Rungs) != 2 || l.Utterances != 1 || l.Assistant != "assistant" {
		t.Fatalf("ladder %+v", l)
	}
	for _, r := range l.Rungs {
		if r.Assisted == nil || r.Verdict != "identical" || !(r.Assisted.Accepted > 0) || !(r.Plain.Rate > 0) || !(r.Plain.MBU > 0) || r.WER == nil {
			t.Errorf("rung %+v: want both arms, identical, with rates and an error rate", r)
		}
	}
	if wide, narrow := l.Rungs[0].Plain.BytesPerToken, l.Rungs[1].Plain.BytesPerToken; !(narrow < wide/2) {
		t.Errorf("%.0f bytes a token in int4, %.0f in f16: want less than half", narrow, wide)
	}
	if b, err := os.ReadFile(chart); err != nil || !bytes.Contains(b, []byte("<svg")) {
		t.Errorf("chart: %v", err)
	}
	plain, text, err := ladderOf(t, "--ladder=int8", "-m", target, "--audio", filepath.Join(digits, "digits.wav"), "--json")
	if err != nil || plain.Rungs[0].Assisted != nil || plain.Rungs[0].WER != nil {
		t.Errorf("one plain rung: %v\n%s", err, text)
	}
}

func TestLadderUsage(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"--ladder", "--ladder needs sound"},
		{"--ladder=f16,int7 --audio x.wav", `unknown format "int7"`},
		{"--ladder --audio x.wav --size tiny", "random weights say nothing"},
		{"--ladder --audio x.wav --out x.png", "ends in .svg"},
		{"--ladder --audio x.wav --load", "name one of them"},
		{"--audio x.wav", "--audio is for --ladder"},
		{"--ladder --audio x.wav --repeats 0", "--repeats 0: must be 1 or more"},
	} {
		if _, _, err := ladderOf(t, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(usageError)) {
			t.Errorf("%s: error %v, want one of usage: %s", tt.args, err, tt.want)
		}
	}
}
