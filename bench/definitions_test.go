package bench

import (
	"math"
	"testing"
	"time"

	"verity/decoder"
	"verity/internal/testmodel"
	"verity/model"
	"verity/precision"
	"verity/synth"
)

// TestWorkByHand: the operations of large-v2 and of the test model "odd", worked out
// from what is published of the one (openai/whisper-large-v2 config.json: 32 and 32
// layers of width 1280, feed-forward 5120, 80 mel bins, 1500 positions, 51865 tokens)
// and from specs.json of the other.
func TestWorkByHand(t *testing.T) {
	large, err := synth.Dims("large-v2")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name                  string
		dims                  model.Dims
		encoder, cross, three work
	}{
		{"large-v2", large,
			work{
				// Convolutions of three taps, at 3000 and 1500 places; in a layer four square
				// matrices and two of the feed-forward.
				products: 2 * (3000*3*80*1280 + 1500*3*1280*1280 + 32*1500*(4*1280*1280+2*1280*5120)),
				// Every query meets every key, 64 multiplications in each of 20 heads, and
				// takes as many of every value.
				attend: 2 * 32 * 20 * 1500 * 1500 * (64 + 64),
			},
			work{products: 2 * 32 * 1500 * 1280 * (1280 + 1280)},
			work{
				// A row: queries, keys, values and output, query and output of
				// cross-attention, feed-forward; then the vocabulary.
				products: 3 * 2 * (32*(6*1280*1280+2*1280*5120) + 1280*51865),
				// Behind 100 tokens three rows see 101, 102 and 103 keys, and the audio's.
				attend: 2 * 32 * 20 * (1601 + 1602 + 1603) * (64 + 64),
			}},
		{"odd", testmodel.Open(t, "odd").Dims,
			work{products: 2 * (300*3*80*72 + 150*3*72*72 + 3*150*(4*72*72+2*72*200)), attend: 2 * 3 * 3 * 150 * 150 * (24 + 24)},
			work{products: 2 * 150 * 72 * (72 + 72)},
			work{products: 3 * 2 * (6*72*72 + 2*72*100 + 72*51865), attend: 2 * 2 * (251 + 252 + 253) * (36 + 36)}},
	} {
		for room, x := range map[string][2]work{
			"encoder": {encoderWork(tt.dims), tt.encoder},
			"cross":   {crossWork(tt.dims), tt.cross},
			"pass":    {passWork(tt.dims, 3, 100), tt.three},
		} {
			if got, want := x[0], x[1]; got != want || got.all() != want.products+want.attend {
				t.Errorf("%s, %s: %.0f and %.0f operations, want %.0f and %.0f", tt.name, room, got.products, got.attend, want.products, want.attend)
			}
		}
	}
}

// TestIdeal: products with weights and among activations are charged at the ceiling of
// the arithmetic they run in.
func TestIdeal(t *testing.T) {
	at := Ceiling{GFLOPS: 2, GOPSInt8: 16, GBPS: 5}
	for format, want := range map[precision.Format]float64{
		precision.F32: 48e9/2e9 + 8e9/2e9, precision.F16: 28, precision.BF16: 28, precision.Int8: 3.5,
	} {
		if got := (work{products: 48e9, attend: 8e9}).ideal(at, precision.Of(format)); got != want {
			t.Errorf("%v: %v s, want %v", format, got, want)
		}
	}
}

// TestShares builds the result of times that were never measured, so that every share
// can be worked out by hand.
func TestShares(t *testing.T) {
	c := testmodel.Open(t, "odd")
	d, err := decoder.New(c, decoder.Options{Precision: precision.Of(precision.F16)})
	if err != nil {
		t.Fatal(err)
	}
	// At the second ceiling all takes half as long and reaches the same share.
	slow, fast := Ceiling{GFLOPS: 1, GOPSInt8: 4, GBPS: 0.1}, Ceiling{GFLOPS: 2, GOPSInt8: 8, GBPS: 0.2}
	b := &bench{Options: Options{Precision: precision.Of(precision.F16)}, dims: c.Dims, decoder: d, ceilings: []Ceiling{slow, fast}}
	b.melRuns = runs{{0.03, slow}}
	b.encodeRuns = runs{{0.25, slow}, {0.125, fast}, {9, slow}}
	b.crossRuns = runs{{0.004, slow}, {0.002, fast}, {0.004, slow}}
	b.passRuns[0] = runs{{0.1, slow}, {0.05, fast}, {0.1, slow}}
	b.passRuns[15] = runs{{0.3, slow}, {0.15, fast}, {0.3, slow}}

	// 30 tokens stand before a pass: half of the model's 61. decoder's TestStepBytes
	// says where the bytes come from.
	const encode, cross, bytes = 79_056_000, 3_110_400, 2*(68_096+3_737_088) + 2*2*72*(150+31)
	const pass16, bytes16 = 16*2*(6*72*72+2*72*100+72*51865) + 2*2*16*(180+17.0/2)*(36+36), bytes + 15*2*2*72
	r := b.result()
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"encoder", r.Encode.Utilization, encode / 1e9 / 0.25},
		{"operations of the encoder", r.Encode.FLOPs, encode},
		{"time of the encoder", r.Encode.Seconds, 0.25},
		{"keys and values", r.CrossKV.Utilization, cross / 1e9 / 0.004},
		{"bytes of a step", float64(r.Step.Bytes), bytes},
		{"a step", r.Step.MBU, bytes / 0.1e9 / 0.1},
		{"a pass of one row, bound by bytes", r.Verify[0].Share, bytes / 0.1e9 / 0.1},
		{"a pass of 16 rows, bound by arithmetic", r.Verify[1].Share, pass16 / 1e9 / 0.3},
		{"16 rows over one", r.Verify[1].Ratio, 3},
	} {
		if !(math.Abs(x.got/x.want-1) < 1e-12) {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
	if bytes16/0.1e9 > pass16/1e9 {
		t.Errorf("16 rows are bound by bytes: %v s", bytes16/0.1e9)
	}
}

// TestLoadOnly: loading is held against reading, and memory against the weights.
func TestLoadOnly(t *testing.T) {
	c, err := model.Open(t.Context(), testmodel.Write(t, testmodel.Named("odd")))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), opened(c), Options{LoadOnly: true, Stage: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l := r.Load
	if l.Read == 0 {
		t.Skip("this system does not forget files when it is asked to")
	}
	if len(l.Runs) != fewest || l.Ratio != l.Seconds/l.Read || l.Bytes < 15e6 {
		t.Errorf("%+v: want the ratio of loading to reading %d times, and the bytes of the file", l, fewest)
	}
	if m := l.Memory; m != nil && (m.Weights < 14e6 || m.Ratio != float64(m.Peak)/float64(m.Weights)) {
		t.Errorf("%+v: want the peak over the weights", *m)
	}
}
