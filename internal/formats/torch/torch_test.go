package torch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"verity/internal/formats/weights"
)

// saved returns an archive with this program and one storage of 16 bytes.
func saved(t testing.TB, program string, more ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	files := append([]string{"m/data.pkl", program, "m/byteorder", "little", "m/data/0", "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40"}, more...)
	for i := 0; i < len(files); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: files[i], Method: zip.Store})
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	storageOf = "((X\x07\x00\x00\x00storagectorch\n%s\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK%ctQ"
	rebuild   = "ctorch._utils\n_rebuild_tensor_v2\n"
)

// tensorOf returns a program that makes a tensor of the storage.
func tensorOf(kind string, elements, first byte, shape, strides string) string {
	// MARK storage first (shape) (strides) False OrderedDict() TUPLE REDUCE
	return rebuild + "(" + strings.Replace(fmt.Sprintf(storageOf, kind, elements), "((", "(", 1) + "K" + string(first) +
		"(" + shape + "t(" + strides + "t\x89ccollections\nOrderedDict\n)RtR"
}

// checkpoint returns a program with a list of sizes and one of tensors.
func checkpoint(sizes, tensors string) string {
	return "\x80\x02}q\x00(X\x04\x00\x00\x00dims}(" + sizes + "uX\x10\x00\x00\x00model_state_dict}(" + tensors + "uu."
}

func TestParse(t *testing.T) {
	m, err := Parse(saved(t, checkpoint("X\x01\x00\x00\x00aK\x07X\x01\x00\x00\x00bM\x00\x02X\x01\x00\x00\x00cN",
		"X\x01\x00\x00\x00w"+tensorOf("FloatStorage", 4, 1, "K\x01K\x03", "K\x09K\x01")+"X\x01\x00\x00\x00nK\x01")))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Sizes) != 2 || m.Sizes["a"] != 7 || m.Sizes["b"] != 512 {
		t.Errorf("sizes = %v", m.Sizes)
	}
	if len(m.Tensors) != 1 || m.Tensors[0].Name != "w" {
		t.Fatalf("tensors = %v", m.Tensors)
	}
	if got := m.Tensors[0].Tensor(); !slices.Equal(got.Shape, []int{1, 3}) || !slices.Equal(got.Float32(), []float32{2, 3, 4}) {
		t.Errorf("w = %v %v", got, got.Float32())
	}
	for _, other := range []string{"\x80\x02N.", "\x80\x02}.", "\x80\x02}X\x04\x00\x00\x00dims}s."} {
		if m, err := Parse(saved(t, other)); err != nil || m.Sizes != nil {
			t.Errorf("%q: %v, %v", other, m, err)
		}
	}
}

