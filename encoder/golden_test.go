package encoder_test

import (
	"math"
	"strings"
	"testing"

	"verity/audio"
	"verity/encoder"
	"verity/internal/testing/golden"
	"verity/internal/testing/testmodel"
	"verity/parallel"
)

func mel(s testmodel.Spec) *audio.Mel {
	d := s.Dims()
	return &audio.Mel{Bins: d.MelBins, Frames: d.WindowFrames(), Data: s.Mel()}
}

// TestEncodeGolden holds the features of every test checkpoint against
// transformers' at the positions that were kept. Tolerances are derived in
// tools/reference from the distance of upstream's own float32 and float64.
func TestEncodeGolden(t *testing.T) {
	for _, spec := range testmodel.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			ref := golden.LoadModel(t, spec.Name)
			want := golden.Load(t, spec.Name+".encoder")
			pool := parallel.New(2)
			defer pool.Close()
			e, err := encoder.New(testmodel.Open(t, spec.Name), encoder.Options{Pool: pool})
			if err != nil {
				t.Fatal(err)
			}
			f, err := e.Encode(t.Context(), mel(spec), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, 0, len(want.Data))
			for _, p := range ref.Positions {
				got = append(got, f.Data[p*f.Width:(p+1)*f.Width]...)
			}
			golden.Check(t, got, []int{len(ref.Positions), f.Width}, want, ref.Tol.Encoder, len(got))
		})
	}
}

// The same features on any number of threads, and on buffers used before.
func TestEncodeThreads(t *testing.T) {
	spec := testmodel.Named("odd")
	var want *encoder.Features
	for _, threads := range []int{1, 2, 3} {
		pool := parallel.New(threads)
		e, err := encoder.New(testmodel.Open(t, "odd"), encoder.Options{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			got, err := e.Encode(t.Context(), mel(spec), nil)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			for i := range want.Data {
				if math.Float32bits(got.Data[i]) != math.Float32bits(want.Data[i]) {
					t.Fatalf("%d threads, run %d: feature %d = %v, want the bits of one thread, %v", threads, again, i, got.Data[i], want.Data[i])
				}
			}
		}
		pool.Close()
	}
}

func TestEncodeErrors(t *testing.T) {
	spec := testmodel.Named("odd")
	e, err := encoder.New(testmodel.Open(t, "odd"), encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	short := mel(spec)
	short.Frames--
	if _, err := e.Encode(t.Context(), short, nil); err == nil {
		t.Error("a window of the wrong length was taken")
	}
	broken := mel(spec)
	broken.Data[3] = float32(math.NaN())
	if _, err := e.Encode(t.Context(), broken, nil); err == nil || !strings.Contains(err.Error(), "bin 0 of frame 3") {
		t.Errorf("a window with NaN: error %v, want one that says where", err)
	}
}
