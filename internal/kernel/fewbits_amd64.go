//go:build !purego

package kernel

import (
	"golang.org/x/sys/cpu"

	"verity/precision"
)

//go:generate sh -c "cd _asm && go run ./fewbits -out ../fewbits_amd64.s -stubs ../fewbits_stubs_amd64.go -pkg kernel"

func fewBitsArch() []impl[fewBitsKernels] {
	few512 := []asmGroups{tileGroupsx1AVX512, tileGroupsx2AVX512, tileGroupsx3AVX512, tileGroupsx4AVX512, tileGroupsx5AVX512, tileGroupsx6AVX512}
	few256 := []asmGroups{tileGroupsx1AVX2, tileGroupsx2AVX2, tileGroupsx3AVX2, tileGroupsx4AVX2}
	impls := []impl[fewBitsKernels]{
		{"avx512", hasVNNI, fewBitsKernels{
			quantise:    quantiseGroupsWith(quantiseGroupsAVX512),
			nibbles:     nibblesWith(nibblesAVX512),
			nibblesZero: nibblesZeroWith(nibblesZeroAVX512),
			sixes:       sixesWith(sixesAVX512),
			powers:      powersWith(powersAVX512),
			tile:        groupsByRows(few512...),
			direct:      direct512(),
			directRows:  10,
		}},
	}
	narrow := fewBitsKernels{
		quantise:    quantiseGroupsWith(quantiseGroupsAVX2),
		nibbles:     nibblesRef, // all rows go directly
		nibblesZero: nibblesZeroRef,
		sixes:       sixesWith(sixesAVX2),
		powers:      powersWith(powersAVX2),
		tile:        groupsByRows(few256...),
		direct: directTable{
			precision.Int4:  directByRows(directNibblesx1AVX2, directNibblesx2AVX2, directNibblesx3AVX2, directNibblesx4AVX2),
			precision.Int4Z: directByRows(directNibblesZerox1AVX2, directNibblesZerox2AVX2, directNibblesZerox3AVX2, directNibblesZerox4AVX2),
		},
	}
	if hasAVXVNNI {
		vnni := narrow
		vnni.direct = directVNNI()
		impls = append(impls, impl[fewBitsKernels]{"avx2", true, vnni})
	}
	return append(impls, impl[fewBitsKernels]{"avx2", hasAVX2, narrow})
}

// directVNNI returns the direct products of AVX-VNNI.
func directVNNI() directTable {
	return directTable{
		precision.Int4: directByRows(directNibblesx1VNNI, directNibblesx2VNNI, directNibblesx3VNNI,
			directNibblesx4VNNI, directNibblesx5VNNI, directNibblesx6VNNI),
		precision.Int4Z: directByRows(directNibblesZerox1VNNI, directNibblesZerox2VNNI, directNibblesZerox3VNNI,
			directNibblesZerox4VNNI, directNibblesZerox5VNNI, directNibblesZerox6VNNI),
	}
}

// direct512 returns the direct products of AVX-512.
func direct512() directTable {
	nibbles := directByRows(directNibblesx1AVX512, directNibblesx2AVX512, directNibblesx3AVX512,
		directNibblesx4AVX512, directNibblesx5AVX512, directNibblesx6AVX512)
	zeros := directByRows(directNibblesZerox1AVX512, directNibblesZerox2AVX512, directNibblesZerox3AVX512,
		directNibblesZerox4AVX512, directNibblesZerox5AVX512, directNibblesZerox6AVX512)
	sixes := directByRows(directSixesx1AVX512, directSixesx2AVX512, directSixesx3AVX512,
		directSixesx4AVX512, directSixesx5AVX512, directSixesx6AVX512)
	all := directTable{precision.Int4: nibbles, precision.Int4Z: zeros}
	if cpu.X86.HasAVX512VBMI {
		all[precision.MXFP6] = sixes
	}
	return all
}
