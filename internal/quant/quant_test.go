package quant

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"verity/internal/tensor"
	"verity/precision"
)

type floats []uint32

func (f floats) at(i int) float32 { return math.Float32frombits(f[i]) }

func (f floats) all() []float32 {
	x := make([]float32, len(f))
	for i := range x {
		x[i] = f.at(i)
	}
	return x
}

type goldens struct {
	Elements map[string]struct{ Table, X, Nearest floats }
	Blocks   map[string]struct{ X, Y floats }
	Groups   map[string][]struct {
		Scale float32
		Zero  uint8
		X, Y  floats
	}
}

func read(t *testing.T) (g goldens) {
	t.Helper()
	b, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// named returns the format of a golden.
func named(t *testing.T, name string) Format {
	t.Helper()
	f, err := precision.ParseFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	return Format(f)
}

// TestElements compares the tables, and rounding to nearest with ties to even, with
// ml_dtypes.
func TestElements(t *testing.T) {
	for name, want := range read(t).Elements {
		f := named(t, name)
		one := f.power(127)
		if len(want.Table) != 1<<f.Bits() || len(want.X) < 300 {
			t.Fatalf("%s: %d codes and %d numbers", name, len(want.Table), len(want.X))
		}
		for c, v := range want.Table.all() {
			if got := one.Value(uint8(c)); got != v {
				t.Errorf("%s: code %d is %v, want %v", name, c, got, v)
			}
		}
		for i, x := range want.X.all() {
			if got := one.Value(one.Code(x)); got != want.Nearest.at(i) {
				t.Errorf("%s: %v becomes %v, want %v", name, x, got, want.Nearest.at(i))
			}
		}
	}
}

// TestBlocks compares whole blocks, shared exponents among them, with microxcaling.
func TestBlocks(t *testing.T) {
	for name, want := range read(t).Blocks {
		f := named(t, name)
		x := want.X.all()
		m := nearest(f, len(x)/Group, Group, x)
		got := make([]float32, Group)
		for row := range m.Rows {
			m.Floats(row, got)
			for i, y := range got {
				if w := want.Y.at(row*Group + i); y != w {
					t.Fatalf("%s: block %d: %v becomes %v, want %v", name, row, x[row*Group+i], y, w)
				}
			}
		}
	}
}

// TestGroups compares integers with a scale and a zero with torch.
func TestGroups(t *testing.T) {
	for name, all := range read(t).Groups {
		f := named(t, name)
		for _, want := range all {
			g := Grid{f, tensor.F16Bits(want.Scale), want.Zero, want.Scale}
			for i, x := range want.X.all() {
				if got := g.Value(g.Code(x)); got != want.Y.at(i) {
					t.Errorf("%s: %v with scale %v and zero %d becomes %v, want %v", name, x, want.Scale, want.Zero, got, want.Y.at(i))
				}
			}
		}
	}
}

// nearest codes a matrix by rounding to nearest.
func nearest(f Format, rows, cols int, w []float32) *Matrix {
	m := New(f, rows, cols)
	for row := range rows {
		m.Nearest(row, w[row*cols:][:cols])
	}
	return m
}

func random(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(rng.NormFloat64() * math.Exp2(float64(i/64%9)-8))
	}
	return w
}

// TestMatrix checks that both ways of reading a matrix return values of its grids, that they are
// binary16, and that errors are small.
func TestMatrix(t *testing.T) {
	const rows, cols = 9, 103
	w := random(rows*cols, 1)
	worst := map[Format]float64{Int4: 0.12, Int4Z: 0.12, MXFP6: 0.04}
	for _, f := range Formats() {
		m := nearest(f, rows, cols, w)
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		got, halves := make([]float32, cols), make([]byte, 2*cols)
		var e, n float64
		for row := range rows {
			m.Floats(row, got)
			m.Halves(row, halves)
			for k, v := range got {
				if g := m.Grid(row, k/Group); g.Value(g.Code(v)) != v {
					t.Fatalf("%v: %v is not a value of its grid", f, v)
				}
				if h := tensor.F16ToFloat32(binary.LittleEndian.Uint16(halves[2*k:])); h != v {
					t.Fatalf("%v: %v is %v in binary16", f, v, h)
				}
				e += math.Pow(float64(v-w[row*cols+k]), 2)
				n += math.Pow(float64(w[row*cols+k]), 2)
			}
		}
		if r := math.Sqrt(e / n); !(r < worst[f]) {
			t.Errorf("%v: relative error %.4f, want below %.4f", f, r, worst[f])
		}
	}
}

