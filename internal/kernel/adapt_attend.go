package kernel

import "unsafe"

// An asmAttend is a tile over storage of type E. Strides are in bytes.
type asmAttend[E float32 | uint16] = func(
	panels, depth int, a *float32, aStride int, b *E, bStride, bPanel int,
	c *float32, cStride int, carry bool, rows int,
)

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
type asmScores[Q uint8 | uint16] = func(
	dst *float32, dstStride int, q *Q, qStride int, start *int32, qScale *float32,
	k *byte, kScale *float32, quads, panels, rows int,
)

func scoreInt8ByRows(f asmScores[uint8], most int) scoreInt8Func {
	return func(t scoreTile) {
		if t.rows == 0 || t.panels == 0 {
			return
		}
		t.check()
		for r := 0; r < t.rows; r += most {
			f(&t.dst[r*t.stride], 4*t.stride, &t.q[r*t.depth], t.depth, &t.start[r], &t.qScale[r],
				&t.k[0], &t.kScale[0], t.depth/4, t.panels, min(most, t.rows-r))
		}
	}
}

// scoreInt8ByWords is scoreInt8ByRows for a function that takes queries as words. Heads that
// are wider than a wordBuffer, which no model has, go to the reference.
func scoreInt8ByWords(wide asmWiden, f asmScores[uint16]) scoreInt8Func {
	return func(t scoreTile) {
		if t.rows == 0 || t.panels == 0 {
			return
		}
		if t.depth > wordDepth {
			scoreInt8Ref(t)
			return
		}
		t.check()
		words := wordBuffers.Get().(*wordBuffer)
		defer wordBuffers.Put(words)
		for r := 0; r < t.rows; r += fewRows {
			m := min(fewRows, t.rows-r)
			widenRows(wide, words[:], t.q[r*t.depth:], t.depth, t.depth, m, signed)
			f(&t.dst[r*t.stride], 4*t.stride, &words[0], 2*wordDepth, &t.start[r], &t.qScale[r],
				&t.k[0], &t.kScale[0], t.depth/4, t.panels, m)
		}
	}
}

// check panics if a slice is too short.
func (t *scoreTile) check() {
	keys := t.panels * panelKeys
	_, _, _ = t.dst[(t.rows-1)*t.stride+keys-1], t.q[t.rows*t.depth-1], t.k[keys*t.depth-1]
	_, _, _ = t.start[t.rows-1], t.qScale[t.rows-1], t.kScale[keys-1]
}

// An asmWeights is weightsRef for n numbers, more than 0. Steps are in bytes.
type asmWeights = func(
	dst *byte, step int, unit *float32, unitStep int, x, scale *float32, n int, m float32, row *float32,
) float32

func weightsWith(f asmWeights) weightsFunc {
	return func(dst []byte, unit, x, scale []float32, m float32, row *[weightBlock]float32) float32 {
		n := len(x)
		if n == 0 {
			return 0
		}
		last := (n - 1) / weightBlock
		full := (n + vectorLanes - 1) &^ (vectorLanes - 1)
		_, _, _ = dst[last*weightStep+full-last*weightBlock-1], unit[last*int8TileRows], scale[n-1]
		return f(&dst[0], weightStep, &unit[0], 4*int8TileRows, &x[0], &scale[0], n, m, &row[0])
	}
}
