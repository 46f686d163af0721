package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
	"verity/eval/report"
	"verity/precision"
	"verity/transcript"
)

func TestParseVariants(t *testing.T) {
	for _, tt := range []struct{ in, want, err string }{
		{"f16,mxfp6,mxfp6+assistant", "f16,mxfp6,mxfp6+assistant", ""},
		{"int8:cache=f16, int8", "int8:cache=f16,int8", ""},
		{"auto+assistant,auto", "auto+assistant,auto", ""},
		{"f16,f16", "", "variant f16 is named twice"},
		{"int8,int7", "", `unknown format "int7"`},
		{"int8+assistant", "", "name two or more"},
		{"f16,", "", "unknown format"},
	} {
		a := specsFlag{one: new(precision.Precision)}
		err := a.Set(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || a.String() != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.in, a.String(), err, tt.want)
		}
	}
	one := specsFlag{one: new(precision.Precision)}
	if err := one.Set("int8"); err != nil || one.list != nil || one.String() != "int8" {
		t.Errorf("one precision: %v, %q, %v", one.list, one.String(), err)
	}
}

// TestCompareVariants: three variants over a sound, twice: the second time all is there.
func TestCompareVariants(t *testing.T) {
	digits := filepath.Join("..", "..", "..", "model", "digits")
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	run := func(precision string, more ...string) (string, string, error) {
		var out, problems bytes.Buffer
		c := Compare(cli.Env{Out: &out, Err: &problems})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(append([]string{
			"-q", "-m", filepath.Join(digits, "target"), filepath.Join(digits, "digits.wav"), "--clip-timestamps", "0,4",
			"--draft-tokens", "3", "--precision", precision,
		}, more...))
		err := c.ExecuteContext(t.Context())
		return out.String(), problems.String(), err
	}
	assistant := filepath.Join(digits, "assistant")
	records := filepath.Join(dir, "records")
	for again := range 2 {
		out, _, err := run("f16,int4,int4+assistant", "-a", assistant, "--json", "--html", page, "--out", records)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Schema, Verdict string
			Arms            []struct {
				Name            string
				TokensPerSecond float64 `json:"tokens_per_second"`
				BytesPerToken   float64 `json:"bytes_per_token"`
				GBPS            float64
				Run             transcript.Provenance
			}
			Pairs []report.Comparison
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		if d.Schema != report.CompareSchema || d.Verdict != string(report.Identical) || len(d.Arms) != 3 || len(d.Pairs) != 3 {
			t.Fatalf("schema %s, verdict %s, %d variants, %d comparisons", d.Schema, d.Verdict, len(d.Arms), len(d.Pairs))
		}
		last := d.Pairs[2]
		if last.Names.Baseline != "int4" || last.Names.Assisted != "int4+assistant" || last.Acceptance.Drafted == 0 {
			t.Errorf("last comparison: %+v, drafted %d; want the assisted variant against the plain one of its precision", last.Names, last.Acceptance.Drafted)
		}
		if r := d.Arms[2].Run; r.Options["precision"] != "int4" || r.Assistant == "" || d.Arms[1].Run.Assistant != "" {
			t.Errorf("runs %+v", d.Arms)
		}
		for _, a := range d.Arms {
			if again == 0 && !(a.TokensPerSecond > 0 && a.BytesPerToken > 0 && a.GBPS > 0) {
				t.Errorf("variant %+v: want tokens per second, and what they read", a)
			}
		}
		if wide, narrow := d.Arms[0].BytesPerToken, d.Arms[1].BytesPerToken; again == 0 && !(narrow < wide/2) {
			t.Errorf("%.0f bytes a token in int4, %.0f in f16: want less than half", narrow, wide)
		}
	}
	files, err := report.Find(records)
	if err != nil || len(files) != 3 || files[2].Name != "int4+assistant" {
		t.Errorf("Find = %v, %v, want the three variants in order", files, err)
	}
	if b, err := os.ReadFile(page); err != nil || strings.Count(string(b), "<summary>How ") != 3 {
		t.Errorf("%v: the page does not say how three variants were made", err)
	}
	out, _, err := run("int4", "-a", assistant, "--draft-tokens", "5")
	if err != nil || !strings.Contains(out, "5 against baseline:") || !strings.Contains(out, "3 against 5: 1 utterance identical") {
		t.Errorf("two draft lengths: %v, %s", err, out)
	}
	for _, tt := range []struct{ precision, assistant, want string }{
		{"f16,int8+assistant", "none", "there is no assistant"},
		{"f16,int8", assistant, "no variant has it"},
	} {
		if _, _, err := run(tt.precision, "-a", tt.assistant); err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(cli.UsageError)) {
			t.Errorf("%s with %s: error %v, want one of usage: %s", tt.precision, tt.assistant, err, tt.want)
		}
	}
	if out, _, err := run("f16,int8", "-a", "none"); err != nil || !strings.Contains(out, "int8 against f16") {
		t.Errorf("two plain variants: %v\n%s", err, out)
	}
}
