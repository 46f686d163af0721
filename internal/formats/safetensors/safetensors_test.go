package safetensors

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/internal/formats/weights"
	"verity/internal/tensor"
)

// raw returns a file with the given header and n bytes of data.
func raw(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, n)...)
}

var malformedFiles = []struct {
	name string
	file []byte
	want string // in the error
}{
	{"empty", nil, "too short"},
	{"seven bytes", make([]byte, 7), "too short"},
	{"no header", make([]byte, 8), "end of JSON"},
	{"header longer than the file", raw("{}", 0)[:9], "cut off"},
	{"header of 2^63 bytes", binary.LittleEndian.AppendUint64(nil, 1<<63), "at most"},
	{"a list", raw("[]", 0), "cannot unmarshal"},
	{"half an object", raw(`{"a":`, 0), "end of JSON"},
	{"something after it", raw(`{} {}`, 0), "after top-level"},
	{"name twice, escaped", raw(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"\u0061":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}}`, 2), "gap or overlap"},
	{"field missing", raw(`{"a":{"dtype":"I8","data_offsets":[0,1]}}`, 1), "want dtype, shape"},
	{"no object", raw(`{"a":7}`, 0), "cannot unmarshal"},
	{"null", raw(`{"a":null}`, 0), "want dtype, shape"},
	{"three offsets", raw(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1,1]}}`, 1), "two data_offsets"},
	{"one offset", raw(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[1]}}`, 1), "two data_offsets"},
	{"no list", raw(`{"a":{"dtype":"I8","shape":1,"data_offsets":[0,1]}}`, 1), "cannot unmarshal"},
	{"negative offset", raw(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[-1,0]}}`, 0), "data_offsets"},
	{"offsets reversed", raw(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[1,0]}}`, 1), "data_offsets"},
	{"offset above 2^63", raw(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,9300000000000000000]}}`, 1), "header"},
	{"negative dimension", raw(`{"a":{"dtype":"I8","shape":[-1],"data_offsets":[0,1]}}`, 1), "shape"},
	{"shape overflows", raw(`{"a":{"dtype":"F32","shape":[2147483647,2147483647,4],"data_offsets":[0,16]}}`, 16), "shape"},
	{"shape of another length", raw(`{"a":{"dtype":"F16","shape":[3],"data_offsets":[0,4]}}`, 4), "takes 6 bytes"},
	{"fractional dimension", raw(`{"a":{"dtype":"I8","shape":[1.5],"data_offsets":[0,1]}}`, 1), "header"},
	{"many dimensions", raw(`{"a":{"dtype":"I8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}`, 1), "at most 8"},
	{"gap", raw(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}}`, 2), "gap or overlap"},
	{"overlap", raw(`{"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"I8","shape":[2],"data_offsets":[1,3]}}`, 3), "gap or overlap"},
	{"data cut off", raw(`{"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}`, 1), "cut off"},
	{"data left over", raw(`{"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}`, 3), "the file has 3"},
}

