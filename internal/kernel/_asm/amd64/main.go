// Command amd64 writes ../kernels_amd64.s and the Go file that declares its functions.
//
// What each function computes is defined by its namesake ending in Ref, in plain Go.
// The instructions here follow those lines one by one; only the order of independent ones
// is free. Functions for some number of rows hold a body for each, and go to that of their
// last argument.
package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"

	"verity/internal/kernel/_asm/stubs"
)

func main() {
	ConstraintExpr("!purego")
	prefetchRows()
	transposeWords()
	transposeNarrow()
	transposeHalves()
	for _, s := range []isa{wide, narrow} {
		for _, w := range floats {
			floatTiles(s, w)
		}
		s.widenHalf()
		s.finish("storeSums")
		s.finish("addSums")
		s.maxAbs()
		s.quantise()
		s.finishInt8("store")
		s.finishInt8("add")
		fewBits(s)
		vectors(s)
	}
	int8Tiles()
	amx()
	Generate()
	if err := stubs.Write("../stubs_amd64.go", declared); err != nil {
		log.Fatal(err)
	}
}
