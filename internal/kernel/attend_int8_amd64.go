//go:build !purego

package kernel

func attendInt8Arch() []impl[attendInt8Ops] {
	return []impl[attendInt8Ops]{
		{"avx512", hasVNNI, attendInt8Ops{
			score:   scoreInt8With(scoreInt8R1AVX512, scoreInt8R2AVX512, scoreInt8R3AVX512, scoreInt8R4AVX512, scoreInt8R5AVX512, scoreInt8R6AVX512),
			weights: weightsWith(vecWeightsAVX512),
			quads:   quadsAVX2,
		}},
		{"avx2", hasAVX2, attendInt8Ops{
			score:   scoreInt8With(scoreInt8R1AVX2, scoreInt8R2AVX2, scoreInt8R3AVX2, scoreInt8R4AVX2),
			weights: weightsWith(vecWeightsAVX2),
			quads:   quadsAVX2,
		}},
	}
}

// An asmScoreInt8 is a scoreInt8Func for one number of rows. Strides are in bytes.
type asmScoreInt8 = func(dst *float32, dstStride int, q *byte, qStride int, start *int32, qScale *float32, k *byte, kScale *float32, quads, panels int)

// scoreInt8With makes a scoreInt8Func of functions for 1, 2, … rows.
func scoreInt8With(tiles ...asmScoreInt8) scoreInt8Func {
	return func(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int) {
		if rows == 0 || panels == 0 {
			return
		}
		keys := panels * panelKeys
		_, _, _ = dst[(rows-1)*stride+keys-1], q[rows*depth-1], k[keys*depth-1]
		_, _, _ = start[rows-1], qScale[rows-1], kScale[keys-1]
		for r := 0; r < rows; {
			m := min(len(tiles), rows-r)
			tiles[m-1](&dst[r*stride], 4*stride, &q[r*depth], depth, &start[r], &qScale[r], &k[0], &kScale[0], depth/4, panels)
			r += m
		}
	}
}

func weightsWith(f func(dst *byte, step int, unit *float32, unitStep int, x, scale *float32, n int, m float32) float32) func(dst []byte, unit []float32, x, scale []float32, m float32) float32 {
	return func(dst []byte, unit []float32, x, scale []float32, m float32) float32 {
		n := len(x)
		if n == 0 {
			return 0
		}
		last := (n - 1) / weightBlock
		full := (n + lanes - 1) &^ (lanes - 1)
		_, _, _, _ = dst[last*weightStep+full-last*weightBlock-1], unit[last*tileRows], x[:full], scale[n-1]
		return f(&dst[0], weightStep, &unit[0], 4*tileRows, &x[0], &scale[0], n, m)
	}
}

func quadsAVX2(dst *[4 * panel]byte, x *[4 * panel]byte) { vecQuadsAVX2(&dst[0], &x[0]) }
