package kernel

import "unsafe"

// An attendFunc is a tile of one shape over storage of type E. Strides are in
// bytes.
type attendFunc[E float32 | uint16] = func(panels, depth int, a *float32, aStride int, b *E, bStride, bPanel int, c *float32, cStride int, carry bool)

// An attendTable holds the tiles by number of rows minus one.
type attendTable[E float32 | uint16] struct {
	tiles [tileRows]attendFunc[E]

	// chunk is the depth that a tile of several rows does at a time, if it works in
	// pieces narrower than its width: the later pieces then find b in a near cache.
	chunk int
}

// run computes a tile. It panics if a slice is too short for the shape.
func (t *attendTable[E]) run(s tileShape, a []float32, b []E, c []float32) {
	_ = a[(s.rows-1)*s.aStride+s.depth-1]
	_ = b[(s.panels-1)*s.bPanel+(s.depth-1)*s.bStride+panelKeys-1]
	_ = c[(s.rows-1)*s.cStride+s.panels*panelKeys-1]
	step := s.depth
	if t.chunk > 0 && s.rows > 1 && s.panels == 1 {
		step = t.chunk
	}
	for i, depth := 0, s.depth; i < depth; i += step {
		s.depth = min(step, depth-i)
		t.call(s, a[i:], b[i*s.bStride:], c)
		s.carry = true
	}
}

// call runs the function of a shape.
func (t *attendTable[E]) call(s tileShape, a []float32, b []E, c []float32) {
	const float = 4
	elem := int(unsafe.Sizeof(b[0]))
	t.tiles[s.rows-1](s.panels, s.depth, &a[0], float*s.aStride, &b[0], elem*s.bStride, elem*s.bPanel,
		&c[0], float*s.cStride, s.carry)
}

// An asmScoreInt8 is a scoreInt8Func for a fixed number of rows. Strides are in bytes.
type asmScoreInt8 = func(dst *float32, dstStride int, q *byte, qStride int, start *int32, qScale *float32, k *byte, kScale *float32, quads, panels int)

// scoreInt8With returns a scoreInt8Func that uses functions for 1, 2, … rows.
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

// An asmScoreWords is an asmScoreInt8 for queries that are words.
type asmScoreWords = func(dst *float32, dstStride int, q *uint16, qStride int, start *int32, qScale *float32, k *byte, kScale *float32, quads, panels int)

// scoreInt8Words is scoreInt8With for functions that take queries as words. Heads that are
// wider than a wordBuffer, which no model has, go to the reference.
func scoreInt8Words(widen asmWiden, tiles ...asmScoreWords) scoreInt8Func {
	return func(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int) {
		if rows == 0 || panels == 0 {
			return
		}
		if depth > wordDepth {
			scoreInt8Ref(dst, stride, q, start, qScale, k, kScale, depth, rows, panels)
			return
		}
		keys := panels * panelKeys
		_, _, _ = dst[(rows-1)*stride+keys-1], q[rows*depth-1], k[keys*depth-1]
		_, _, _ = start[rows-1], qScale[rows-1], kScale[keys-1]
		words := wordBuffers.Get().(*wordBuffer)
		defer wordBuffers.Put(words)
		for r := 0; r < rows; {
			m := min(len(tiles), rows-r)
			words.widen(widen, q[r*depth:], depth, depth, m, func(b byte) uint16 { return uint16(int8(b)) })
			tiles[m-1](&dst[r*stride], 4*stride, &words[0], 2*wordDepth, &start[r], &qScale[r], &k[0], &kScale[0], depth/4, panels)
			r += m
		}
	}
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
		full := (n + lanes - 1) &^ (lanes - 1)
		_, _, _ = dst[last*weightStep+full-last*weightBlock-1], unit[last*int8TileRows], scale[n-1]
		return f(&dst[0], weightStep, &unit[0], 4*int8TileRows, &x[0], &scale[0], n, m, &spare[0])
	}
}
