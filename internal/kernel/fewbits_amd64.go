//go:build !purego

package kernel

//go:generate sh -c "cd _asm && go run ./fewbits -out ../fewbits_amd64.s -stubs ../fewbits_stubs_amd64.go -pkg kernel"

func fewBitsArch() []impl[fewBitsKernels] {
	few512 := []asmGroups{tileGroupsx1AVX512, tileGroupsx2AVX512, tileGroupsx3AVX512, tileGroupsx4AVX512, tileGroupsx5AVX512, tileGroupsx6AVX512}
	few256 := []asmGroups{tileGroupsx1AVX2, tileGroupsx2AVX2, tileGroupsx3AVX2, tileGroupsx4AVX2}
	large256 := []asmGroups{tileGroupsLargex1AVX2, tileGroupsLargex2AVX2, tileGroupsLargex3AVX2, tileGroupsLargex4AVX2}
	return []impl[fewBitsKernels]{
		{"avx512", hasVNNI, fewBitsKernels{
			quantise:    quantiseGroupsWith(quantiseGroupsAVX512),
			nibbles:     nibblesWith(nibblesAVX512),
			nibblesZero: nibblesZeroWith(nibblesZeroAVX512),
			sixes:       sixesWith(sixesAVX512),
			powers:      powersWith(powersAVX512),
			tile:        groupsByRows(few512, few512),
		}},
		{"avx2", hasAVX2, fewBitsKernels{
			quantise:    quantiseGroupsWith(quantiseGroupsAVX2),
			nibbles:     nibblesWith(nibblesAVX2),
			nibblesZero: nibblesZeroWith(nibblesZeroAVX2),
			sixes:       sixesWith(sixesAVX2),
			powers:      powersWith(powersAVX2),
			tile:        groupsByRows(few256, large256),
		}},
	}
}
