package encoder_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"verity/encoder"
	"verity/internal/testing/golden"
	"verity/internal/testing/testmodel"
	"verity/parallel"
)

//go:embed testdata/context.jsonl
var contextJSON []byte

// TestShortContext compares features of fewer positions with those of openai-whisper's
// encoder, whose table of positions tools/reference/context_goldens.py cut. A longer
// window was encoded on the same buffers before.
func TestShortContext(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(contextJSON))
	lines.Buffer(nil, 1<<20)
	compared := 0
	for lines.Scan() {
		var c struct {
			Spec      string
			Context   int
			Positions []int
			Features  [][]float32
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Spec == "" {
			continue // the head
		}
		t.Run(fmt.Sprint(c.Spec, c.Context), func(t *testing.T) {
			got := short(t, c.Spec, c.Context, 2)
			tol := golden.LoadModel(t, c.Spec).Tol.Encoder
			for i, p := range c.Positions {
				for k, want := range c.Features[i] {
					if d := math.Abs(float64(got.Data[p*got.Width+k]) - float64(want)); !(d <= tol) {
						t.Fatalf("feature %d of position %d = %v, want %v", k, p, got.Data[p*got.Width+k], want)
					}
				}
			}
		})
		compared++
	}
	if compared < 6 {
		t.Errorf("%d contexts compared, want 6", compared)
	}
}

// short encodes a whole window of a checkpoint and then its first positions.
func short(t *testing.T, name string, context, threads int) *encoder.Features {
	t.Helper()
	pool := parallel.New(threads)
	defer pool.Close()
	e, err := encoder.New(testmodel.Open(t, name), encoder.Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	whole := mel(testmodel.Named(name))
	before, err := e.Encode(t.Context(), whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Encode(t.Context(), whole.First(2*context), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Positions != context {
		t.Fatalf("%d positions, want %d", f.Positions, context)
	}
	again, err := e.Encode(t.Context(), whole, nil)
	if err != nil || !slices.Equal(again.Data, before.Data) {
		t.Fatalf("a whole window after a short one, %v: other features", err)
	}
	return f
}

// TestShortContextBits checks that the bits are the same with every instruction set (make
// bits) and number of threads.
func TestShortContextBits(t *testing.T) {
	const want = "4bbec6f1a93e45837a96e2a04621191a64e4803cf4f77cd6f5d7f2b65dc4ef93"
	for _, threads := range []int{1, 2} {
		var bits []byte
		for _, v := range short(t, "odd", 37, threads).Data {
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(bits)); got != want {
			t.Errorf("%d threads: SHA-256 of the features is %s, want %s", threads, got, want)
		}
	}
}
