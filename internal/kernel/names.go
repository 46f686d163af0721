package kernel

import "slices"

// Implementations returns the names of those that matrix products can use on
// this machine, the one in use first and "ref", plain Go, last. What
// VERITY_DISABLE lists is left out. "amx" stands for AVX-512 with int8 products by
// the tile unit.
func Implementations() []string {
	var names []string
	if int8s.name == "amx" {
		names = append(names, int8s.name)
	}
	for _, im := range tileImpls {
		if im.ok && !slices.Contains(disabled, im.name) {
			names = append(names, im.name)
		}
	}
	return names
}