// TestLayout pins the bytes, since other programs read these files too.
func TestLayout(t *testing.T) {
	for _, tt := range []struct {
		f    Format
		want []byte
	}{
		{Int4, []byte{0x21, 0x43}},
		{MXFP6, []byte{0x81, 0x30, 0x10}}, // codes 1, 2, 3, 4: bits 000001 000010 000011 000100
	} {
		m := New(tt.f, 1, Group)
		codes := []uint8{1, 2, 3, 4}
		m.Put(0, 0, tt.f.Fit([]float32{1, 2, 3, 4}, nil), codes)
		for i, b := range tt.want {
			if m.Codes[i] != b {
				t.Errorf("%v: byte %d is %#02x, want %#02x", tt.f, i, m.Codes[i], b)
			}
		}
	}
}

// TestCheck checks that matrices from outside are checked.
func TestCheck(t *testing.T) {
	for _, f := range Formats() {
		for name, spoil := range map[string]func(m *Matrix){
			"short codes":  func(m *Matrix) { m.Codes = m.Codes[1:] },
			"short scales": func(m *Matrix) { m.Scales = m.Scales[1:] },
			"extra zeros":  func(m *Matrix) { m.Zeros = append(m.Zeros, 0) },
			"no format":    func(m *Matrix) { m.Format = 0 },
			"infinite": func(m *Matrix) {
				m.Scales[0] = 0xff
				if f.ScaleBytes() == 2 {
					binary.LittleEndian.PutUint16(m.Scales, 0x7c00)
				}
			},
			"fine": func(m *Matrix) {
				m.Scales[0] = 0
				if f.ScaleBytes() == 2 {
					binary.LittleEndian.PutUint16(m.Scales, 0x3c01)
				}
			},
		} {
			m := nearest(f, 2, 64, random(128, 2))
			spoil(m)
			if m.Check() == nil {
				t.Errorf("%v: %s is accepted", f, name)
			}
		}
	}
}

// TestCheckScales checks that of all two-byte scales those pass that the format rounds to
// themselves and that are not too large, alone and beside others.
func TestCheckScales(t *testing.T) {
	for f, digits := range map[Format]int{Int4: 7, Int4Z: 7} {
		m, passed := New(f, 1, 5*Group), 0 // four are looked at together
		for bits := range 1 << 16 {
			copy(m.Scales, bytes.Repeat([]byte{0, 0x3c}, 5))
			binary.LittleEndian.PutUint16(m.Scales[2*(bits%5):], uint16(bits))
			s := tensor.F16ToFloat32(uint16(bits))
			part, _ := math.Frexp(float64(s))
			_, fraction := math.Modf(part * math.Exp2(float64(digits)))
			want := fraction == 0 && s >= -Largest/128. && s <= Largest/128.
			if got := m.Check() == nil; got != want {
				t.Fatalf("%v: scale %#04x, which is %v: passes is %v, want %v", f, bits, s, got, want)
			} else if got {
				passed++
			}
		}
		if passed < 100 {
			t.Errorf("%v: only %d scales pass", f, passed)
		}
	}
}

// TestZero checks that groups of zeros stay zeros.
func TestZero(t *testing.T) {
	for _, f := range Formats() {
		m := nearest(f, 1, Group, make([]float32, Group))
		got := make([]float32, Group)
		m.Floats(0, got)
		for _, v := range got {
			if v != 0 {
				t.Fatalf("%v: zero becomes %v", f, v)
			}
		}
		if err := m.Check(); err != nil {
			t.Error(err)
		}
	}
}
