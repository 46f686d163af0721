package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"verity/internal/testing/testmodel"
	"verity/precision"
)

var f16 = precision.Of(precision.F16)

// TestRun measures a small model: everything is there and finite.
func TestRun(t *testing.T) {
	r, err := Run(t.Context(), testmodel.Open(t, "odd"), Options{Stage: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil { // as it would for NaN
		t.Fatal(err)
	}
	for _, field := range []string{`"schema":"verity.bench/1"`, `"gops_int8":`, `"gops_vector":`, `"vector_ops":`, `"utilization":`, `"mbu":`, `"rows":16`} {
		if !strings.Contains(string(b), field) {
			t.Errorf("JSON lacks %s: %s", field, b)
		}
	}
	for what, x := range map[string]float64{
		"flops": r.Ceiling.GFLOPS, "ops": r.Ceiling.GOPSInt8, "vectors": r.Ceiling.GOPSVector, "bytes": r.Ceiling.GBPS, "mel": r.Mel.Seconds,
		"encoder": r.Encode.Utilization, "its products": r.Encode.Products, "its attention": r.Encode.Attention, "its vectors": r.Encode.Vectors, "cross": r.CrossKV.Utilization, "step": r.Step.MBU, "bytes of a step": float64(r.Step.Bytes),
	} {
		if !(x > 0) || math.IsInf(x, 0) {
			t.Errorf("%s: %v", what, x)
		}
	}
	if len(r.Verify) != mostRows || r.Verify[0].Ratio != 1 {
		t.Errorf("verify passes: %+v", r.Verify)
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[2], "times as fast as speech: ") {
		t.Errorf("the table does not begin with what people ask first:\n%s", &out)
	}
}

// TestSummary: the result says by itself when it is not to be trusted, and why a share is
// above 100 %.
func TestSummary(t *testing.T) {
	for _, tt := range []struct {
		spread, share float64
		want          []string
	}{{1.1, 0.8, nil}, {2.2, 0.8, []string{"The machine was busy"}}, {1.1, 2, []string{"weights come from the caches"}}} {
		r := &Result{Threads: 1, Encode: Passage{Runs: 1, Seconds: 1, Utilization: 0.5}, WindowSeconds: 30,
			Step: Step{Seconds: 0.01}, Ceiling: Ceiling{Spread: tt.spread}, Verify: []Pass{{Rows: 1, Share: tt.share}}}
		var out bytes.Buffer
		if err := r.Write(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "15 times as fast as speech: 30.0 s with 100 tokens take 2.00 s") || !strings.Contains(out.String(), "on 1 thread,") {
			t.Errorf("no summary:\n%s", &out)
		}
		for _, text := range []string{"The machine was busy", "weights come from the caches"} {
			if got, want := strings.Contains(out.String(), text), slices.Contains(tt.want, text); got != want {
				t.Errorf("spread %v, share %v: %q is %v, want %v", tt.spread, tt.share, text, got, want)
			}
		}
	}
}
