package kernel

import "unsafe"

// An asmAttend is a tile over storage of type E. Strides are in bytes.
type asmAttend[E float32 | uint16] = func(panels, depth int, a *float32, aStride int, b *E, bStride, bPanel int, c *float32, cStride int, carry bool, rows int)

// attendByRows returns a function of attendOps, which panics if a slice is too short for
// the shape. chunk is the depth that a tile of several rows does at a time, if it works in
// pieces narrower than a panel: the later pieces then find b in a near cache.
func attendByRows[E float32 | uint16](f asmAttend[E], chunk int) func(s tileShape, a []float32, b []E, c []float32) {
	return func(s tileShape, a []float32, b []E, c []float32) {
		_ = a[(s.rows-1)*s.aStride+s.depth-1]
		_ = b[(s.panels-1)*s.bPanel+(s.depth-1)*s.bStride+panelKeys-1]
		_ = c[(s.rows-1)*s.cStride+s.panels*panelKeys-1]
		step := s.depth
		if chunk > 0 && s.rows > 1 && s.panels == 1 {
			step = chunk
		}
		const float = 4
		elem := int(unsafe.Sizeof(b[0]))
		for i := 0; i < s.depth; i += step {
			f(s.panels, min(step, s.depth-i), &a[i], float*s.aStride, &b[i*s.bStride], elem*s.bStride, elem*s.bPanel,
				&c[0], float*s.cStride, s.carry || i > 0, s.rows)
		}
	}
}

// An asmScores is a scoreInt8Func for as many rows as it has bodies for. Strides are in bytes.
type asmScores[Q uint8 | uint16] = func(dst *float32, dstStride int, q *Q, qStride int, start *int32, qScale *float32, k *byte, kScale *float32, quads, panels, rows int)

func scoreInt8ByRows(f asmScores[uint8], most int) scoreInt8Func {
	return func(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int) {
		if rows == 0 || panels == 0 {
			return
		}
		checkScores(dst, stride, q, start, qScale, k, kScale, depth, rows, panels)
		for r := 0; r < rows; r += most {
			f(&dst[r*stride], 4*stride, &q[r*depth], depth, &start[r], &qScale[r], &k[0], &kScale[0], depth/4, panels, min(most, rows-r))
		}
	}
}

// scoreInt8Words is scoreInt8ByRows for a function that takes queries as words. Heads that
// are wider than a wordBuffer, which no model has, go to the reference.
func scoreInt8Words(wide asmWiden, f asmScores[uint16]) scoreInt8Func {
	return func(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int) {
		if rows == 0 || panels == 0 {
			return
		}
		if depth > wordDepth {
			scoreInt8Ref(dst, stride, q, start, qScale, k, kScale, depth, rows, panels)
			return
		}
		checkScores(dst, stride, q, start, qScale, k, kScale, depth, rows, panels)
		words := wordBuffers.Get().(*wordBuffer)
		defer wordBuffers.Put(words)
		for r := 0; r < rows; r += fewRows {
			m := min(fewRows, rows-r)
			widenRows(wide, words[:], q[r*depth:], depth, depth, m, signed)
			f(&dst[r*stride], 4*stride, &words[0], 2*wordDepth, &start[r], &qScale[r], &k[0], &kScale[0], depth/4, panels, m)
		}
	}
}

// checkScores panics if a slice is too short for a scoreInt8Func.
func checkScores(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int) {
	keys := panels * panelKeys
	_, _, _ = dst[(rows-1)*stride+keys-1], q[rows*depth-1], k[keys*depth-1]
	_, _, _ = start[rows-1], qScale[rows-1], kScale[keys-1]
}

// An asmWeights is weightsRef for n numbers, more than 0. Steps are in bytes.
type asmWeights = func(dst *byte, step int, unit *float32, unitStep int, x, scale *float32, n int, m float32, spare *float32) float32

func weightsWith(f asmWeights) func(dst []byte, unit []float32, x, scale []float32, m float32, spare *[weightBlock]float32) float32 {
	return func(dst []byte, unit []float32, x, scale []float32, m float32, spare *[weightBlock]float32) float32 {
		n := len(x)
		if n == 0 {
			return 0
		}
		last := (n - 1) / weightBlock
		full := (n + vectorLanes - 1) &^ (vectorLanes - 1)
		_, _, _ = dst[last*weightStep+full-last*weightBlock-1], unit[last*int8TileRows], scale[n-1]
		return f(&dst[0], weightStep, &unit[0], 4*int8TileRows, &x[0], &scale[0], n, m, &spare[0])
	}
}
