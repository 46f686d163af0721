package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// An impl is one implementation of a kernel: F is a function, or a struct of
// functions that belong together.
type impl[F any] struct {
	name string // "amx", "avx512", "avx2", "i8mm", "dotprod", "neon" or "ref"
	ok   bool   // whether this CPU can run it
	fn   F
}

// disabled lists the implementations that pick must skip, from $VERITY_DISABLE, as in
// avx512,avx2. It exists for bisecting and for testing the other implementations.
// Disabling avx512 also disables amx, which uses its kernels. avxvnni is not the name of
// an implementation: without it, "avx2" does without AVX-VNNI.
var disabled = parseDisabled(os.Getenv("VERITY_DISABLE"))

// parseDisabled panics on a name no kernel has: with a typo, the run would use the
// implementation that it was to be without.
func parseDisabled(list string) []string {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	for _, name := range names {
		if !slices.Contains([]string{"amx", "avx512", "avxvnni", "avx2", "i8mm", "dotprod", "neon"}, name) {
			panic(fmt.Sprintf("kernel: VERITY_DISABLE lists %q; it may list amx, avx512, avxvnni, avx2, i8mm, dotprod, neon", name))
		}
	}
	if slices.Contains(names, "avx512") {
		names = append(names, "amx")
	}
	if slices.Contains(names, "neon") {
		names = append(names, "dotprod")
	}
	if slices.Contains(names, "dotprod") {
		names = append(names, "i8mm")
	}
	return names
}

// pick returns the first of impls this CPU can run. The last one must be "ref",
// the portable implementation that defines what the others compute.
func pick[F any](impls []impl[F]) impl[F] {
	for _, im := range impls {
		if im.ok && !slices.Contains(disabled, im.name) {
			return im
		}
	}
	panic(fmt.Sprintf("kernel: no usable implementation of %T", *new(F)))
}

// Implementations returns the names of the implementations of matrix products that this
// machine can run: the one in use first, and "ref", plain Go, last. Those that
// VERITY_DISABLE lists are left out. "amx" stands for AVX-512 with the tile unit for int8
// products, "dotprod" and "i8mm" for NEON with products of bytes.
func Implementations() []string {
	var names []string
	if !slices.ContainsFunc(tileImpls, func(im impl[tileKernels]) bool { return im.name == int8s.name }) {
		names = append(names, int8s.name)
	}
	for _, im := range tileImpls {
		if im.ok && !slices.Contains(disabled, im.name) {
			names = append(names, im.name)
		}
	}
	return names
}
