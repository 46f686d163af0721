package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// These lines are here because go generate skips files of other architectures.
//go:generate sh -c "cd _asm && go run ./amd64 -out ../kernels_amd64.s"
//go:generate sh -c "cd _asm && go run ./arm64 -out .."

// A set is the kernels for the instructions of one kind of processor.
type set struct {
	name string // as in VERITY_DISABLE, or "ref"
	ok   bool   // whether this CPU can run it

	tiles      tileKernels
	int8s      int8Kernels
	fewBits    fewBitsKernels
	attend     attendOps
	attendInt8 attendInt8Ops
	packing    packKernels
	vector     vectorOps
}

// named returns s under another name.
func (s set) named(name string, ok bool) set {
	s.name, s.ok = name, ok
	return s
}

var (
	// sets are those of this architecture, the best first, then plain Go, which defines what
	// the others compute.
	sets = append(setsOfArch(), set{
		"ref", true, tilesRef, int8Ref, fewBitsRef, attendRef, attendInt8Ref, packingRef, vectorRef,
	})

	// use is the first that this CPU can run.
	use = usable()[0]
)

// builtOn pairs sets with others that add little to them. Disabling the first of a pair
// disables the second; avx512 stays without avx2.
var builtOn = [][2]string{{"avx512", "amx"}, {"avx2", "avxvnni"}, {"neon", "dotprod"}, {"dotprod", "i8mm"}}

// disabled lists the sets that $VERITY_DISABLE excludes, as in avx512,avx2. It is for
// bisecting and for testing the other sets.
var disabled, disabledErr = parseDisabled(os.Getenv("VERITY_DISABLE"))

// DisabledError returns an error if $VERITY_DISABLE lists a name that no set has: the run
// would silently use the set it was meant to avoid. Checked when a network is loaded.
func DisabledError() error { return disabledErr }

func parseDisabled(list string) (names []string, err error) {
	known := []string{"amx", "avx512", "avxvnni", "avx2", "i8mm", "dotprod", "neon"}
	names = strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	for _, name := range names {
		if !slices.Contains(known, name) {
			err = fmt.Errorf("$VERITY_DISABLE lists %.40q: want some of %s", name, strings.Join(known, ","))
		}
	}
	for _, b := range builtOn {
		if slices.Contains(names, b[0]) {
			names = append(names, b[1])
		}
	}
	return names, err
}

// usable returns the sets that this CPU can run and that are not disabled.
func usable() (all []set) {
	for _, s := range sets {
		if s.ok && !slices.Contains(disabled, s.name) {
			all = append(all, s)
		}
	}
	return all
}

// Implementations returns the names of the instruction sets that this machine can run: the one
// in use first, and "ref", plain Go, last, without those that VERITY_DISABLE lists. "amx" is
// AVX-512 with the tile unit for int8 products, "avxvnni" AVX2 with AVX-512's products of bytes,
// "dotprod" and "i8mm" are NEON with products of bytes.
func Implementations() (names []string) {
	for _, s := range usable() {
		names = append(names, s.name)
	}
	return names
}
