package kernel

import "slices"

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
