package tensor

import (
	"math"
	"slices"
	"testing"

	"github.com/x448/float16"
	"pgregory.net/rapid"
)

// same compares bits, with all NaNs equal: payloads may differ.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// TestF16 walks all 65,536 values against the formula of IEEE 754 and back.
func TestF16(t *testing.T) {
	for u := range 1 << 16 {
		exp, frac := u>>10&31, float64(u&0x3ff)
		want := math.Ldexp(1+frac/1024, exp-15)
		switch {
		case exp == 0:
			want = math.Ldexp(frac, -24)
		case exp == 31 && frac == 0:
			want = math.Inf(1)
		case exp == 31:
			want = math.NaN()
		}
		if u>>15 == 1 {
			want = math.Copysign(want, -1)
		}
		got := F16ToFloat32(uint16(u))
		if !same(got, float32(want)) {
			t.Fatalf("F16ToFloat32(%#04x) = %v, want %v", u, got, want)
		}
		if back := F16Bits(got); got == got && back != uint16(u) {
			t.Fatalf("F16Bits(%v) = %#04x, want %#04x", got, back, u)
		}
		if fits := fitsF16(got); fits != (got == got) {
			t.Fatalf("fitsF16(%v) = %v", got, fits)
		}
	}
}

// TestBF16 walks all 65,536 values, and every tie between two neighbours.
func TestBF16(t *testing.T) {
	for u := range 1 << 16 {
		got := BF16ToFloat32(uint16(u))
		if math.Float32bits(got) != uint32(u)<<16 {
			t.Fatalf("BF16ToFloat32(%#04x) = %v", u, got)
		}
		back := BF16Bits(got)
		if got != got {
			if x := BF16ToFloat32(back); x == x {
				t.Fatalf("BF16Bits(NaN %#04x) = %#04x, which is no NaN", u, back)
			}
			continue
		}
		if back != uint16(u) {
			t.Fatalf("BF16Bits(%v) = %#04x, want %#04x", got, back, u)
		}
		if u&0x7f80 == 0x7f80 {
			continue // infinity has no neighbour to tie with
		}
		tie := math.Float32frombits(uint32(u)<<16 | 0x8000)
		if got, want := BF16Bits(tie), uint16(u+u&1); got != want {
			t.Fatalf("BF16Bits(tie above %#04x) = %#04x, want the even %#04x", u, got, want)
		}
	}
}

func TestF16Rounding(t *testing.T) {
	tests := []struct {
		x    float32
		want uint16
		why  string
	}{
		{1 + 1.0/2048, 0x3c00, "tie goes to the even neighbour below"},
		{1 + 3.0/2048, 0x3c02, "tie goes to the even neighbour above"},
		{65519.996, 0x7bff, "the last value that rounds to the largest"},
		{65520, 0x7c00, "half-way past the largest is infinity"},
		{0x1p-25, 0, "half of the smallest subnormal ties to zero"},
		{0x1.000002p-25, 1, "just above half of the smallest"},
		{float32(math.Copysign(0, -1)), 0x8000, "the sign of zero is kept"},
	}
	for _, tt := range tests {
		if got := F16Bits(tt.x); got != tt.want {
			t.Errorf("F16Bits(%v) = %#04x, want %#04x: %s", tt.x, got, tt.want, tt.why)
		}
	}
}

func TestFitsF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Random bits of the exponents around both ends of the range.
		u := rapid.Uint32().Draw(t, "bits")
		e := rapid.Uint32Range(96, 148).Draw(t, "exponent")
		zeros := rapid.IntRange(0, 23).Draw(t, "zeros")
		x := math.Float32frombits(u&0x807fffff&^(1<<zeros-1) | e<<23)
		want := same(float16.Fromfloat32(x).Float32(), x)
		if got := FitsF16(FromFloat32([]float32{0, x}, 2)); got != want {
			t.Errorf("FitsF16(%x) = %v, want %v", x, got, want)
		}
	})
	long := make([]float32, 5000)
	long[4999] = 0x1p-26
	if FitsF16(FromFloat32(long, 5000)) {
		t.Error("FitsF16 overlooked the last element")
	}
}

func TestCopyTo(t *testing.T) {
	x := []float32{0, 1, -2.5, 0.15625, 100, -0.0078125} // exact in every float type
	for _, dtype := range []DType{F32, F16, BF16} {
		for _, offset := range []int{0, 1} { // 1: unaligned, as in a memory map
			w := Convert(x, dtype, 3, 2)
			w.Data = append(make([]byte, offset), w.Data...)[offset:]
			if got := w.Float32(); !slices.Equal(got, x) {
				t.Errorf("%v: Float32 = %v, want %v", dtype, got, x)
			}
			row := w.Rows(1, 3)
			if !slices.Equal(row.Shape, []int{2, 2}) || !slices.Equal(row.Float32(), x[2:]) {
				t.Errorf("%v: Rows(1, 3) = %v %v, want [2 2] %v", dtype, row, row.Float32(), x[2:])
			}
			got := make([]float32, 2)
			w.CopyTo(got, 3)
			if !slices.Equal(got, x[3:5]) {
				t.Errorf("%v: CopyTo from 3 = %v, want %v", dtype, got, x[3:5])
			}
		}
	}
	w := Tensor{I8, []int{4}, []byte{0, 1, 0x7f, 0x80}}
	if got, want := w.Float32(), []float32{0, 1, 127, -128}; !slices.Equal(got, want) {
		t.Errorf("int8: Float32 = %v, want %v", got, want)
	}
}

func TestPanics(t *testing.T) {
	x := FromFloat32([]float32{1, 2, 3, 4}, 2, 2)
	tests := []struct {
		name string
		f    func()
	}{
		{"row below zero", func() { x.Rows(-1, 1) }},
		{"row past the end", func() { x.Rows(0, 3) }},
		{"rows reversed", func() { x.Rows(2, 1) }},
		{"element past the end", func() { x.CopyTo(make([]float32, 2), 3) }},
		{"shape of another length", func() { FromFloat32([]float32{1}, 2) }},
		{"no floats", func() { Convert([]float32{1}, I8, 1) }},
	}
	for _, tt := range tests {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", tt.name)
				}
			}()
			tt.f()
		}()
	}
}

func BenchmarkCopyTo(b *testing.B) {
	x := make([]float32, 1<<16)
	for _, dtype := range []DType{F32, F16, BF16} {
		b.Run(dtype.String(), func(b *testing.B) {
			w := Convert(x, dtype, len(x))
			b.SetBytes(int64(len(w.Data)))
			for b.Loop() {
				w.CopyTo(x, 0)
			}
		})
	}
}
