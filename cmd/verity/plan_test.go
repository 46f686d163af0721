package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
	"verity/eval/plan"
)

// Files as other commands write them, cut to what a plan reads.
const (
	benchJSON = `{"schema":"verity.bench/1","model":"large-v2","dims":{"MelBins":80,"AudioPositions":1500,"Vocab":51865},"precision":"f16","seconds":30.2,
		"step":{"seconds":0.05,"bytes":2000000000,"flops":2e9},
		"verify":[{"rows":1,"ratio":1},{"rows":2,"ratio":1.1},{"rows":3,"ratio":1.2},{"rows":4,"ratio":1.3},{"rows":5,"ratio":1.4}]}`
	smallJSON = `{"schema":"verity.bench/1","model":"distil","dims":{"MelBins":80,"AudioPositions":1500,"Vocab":51865},"precision":"int8","seconds":10,
		"step":{"seconds":0.005,"bytes":100000000,"flops":4e8},"verify":[{"rows":1,"ratio":1}]}`
	// 300 rounds of drafts of 4 that kept 2 each: steps of 0.05 s, drafts of 0.005 s, passes of 1.4 steps.
	compareJSON = `{"schema":"verity.compare/2","arms":[],"pairs":[{"acceptance":{"drafted":1200,"accepted":300,"rounds":300,"mean_kept":2,
		"alpha_agreement":0.51,"alpha_overlap":0.47},
		"seconds":{"draft":{"baseline":0,"assisted":6},"verify":{"baseline":30,"assisted":21}}}]}`
	transcriptJSON = `{"text":"","stats":{"drafts":{"rounds":100,"drafted":100,"accepted":70},"alpha_agreement":0.72}}`
)

func TestPlanFrom(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"bench": benchJSON, "small": smallJSON, "compare": compareJSON, "text": transcriptJSON, "other": `{"schema":"x"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name        string
		args        string
		alpha, cost float64
		v5          float64 // V(5); 0 for none
		why         string
	}{
		{"nothing", "", 0.8, 0.1, 0, "the defaults"},
		{"bench", "--from bench", 0.8, 0.1, 1.4, "V is of the file"},
		{"two benches", "--from bench --from small --alpha 0.7", 0.7, 0.1, 1.4, "c is the quotient of steps"},
		{"compare", "--from compare", 0.51, 0.1, 1.4, "α is the agreement"},
		{"compare, but", "--from compare --cost 0.2", 0.51, 0.2, 1.4, "a flag wins over a file"},
		{"transcribe", "--from text", 0.72, 0.1, 0, "α is the agreement"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(dir)
			var out, errs bytes.Buffer
			args := append(strings.Fields("plan --json"), strings.Fields(tt.args)...)
			if code := run(t.Context(), cli.Env{Out: &out, Err: &errs}, args); code != 0 {
				t.Fatalf("status %d: %s", code, &errs)
			}
			var got plan.Forecast
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			v5 := 0.0
			if len(got.Verify) > 0 {
				v5 = got.Verify[4]
			}
			if math.Abs(got.Alpha-tt.alpha) > 1e-3 || math.Abs(got.Cost-tt.cost) > 1e-9 || math.Abs(v5-tt.v5) > 1e-9 {
				t.Errorf("α, c, V(5) = %v, %v, %v, want %v, %v, %v: %s", got.Alpha, got.Cost, v5, tt.alpha, tt.cost, tt.v5, tt.why)
			}
		})
	}
	for _, args := range []string{"--from other", "--from none", "--from small --from text --from bench --from other",
		"--alpha 2", "--alpha NaN", "--cost Inf", "--cost 1e300", "--draft-tokens 0", "--draft-tokens 65"} {
		t.Chdir(dir)
		var out, errs bytes.Buffer
		if code := run(t.Context(), cli.Env{Out: &out, Err: &errs}, append([]string{"plan"}, strings.Fields(args)...)); code == 0 {
			t.Errorf("plan %s: no error", args)
		}
	}
}

// TestPlanRefuses wants no forecast of an assistant that could not be loaded.
func TestPlanRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, dims := range map[string]string{
		"base": `"MelBins":80,"AudioPositions":1500,"Vocab":51865`, "tiny": `"MelBins":80,"AudioPositions":1500,"Vocab":51865`,
		"tiny.en": `"MelBins":80,"AudioPositions":1500,"Vocab":51864`, "short": `"MelBins":80,"AudioPositions":750,"Vocab":51865`,
		"large-v3": `"MelBins":128,"AudioPositions":1500,"Vocab":51866`,
	} {
		content := strings.NewReplacer("large-v2", name, `"MelBins":80,"AudioPositions":1500,"Vocab":51865`, dims).Replace(benchJSON)
		if err := os.WriteFile(name+".json", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for small, want := range map[string]string{
		"tiny": "", "tiny.en": "tiny.en cannot assist base: vocabulary: got 51864, want 51865", "large-v3": "vocabulary", "short": "positions of a window",
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), cli.Env{Out: &out, Err: &errs}, []string{"plan", "--from", "base.json", "--from", small + ".json"})
		if (code == 0) != (want == "") || !strings.Contains(errs.String(), want) || want != "" && out.Len() > 0 {
			t.Errorf("%s: status %d, %q, want %q", small, code, errs.String(), want)
		}
	}
}
