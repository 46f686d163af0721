package ctranslate2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// A builder writes the format.
type builder []byte

func (b *builder) u32(n int) { *b = binary.LittleEndian.AppendUint32(*b, uint32(n)) }
func (b *builder) text(s string) {
	*b = append(binary.LittleEndian.AppendUint16(*b, uint16(len(s)+1)), s+"\x00"...)
}
func (b *builder) variable(name string, kind byte, data []byte, shape ...int) {
	b.text(name)
	*b = append(*b, byte(len(shape)))
	for _, d := range shape {
		b.u32(d)
	}
	*b = append(*b, kind)
	b.u32(len(data))
	*b = append(*b, data...)
}

func file(version, variables int) *builder {
	b := new(builder)
	b.u32(version)
	b.text("WhisperSpec")
	b.u32(3)
	b.u32(variables)
	return b
}

func floats(x ...float32) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestParse(t *testing.T) {
	b := file(6, 3)
	b.variable("w", 1, []byte{10, 0xf6, 127, 0}, 2, 2)
	b.variable("w_scale", 0, floats(5, 254), 2)
	b.variable("n", 2, []byte{8, 0})
	b.u32(1)
	b.text("again")
	b.text("w")
	m, err := Parse(*b)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w", "again"} {
		w, ok := m.Variable(name)
		if got, want := w.Tensor().Float32(), []float32{2, -2, 0.5, 0}; !ok || !slices.Equal(got, want) || !w.Quantised() {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if n, ok := m.Int("n"); !ok || n != 8 || m.Spec != "WhisperSpec" {
		t.Errorf("n = %d, %v", n, ok)
	}
	if _, ok := m.Int("w"); ok {
		t.Error("a matrix is a number")
	}
}

func TestMalformed(t *testing.T) {
	one := func(name string, kind byte, data []byte, shape ...int) *builder {
		b := file(6, 1)
		b.variable(name, kind, data, shape...)
		return b
	}
	twice := file(6, 2)
	twice.variable("a", 1, []byte{1}, 1)
	twice.variable("a", 1, []byte{1}, 1)
	scales := file(6, 2)
	scales.variable("w", 1, []byte{1, 2}, 2)
	scales.variable("w_scale", 0, floats(1), 1)
	integers := file(6, 3) // scales that are integers with scales of their own
	integers.variable("w_scale", 1, []byte{1, 2}, 2)
	integers.variable("w_scale_scale", 0, floats(1, 2), 2)
	integers.variable("w", 1, []byte{1, 2}, 2)
	integers.u32(0)
	alias := one("a", 1, []byte{1}, 1)
	alias.u32(1)
	alias.text("b")
	alias.text("c")
	aliases := one("a", 1, []byte{1}, 1)
	aliases.u32(2)
	for _, name := range []string{"b", "c"} {
		aliases.text(name)
		aliases.text("a")
	}
	rest := one("a", 1, []byte{1}, 1)
	rest.u32(0)
	rest.u32(0)
	huge := file(6, 1)
	huge.text("a")
	*huge = append(*huge, 2)
	huge.u32(1 << 31)
	huge.u32(1 << 31)
	*huge = append(*huge, 1)
	huge.u32(0)
	for _, tt := range []struct {
		name string
		b    *builder
		want string
	}{
		{"nothing", new(builder), "is empty"},
		{"version", file(5, 0), "version: got 5, want 6"},
		{"many variables", file(6, 1<<20), "at most 32768"},
		{"type", one("a", 9, []byte{1}, 1), "type 9"},
		{"length", one("a", 0, []byte{1}, 1), "has 1 bytes, want 4"},
		{"shape", huge, "has shape [2147483648 2147483648]"},
		{"no aliases", one("a", 1, []byte{1}, 1), "cut off"},
		{"twice", twice, `"a" stands twice`},
		{"scales", scales, "has scales [1] f32, want [2] f32"},
		{"scales of scales", integers, "has scales [2] int8, want [2] f32"},
		{"alias of nothing", alias, `"b" is an alias of "c"`},
		{"aliases", aliases, "its aliases have more than the 1 numbers"},
		{"rest", rest, "4 bytes follow"},
	} {
		_, err := Parse(*tt.b)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(fmt.Sprint(err), tt.want) || !strings.HasSuffix(fmt.Sprint(err), "; download or convert the model again") {
			t.Errorf("%s: error = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// FuzzParse: whatever parses can be read in full.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"ct2-int8", "ct2-float16"} {
		b, err := os.ReadFile("../../../model/testdata/foreign/" + name + "/model.bin")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:300])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("error %q is not ErrMalformed, or not a short line", err)
			}
			return
		}
		for _, e := range m.Variables {
			m.Int(e.Name)
			if e.DType != 0 && len(e.Tensor().Float32()) != e.Len() {
				t.Fatalf("%v has another number of values", e)
			}
		}
	})
}
