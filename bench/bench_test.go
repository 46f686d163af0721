package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"verity/internal/testmodel"
	"verity/model"
	"verity/precision"
	"verity/synth"
)

var f16 = precision.Of(precision.F16)

// TestWork counts operations again from the shapes of the weights.
func TestWork(t *testing.T) {
	for _, size := range []string{"tiny", "large-v2", "large-v3-turbo"} {
		d, err := synth.Dims(size)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{}
		for name, shape := range d.EncoderWeights() {
			want["encoder"] += products(name, shape, d)
		}
		for name, shape := range d.DecoderWeights() {
			room := "pass"
			if strings.Contains(name, "encoder_attn.k_proj") || strings.Contains(name, "encoder_attn.v_proj") {
				room = "cross"
			}
			want[room] += products(name, shape, d)
		}
		for room, got := range map[string]work{"encoder": encoderWork(d, f16), "cross": crossWork(d, f16), "pass": passWork(d, f16, 3, 0)} {
			w := want[room]
			if room == "pass" {
				w *= 3
			}
			if got.products != w {
				t.Errorf("%s, %s: %.6g operations, by the weights %.6g", size, room, got.products, w)
			}
		}
	}
}

// products returns the operations of one weight: for a window if the audio goes
// through it, else for a row.
func products(name string, shape []int, d model.Dims) float64 {
	if len(shape) < 2 || strings.HasSuffix(name, "embed_positions.weight") {
		return 0
	}
	n := 2.0
	for _, x := range shape {
		n *= float64(x)
	}
	switch {
	case name == "encoder.conv1.weight":
		return n * float64(2*d.AudioPositions)
	case strings.HasPrefix(name, "encoder."), strings.Contains(name, "encoder_attn.k"), strings.Contains(name, "encoder_attn.v"):
		return n * float64(d.AudioPositions)
	}
	return n
}

// opened returns what opens c, which is open.
func opened(c *model.Checkpoint) func(context.Context) (*model.Checkpoint, error) {
	return func(context.Context) (*model.Checkpoint, error) { return c, nil }
}

// TestRun measures a small model: everything is there and finite.
func TestRun(t *testing.T) {
	r, err := Run(t.Context(), opened(testmodel.Open(t, "odd")), Options{Stage: time.Millisecond})
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
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{
		0: "····················", 0.5: "██████████··········", 0.53: "██████████▋·········", 1: "████████████████████", 1.2: "████████████████████",
		math.Inf(1): "████████████████████",
	} {
		if got := bar(share); got != want {
			t.Errorf("bar(%v) = %q, want %q", share, got, want)
		}
	}
}