func TestMalformed(t *testing.T) {
	for _, tt := range malformedFiles {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.safetensors")
			if err := os.WriteFile(path, tt.file, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{second(fromBytes(path, tt.file)), second(weights.Open(path, Parse))} {
				if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path) ||
					!strings.Contains(err.Error(), "it is ") && !strings.HasSuffix(err.Error(), "; download or convert the model again") {
					t.Errorf("error = %v, want one of ErrMalformed about %q that begins with the file", err, tt.want)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func sample() []Entry {
	return []Entry{
		Of("b", tensor.Convert([]float32{1, -2, 3}, tensor.F16, 3)), // six bytes: the next is unaligned
		Of("a", tensor.FromFloat32([]float32{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, 2, 3)),
		Of(`quote " and é`, tensor.Convert([]float32{7}, tensor.BF16)),
		Of("none", tensor.FromFloat32(nil, 0, 4)),
		Of("q", tensor.Tensor{DType: tensor.I8, Shape: []int{2}, Data: []byte{1, 0xff}}),
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Write(t.Context(), w, sample()...), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := weights.Open(path, Parse)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range sample() {
		names = append(names, e.Name)
		var want bytes.Buffer
		if err := e.Data(&want); err != nil {
			t.Fatal(err)
		}
		at, ok := f.Entry(e.Name)
		got := at.Tensor()
		if !ok || got.DType != e.DType || !slices.Equal(got.Shape, e.Shape) || !bytes.Equal(got.Data, want.Bytes()) {
			t.Errorf("Tensor(%q) = %v, %v, want %v %v", e.Name, got, ok, e.Shape, e.DType)
		}
	}
	// The empty tensor begins where the next does, and sorts before it.
	if diff := cmp.Diff(names, namesOf(f)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if raw, err := os.ReadFile(path); err != nil || !bytes.Contains(raw[:64], []byte(`{"__metadata__":{"format":"pt"},`)) {
		t.Errorf("%v: the header begins with %.64q", err, raw)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func namesOf(f *weights.File) (names []string) {
	for _, e := range f.Entries() {
		names = append(names, e.Name)
	}
	return names
}

// TestOtherTypes: a file may hold tensors that we do not compute with.
func TestOtherTypes(t *testing.T) {
	f, err := fromBytes("x", raw(`{"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},"b":{"dtype":"F4","shape":[2],"data_offsets":[16,17]}}`, 17))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "[2] I64", "b": "[2] F4"} {
		e, ok := f.Entry(name)
		if got := e.String(); !ok || got != want || e.DType != 0 {
			t.Errorf("Entry(%q) = %s, %v, want %s without a type", name, got, ok, want)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	short := Of("a", tensor.FromFloat32([]float32{1}, 1))
	short.Shape = []int{2}
	broken := errors.New("broken")
	fails := Entry{Name: "a", DType: tensor.F32, Shape: []int{1}, Data: func(io.Writer) error { return broken }}
	tests := []struct {
		name    string
		entries []Entry
		want    string
	}{
		{"fewer bytes than the shape", []Entry{short}, "wrote 4 bytes, its shape has 8"},
		{"name twice", []Entry{sample()[0], sample()[0]}, "twice"},
		{"the reserved name", []Entry{Of("__metadata__", tensor.FromFloat32(nil, 0))}, "twice"},
		{"no type", []Entry{{Name: "a"}}, "cannot write"},
		{"data that fails", []Entry{fails}, "broken"},
	}
	for _, tt := range tests {
		err := Write(t.Context(), io.Discard, tt.entries...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want one about %q", tt.name, err, tt.want)
		}
	}
	if err := Write(t.Context(), io.Discard, fails); !errors.Is(err, broken) {
		t.Errorf("error = %v, want it to wrap the writer's", err)
	}
}

// TestManyNames: a header of a million names took 25 s on 1202e18.
func TestManyNames(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 200_000 {
		fmt.Fprintf(&b, `"t%d":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},`, i)
	}
	_, err := fromBytes("x", raw(b.String()+`"z":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}}`, 0))
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "more than 32768 tensors") {
		t.Errorf("error = %v", err)
	}
}

// FuzzFromBytes checks that whatever opens can be read in full, and survives
// being written and read again.
func FuzzFromBytes(f *testing.F) {
	var b bytes.Buffer
	if err := Write(f.Context(), &b, sample()...); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	for _, tt := range malformedFiles {
		f.Add(tt.file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := fromBytes("fuzz", b)
		if err != nil {
			if _, parse := Parse(b); parse != nil && !errors.Is(err, ErrMalformed) || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("error %q is not ErrMalformed, or not a short line", err)
			}
			return
		}
		var entries []Entry
		for _, e := range file.Entries() {
			if e.DType == 0 {
				continue
			}
			x := e.Tensor()
			if len(x.Data) != x.Len()*x.DType.Size() {
				t.Fatalf("%q: %v has %d bytes", e.Name, x, len(x.Data))
			}
			x.Float32()
			entries = append(entries, Of(e.Name, x))
		}
		var again bytes.Buffer
		if err := Write(t.Context(), &again, entries...); err != nil {
			t.Fatal(err)
		}
		second, err := fromBytes("again", again.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			x, _ := file.Entry(e.Name)
			y, ok := second.Entry(e.Name)
			if diff := cmp.Diff(x.Tensor(), y.Tensor()); !ok || diff != "" {
				t.Fatalf("%q (-want +got):\n%s", e.Name, diff)
			}
		}
	})
}

func Example() {
	var b bytes.Buffer
	if err := Write(context.Background(), &b, Of("fc1.bias", tensor.Convert([]float32{1, 0.5}, tensor.F16, 2))); err != nil {
		fmt.Println(err)
		return
	}
	f, err := fromBytes("example", b.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for _, e := range f.Entries() {
		fmt.Println(e.Name, e, e.Tensor().Float32())
	}
	// Output: fc1.bias [2] f16 [1 0.5]
}

func fromBytes(name string, b []byte) (*weights.File, error) {
	return weights.FromBytes(name, b, Parse)
}
