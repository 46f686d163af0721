package precision

import (
	"fmt"
	"strings"

	"verity/internal/show"
)

// A Format is how numbers are stored. The zero value is Auto.
type Format uint8

// The formats.
const (
	Auto Format = iota // chosen from the checkpoint and from the other formats
	F32                // IEEE 754 binary32
	F16                // IEEE 754 binary16
	Int8               // two's complement with a scale: per output, per row, or per head

	// Formats of weights with a scale for each 32 along a row.
	MXFP6 // OCP Microscaling v1.0: E2M3, scales are powers of two
	Int4  // -8 … 7
	Int4Z // 0 … 15 minus a zero point
)

// A kind is the properties of a format that other packages use.
type kind struct {
	name    string
	bits    int    // of an element, without its share of scales
	cache   Format // format of keys and values with such weights
	caches  bool   // attention can read keys and values held in this format
	grouped bool
}

var kinds = [...]kind{
	Auto: {name: "auto"},
	F32:  {"f32", 32, F32, true, false},
	F16:  {"f16", 16, F16, true, false},
	Int8: {"int8", 8, Int8, true, false},

	MXFP6: {"mxfp6", 6, Int8, false, true},
	Int4:  {"int4", 4, Int8, false, true},
	Int4Z: {"int4z", 4, Int8, false, true},
}

// known reports whether f is one of the formats, Auto included.
func (f Format) known() bool { return int(f) < len(kinds) }

// Grouped reports whether weights in f have a scale for each 32 along a row.
func (f Format) Grouped() bool { return f.kind().grouped }

// Like reports whether g is f, or differs only in having zero points: a checkpoint may
// have some matrices with them and some without.
func (f Format) Like(g Format) bool {
	four := func(f Format) bool { return f == Int4 || f == Int4Z }
	return f == g || four(f) && four(g)
}

// Integer reports whether products with numbers in f are of integers.
func (f Format) Integer() bool { return f == Int8 || f.Grouped() }

// Bits returns the bits of an element, without its share of scales; 0 for Auto.
func (f Format) Bits() int { return f.kind().bits }

// String returns the name that Parse knows, as in "f16".
func (f Format) String() string {
	if !f.known() {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return kinds[f].name
}

func (f Format) kind() kind {
	if !f.known() {
		return kind{}
	}
	return kinds[f]
}

// ParseFormat returns the format with that name.
func ParseFormat(name string) (Format, error) {
	for f := range kinds {
		if kinds[f].name == name {
			return Format(f), nil
		}
	}
	return Auto, fmt.Errorf("unknown format %q: want %s%s", name, Names(), meant(name))
}

// meant suggests a format of the same number of bits for a name of another program, as fp16
// or q8_0.
func meant(name string) string {
	for _, like := range []Format{F16, F32, MXFP6, Int8, Int4} {
		if strings.Contains(name, strings.TrimLeft(kinds[like].name, "fintmxp")) {
			return "; did you mean " + kinds[like].name + "?"
		}
	}
	return ""
}

// List returns the names of all formats, "auto" first.
func List() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Names returns the names of all formats for a sentence, as in "auto, f32 or f16".
func Names() string {
	return show.JoinOr(List())
}
