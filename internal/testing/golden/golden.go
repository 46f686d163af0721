package golden

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"testing"
)

//go:embed testdata
var files embed.FS

// An Array is one golden file of float32.
type Array struct {
	Shape  []int
	Data   []float32
	SHA256 string
	Source string // versions and command that wrote it
}

// An entry is what testdata/index.json says of a file.
type entry struct {
	Shape  []int
	SHA256 string
	Source string
}

// read returns a file of testdata and fails the test if it is not the indexed
// one.
func read(t testing.TB, file string) ([]byte, entry) {
	t.Helper()
	var index map[string]entry
	if b, err := files.ReadFile("testdata/index.json"); err != nil {
		t.Fatal(err)
	} else if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	e, ok := index[file]
	if !ok {
		t.Fatalf("golden %s is not in the index", file)
	}
	b, err := files.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != e.SHA256 {
		t.Fatalf("golden %s has not the hash in the index; only tools/reference writes these files", file)
	}
	return b, e
}

// Load reads testdata/<name>.f32, such as "multi.encoder", and fails the test if
// its hash is not the indexed one.
func Load(t testing.TB, name string) Array {
	t.Helper()
	b, e := read(t, name+".f32")
	a := Array{Shape: e.Shape, SHA256: e.SHA256, Source: e.Source, Data: make([]float32, len(b)/4)}
	n := 1
	for _, d := range e.Shape {
		n *= d
	}
	if len(b) != 4*n {
		t.Fatalf("golden %s has %d bytes, its shape %v wants %d", name, len(b), e.Shape, 4*n)
	}
	for i := range a.Data {
		a.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return a
}

// Check fails the test if got has another shape, if any |got-want| exceeds tol,
// or if more than near of them exceed tol/2.
func Check(t testing.TB, got []float32, shape []int, want Array, tol float64, near int) {
	t.Helper()
	if !slices.Equal(shape, want.Shape) || len(got) != len(want.Data) {
		t.Fatalf("shape = %v with %d values, want %v with %d", shape, len(got), want.Shape, len(want.Data))
	}
	worst, at, n := 0.0, 0, 0
	for i := range got {
		d := difference(got[i], want.Data[i])
		if d > worst {
			worst, at = d, i
		}
		if !(d <= tol/2) { // true for NaN too
			n++
		}
	}
	if !(worst <= tol) || n > near {
		t.Errorf("worst |got-want| = %.3g at %d (got %v, want %v), tol %.3g; "+
			"%d values beyond tol/2, allowed %d\nreference: %s",
			worst, at, got[at], want.Data[at], tol, n, near, want.Source)
	}
}

// difference returns |a-b|, infinite if either is NaN: a comparison with NaN is
// false, so a NaN would pass. Equal infinities differ by nothing.
func difference(a, b float32) float64 {
	if a == b {
		return 0
	}
	d := math.Abs(float64(a) - float64(b))
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}