// TestRefused: nothing is called, and nothing is read past its storage.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, program, want string }{
		{"a call of the system", "\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "it calls \"os.system\", which is not run"},
		{"a call of eval", "\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "it calls \"builtins.eval\""},
		{"an instance", "\x80\x02(ios\nsystem\n.", "operation 0x69"},
		{"a new object", "\x80\x02cbuiltins\nlist\n)\x81.", "operation 0x81"},
		{"a reference elsewhere", "\x80\x02X\x01\x00\x00\x000Q.", "a reference that is no storage"},
		{"another storage", "\x80\x02" + fmt.Sprintf(storageOf, "EvilStorage", 4), "a storage of type \"torch.EvilStorage\""},
		{"a storage too short", "\x80\x02" + fmt.Sprintf(storageOf, "FloatStorage", 5), "of 5 float32, the archive has 4"},
		{"a tensor too long", "\x80\x02" + tensorOf("FloatStorage", 4, 1, "K\x04", "K\x01") + ".", "from element 1, its storage has 4"},
		{"a transposed tensor", "\x80\x02" + tensorOf("FloatStorage", 4, 0, "K\x02K\x02", "K\x01K\x02") + ".", "strides [1 2]"},
		{"a huge tensor", "\x80\x02" + tensorOf("FloatStorage", 4, 0, "J\xff\xff\xff\x7fK\x02", "K\x02K\x01") + ".", "a tensor of shape"},
		{"a number as dictionary", "\x80\x02K\x01X\x01\x00\x00\x00aK\x01s.", "put into a int;"},
		{"a tuple as key", "\x80\x02})K\x01s.", "a key of type"},
		{"nothing stored", "\x80\x02h\x07.", "not stored"},
		{"an empty stack", "\x80\x02\x85.", "the stack is empty"},
		{"no mark", "\x80\x02t.", "there is no mark"},
		{"no end", "\x80\x02}", "cut off"},
		{"long text", "\x80\x02X\xff\xff\xff\xffa", "cut off"},
		{"another protocol", "\x80\x04N.", "protocol 4, want 2"},
		{"no end to it", "\x80\x02N" + strings.Repeat("q\x00", maxSteps), "more than 262144 operations"},
	} {
		_, err := Parse(saved(t, tt.program))
		if !errors.Is(err, ErrMalformed) || !strings.Contains(fmt.Sprint(err), tt.want) || !strings.HasSuffix(fmt.Sprint(err), "; download or convert the model again") {
			t.Errorf("%s: error = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// laugh is a pickle that makes a tuple of a value and itself again and again: what it
// means has 2ⁿ values. push makes the first, then comes what is done with it.
func laugh(n int, push, then string) string {
	p := "\x80\x02" + push
	for i := range n {
		p += fmt.Sprintf("q%ch%c\x86", i, i)
	}
	return p + then
}

// TestLaughs: a value that means more than memory holds is refused in a line, wherever it
// stands.
func TestLaughs(t *testing.T) {
	for name, p := range map[string]string{
		"called":      laugh(60, "K\x01", ")R."),
		"called with": laugh(60, "cos\nsystem\nK\x01", "\x85R."),
		"a reference": laugh(60, "K\x01", "Q."),
		"a storage":   laugh(60, "K\x01", "q\x7f(X\x07\x00\x00\x00storageh\x7fh\x7fh\x7fh\x7ftQ."),
		"a key":       laugh(60, "K\x01", "q\x7f}h\x7fK\x01s."),
		"attributes":  laugh(60, "K\x01", "K\x01b."),
		"a tensor":    laugh(60, "K\x01", "q\x7fctorch._utils\n_rebuild_tensor_v2\n(h\x7fh\x7fh\x7fh\x7ftR."),
		"arguments":   laugh(60, "K\x01", "q\x7fcollections\nOrderedDict\nh\x7fR."),
		"a long name": "\x80\x02c" + strings.Repeat("a", 255) + "\x01\n" + strings.Repeat("b", 255) + "\n)R.",
	} {
		if _, err := Parse(saved(t, p)); !errors.Is(err, ErrMalformed) || len(err.Error()) > mostError {
			t.Errorf("%s: got %.100v", name, err)
		}
	}
}

// mostError bounds the text of an error, whatever the file holds.
const mostError = 1000

func TestArchive(t *testing.T) {
	good := saved(t, "\x80\x02N.")
	for name, tt := range map[string]struct {
		b    []byte
		want string
	}{
		"cut off":       {good[:len(good)-9], "zip"},
		"two folders":   {saved(t, "\x80\x02N.", "other/data.pkl", ""), "not in one folder"},
		"twice":         {saved(t, "\x80\x02N.", "m/data.pkl", ""), "stands twice"},
		"strange file":  {saved(t, "\x80\x02"+strings.Replace(fmt.Sprintf(storageOf, "FloatStorage", 4), "\x000X", "\x00\x1bX", 1)), `there is no "data/\x1b"`},
		"large program": {saved(t, strings.Repeat("N", maxPickle+1)), "at most 4194304 are allowed"},
	} {
		_, err := Parse(tt.b)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(fmt.Sprint(err), tt.want) || !strings.HasSuffix(fmt.Sprint(err), "; download or convert the model again") {
			t.Errorf("%s: error = %v, want %q", name, err, tt.want)
		}
	}
}

// TestDamage: of every bit of an archive that is flipped, what it says is as it was, or an error.
func TestDamage(t *testing.T) {
	state := tensorOf("FloatStorage", 4, 0, "K\x04", "K\x01")
	good := saved(t, "\x80\x02}(X\x04\x00\x00\x00dims}X\x01\x00\x00\x00aK\x07sX\x10\x00\x00\x00model_state_dict}X\x01\x00\x00\x00w"+state+"su.")
	want, err := Parse(good)
	if err != nil || len(want.Tensors) != 1 {
		t.Fatal(want, err)
	}
	refused := 0
	for at := range len(good) * 8 {
		good[at/8] ^= 1 << (at % 8)
		got, err := Parse(good)
		if err != nil {
			refused++
		} else if len(got.Tensors) != 1 || !reflect.DeepEqual(got.Sizes, want.Sizes) || !slices.Equal(got.Tensors[0].Tensor().Float32(), []float32{1, 2, 3, 4}) {
			t.Errorf("bit %d of byte %d: got %v %v, nothing is said", at%8, at/8, got.Sizes, got.Tensors)
		}
		good[at/8] ^= 1 << (at % 8)
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// FuzzPickle runs programs: whatever they leave can be read.
func FuzzPickle(f *testing.F) {
	f.Add([]byte("\x80\x02}q\x00(X\x01\x00\x00\x00aK\x07u."))
	f.Add([]byte("\x80\x02" + tensorOf("FloatStorage", 4, 1, "K\x01K\x03", "K\x09K\x01") + "."))
	if b, err := os.ReadFile("../../../model/testdata/foreign/model.pt"); err == nil {
		if z, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
			if program, err := (&archive{b: b, files: map[string]*zip.File{"data.pkl": z.File[0]}}).content("data.pkl"); err == nil {
				f.Add(program)
			}
		}
	}
	storage := make([]byte, 64)
	f.Fuzz(func(t *testing.T, program []byte) {
		v, err := run(program, func(string) ([]byte, error) { return storage, nil })
		if err != nil && (len(err.Error()) > mostError || strings.ContainsAny(err.Error(), "\n\x1b")) {
			t.Fatalf("error %q", err.Error())
		}
		if e, ok := v.(*weights.Entry); ok && err == nil && e.DType != 0 && len(e.Tensor().Float32()) != e.Len() {
			t.Fatal("another number of values")
		}
	})
}

// FuzzParse changes whole archives.
func FuzzParse(f *testing.F) {
	if b, err := os.ReadFile("../../../model/testdata/foreign/model.pt"); err == nil {
		f.Add(b)
	}
	f.Add(saved(f, "\x80\x02N."))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Parse(b); err != nil && (!errors.Is(err, ErrMalformed) || len(err.Error()) > mostError) {
			t.Fatalf("error %v is not ErrMalformed", err)
		}
	})
}
