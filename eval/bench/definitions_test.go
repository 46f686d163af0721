package bench

import (
	"math"
	"testing"

	"verity/decoder"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/synth"
	"verity/precision"
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
			"encoder": {encoderWork(tt.dims, f16), tt.encoder},
			"cross":   {crossWork(tt.dims, f16), tt.cross},
			"pass":    {passWork(tt.dims, f16, 3, 100), tt.three},
		} {
			got, want := x[0], x[1]
			if got.vector = 0; got != want || got.multiplied() != want.products+want.attend {
				t.Errorf("%s, %s: %.0f and %.0f operations, want %.0f and %.0f", tt.name, room, got.products, got.attend, want.products, want.attend)
			}
		}
	}
}

var int8 = precision.Of(precision.Int8)

// TestVectorsByHand: what is not a product, of a window of the encoder and of its keys and
// values in the decoder, and of a pass of three rows behind 100 tokens, in large-v2. A
// softmax is 15 operations on a score, GELU 34 on an activation and a norm 6.
func TestVectorsByHand(t *testing.T) {
	d, err := synth.Dims("large-v2")
	if err != nil {
		t.Fatal(err)
	}
	const (
		n, w, ffn, l = 1500, 1280, 5120, 32
		scores       = l * 20 * n * n
		outputs      = 3*n*w + l*n*(3*w+w+ffn+w) // of products with weights
		inputs       = 2*n*3*80 + n*3*w + l*n*(w+w+w+ffn)
		keys         = 20 * (1601 + 1602 + 1603)
		rowOutputs   = 3 * (l*(6*w+ffn+w) + 51865)
		rowInputs    = 3 * (l*(w+w+w+w+w+ffn) + w)
	)
	encoder := 65*n*w*6 + (l*n*ffn+3*n*w)*34 + scores*15 + outputs + 2*l*n*w + n*w + 2*l*n*w
	pass := 3*w + 3*97*w*6 + 3*l*ffn*34 + l*keys*15 + rowOutputs + 3*3*l*w + 2*2*3*l*w
	for name, tt := range map[string]struct{ f16, int8, want16, want8 work }{
		"encoder": {encoderWork(d, f16), encoderWork(d, int8), work{vector: float64(encoder)}, work{vector: float64(encoder +
			4*(inputs+l*n*2*w) + 4*outputs + (3+4)*scores + l*n*w*(4-1+6*3))}},
		"cross": {crossWork(d, f16), crossWork(d, int8), work{vector: l * n * 2 * w}, work{vector: l*n*2*w*(1+4+4) + 4*n*w}},
		"pass": {passWork(d, f16, 3, 100), passWork(d, int8, 3, 100), work{vector: float64(pass)}, work{vector: float64(pass +
			4*(rowInputs+3*l*2*w) + 4*rowOutputs + (3+4)*l*keys + 3*l*w*(2*(4-1)+6*3+3))}},
	} {
		if tt.f16.vector != tt.want16.vector || tt.int8.vector != tt.want8.vector {
			t.Errorf("%s: %.0f operations in f16 and %.0f in int8, want %.0f and %.0f", name, tt.f16.vector, tt.int8.vector, tt.want16.vector, tt.want8.vector)
		}
	}
}

// TestIdeal: products with weights and among activations are charged at the ceiling of
// the arithmetic they run in, and all else at that of vectors.
func TestIdeal(t *testing.T) {
	at := Ceiling{GFLOPS: 2, GOPSInt8: 16, GOPSVector: 1, GBPS: 5}
	for format, want := range map[precision.Format]ideal{
		precision.F32: {24, 4, 3}, precision.F16: {24, 4, 3}, precision.Int8: {3, 0.5, 3},
	} {
		got := (work{products: 48e9, attend: 8e9, vector: 3e9}).ideal(at, precision.Of(format))
		if got != want || got.all() != want.products+want.attend+want.vector {
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
	slow, fast := Ceiling{GFLOPS: 1, GOPSInt8: 4, GOPSVector: 0.5, GBPS: 0.1}, Ceiling{GFLOPS: 2, GOPSInt8: 8, GOPSVector: 1, GBPS: 0.2}
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
	const attend = 2 * 3 * 3 * 150 * 150 * (24 + 24)
	vectors, vectors16 := encoderWork(c.Dims, f16).vector, passWork(c.Dims, f16, 16, 30).vector // TestVectorsByHand
	r := b.result()
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"encoder", r.Encode.Utilization, (encode/1e9 + vectors/0.5e9) / 0.25},
		{"products of the encoder", r.Encode.Products, (encode - attend) / 1e9 / 0.25},
		{"its attention", r.Encode.Attention, attend / 1e9 / 0.25},
		{"its vectors", r.Encode.Vectors, vectors / 0.5e9 / 0.25},
		{"operations of the encoder", r.Encode.FLOPs, encode},
		{"time of the encoder", r.Encode.Seconds, 0.25},
		{"keys and values", r.CrossKV.Utilization, (cross/1e9 + 150*2*72/0.5e9) / 0.004},
		{"bytes of a step", float64(r.Step.Bytes), bytes},
		{"a step", r.Step.MBU, bytes / 0.1e9 / 0.1},
		{"a pass of one row, bound by bytes", r.Verify[0].Share, bytes / 0.1e9 / 0.1},
		{"a pass of 16 rows, bound by arithmetic", r.Verify[1].Share, (pass16/1e9 + vectors16/0.5e9) / 0.3},
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
