package weights

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/tensor"
)

// parseFloats reads a whole file as one vector of float32, "a", and its first quarter as
// another, "q", stored as int32 and halved when it is read.
func parseFloats(b []byte) ([]Entry, error) {
	if len(b)%16 != 0 {
		return nil, errors.New("odd length")
	}
	n := len(b) / 4
	quarter := b[:len(b)/4]
	return []Entry{
		{Name: "a", Shape: []int{n}, Type: "F32", DType: tensor.F32, Data: b},
		{Name: "q", Shape: []int{n / 8, 2}, Type: "half", DType: tensor.F32, Data: quarter,
			Decode: Floats(2, func(dst []float32, row int) {
				for i := range dst {
					dst[i] = float32(int32(binary.LittleEndian.Uint32(quarter[4*(2*row+i):]))) / 2
				}
			})},
	}, nil
}

// write returns the path of a file of n values that a vector and a halved one
// share: integers with the bits of small floats would be no numbers.
func write(t *testing.T, n int) string {
	t.Helper()
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	path := filepath.Join(t.TempDir(), "w")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path, parseFloats)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestAdvice checks that a tensor that was dropped, or requested ahead, reads as before.
func TestAdvice(t *testing.T) {
	f := open(t, write(t, 1<<14))
	a, _ := f.Entry("a")
	want := slices.Clone(a.Tensor().Float32())
	for range 2 {
		if got := a.Tensor().Float32(); !slices.Equal(got, want) {
			t.Fatal("the tensor changed")
		}
		for _, part := range [][]byte{a.Data, a.Data[5000:9000], a.Data[:28], a.Data[1<<15:], nil, make([]byte, 9000)} {
			f.Drop(part)
			f.Fetch(part)
		}
		f.DropAll()
	}
}

func TestRows(t *testing.T) {
	f := open(t, write(t, 64))
	q, ok := f.Entry("q")
	if !ok || !q.Quantised() || q.String() != "[8 2] half" {
		t.Fatalf("%v, quantised %v", q, q.Quantised())
	}
	if got, want := q.Rows(2, 4).Float32(), []float32{2, 2.5, 3, 3.5}; !slices.Equal(got, want) {
		t.Errorf("rows 2 and 3 = %v, want %v", got, want)
	}
	part := q.Part("p", 3, 6)
	if got, want := part.Rows(1, 3).Float32(), []float32{4, 4.5, 5, 5.5}; !slices.Equal(got, want) || part.Name != "p" {
		t.Errorf("rows 1 and 2 of the part from 3 = %v, want %v", got, want)
	}
	a, _ := f.Entry("a")
	half := a.Part("h", 32, 64)
	if got := half.Rows(1, 2); math.Float32bits(got.Float32()[0]) != 33 {
		t.Errorf("row 33 = %v", got.Float32())
	}
	scalar := Entry{Name: "s", Type: "F32", DType: tensor.F32, Data: []byte{0, 0, 0x80, 0x3f}}
	if got := scalar.Tensor().Float32(); !slices.Equal(got, []float32{1}) {
		t.Errorf("scalar = %v", got)
	}
	if _, ok := f.Entry("b"); ok || len(f.Entries()) != 2 {
		t.Error("Entry finds what is not there")
	}
}

// TestFault truncates a mapped file: reading it must be an error, not the end of the
// program, as the SIGBUS at 1202e18.
func TestFault(t *testing.T) {
	path := write(t, 1<<18)
	f := open(t, path)
	a, _ := f.Entry("a")
	q, _ := f.Entry("q")
	if err := os.Truncate(path, 4096); err != nil {
		t.Skip("needs mapped files that can be cut: this system does not let a mapped file be cut")
	}
	for _, e := range []Entry{a, q} { // q is large enough to be decoded by several goroutines
		err := Guard([]*File{f}, func() error {
			e.Tensor().Float32()
			return nil
		})
		if err == nil || !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v: error = %v, want ErrChanged with the file's name", e, err)
		}
	}
}

// TestGuard checks that panics that are not faults of a file are passed on.
func TestGuard(t *testing.T) {
	f := open(t, write(t, 64))
	if err := Guard([]*File{f}, func() error { return os.ErrClosed }); err != os.ErrClosed {
		t.Errorf("error = %v, want the function's", err)
	}
	defer func() {
		if v := recover(); v == nil {
			t.Error("a panic of the function was lost")
		}
	}()
	var none *File
	Guard([]*File{f}, func() error { return none.Close() })
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none"), parseFloats); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v, want ErrNotExist", err)
	}
	if _, err := Open(dir, parseFloats); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error = %v for a directory", err)
	}
	path := filepath.Join(dir, "x")
	os.WriteFile(path, []byte("abc"), 0o600)
	if _, err := Open(path, parseFloats); err == nil || err.Error() != path+": odd length" {
		t.Errorf("error = %v, want the parser's with the file's name", err)
	}
	path = filepath.Join(dir, "empty")
	os.WriteFile(path, nil, 0o600)
	if f, err := Open(path, parseFloats); err != nil || f.Mapped() || f.Close() != nil {
		t.Errorf("an empty file: %v", err)
	}
}
