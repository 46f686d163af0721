//go:build !purego

package kernel

import (
	"math"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"

	"verity/precision"
)

//go:generate sh -c "cd _asm && go run ./arm64 -out .."

// Kernels for arm64, in three tiers: "neon", which every processor has; "dotprod", whose
// SDOT adds four products of bytes at once (Apple M1, Neoverse N1, Cortex-A76 and later);
// "i8mm", whose SMMLA adds eight (Apple M2, Neoverse V1 and N2, Oryon and later). The tiers
// differ in products of bytes alone.
//
// Weights are prefetched by the hardware: the arguments of hint are not used.
var (
	hasDot  = cpu.ARM64.HasASIMDDP
	hasI8MM = hasDot && cpu.ARM64.HasI8MM
)

// aheadRows is the least number of rows for which weights are prefetched.
const aheadRows = few + 1

func fetchRows(*byte, int, int) {}

func tileArch() []impl[tileKernels] {
	return []impl[tileKernels]{{"neon", true, tileKernels{
		f32:   byDepth(bySizes(tileF32Ref, sizes[asmTile]{{8, tileF32x8NEON}, {4, tileF32x4NEON}, {2, tileF32x2NEON}, {1, tileF32x1NEON}})),
		f16:   byDepth(bySizes(tileF16Ref, sizes[asmTile]{{8, tileF16x8NEON}, {4, tileF16x4NEON}, {2, tileF16x2NEON}, {1, tileF16x1NEON}})),
		widen: widenWith(widenF16NEON),
		store: finishFull(storeSumsNEON, storeSumsRef),
		add:   finishFull(addSumsNEON, addSumsRef),
	}}}
}

// sizes are functions with their numbers of rows, descending to one.
type sizes[F any] []struct {
	rows int
	f    F
}

// each calls do for rows 0, 1, … with the largest functions that fit, one after the other.
func (s sizes[F]) each(rows int, do func(f F, r int)) {
	r := 0
	for _, t := range s {
		for ; r+t.rows <= rows; r += t.rows {
			do(t.f, r)
		}
	}
}

// bySizes returns a tileFunc, or a tileInt8Func, that uses tiles. Their steps along k, of four
// bytes of x, come in fours; what is left is done by ref.
func bySizes[A, X, W any](ref func(acc []A, x []X, stride, rows int, w []W, next hint), tiles sizes[func(acc *A, x *X, stride int, w *byte, n, ahead, pace int)]) func(acc []A, x []X, stride, rows int, w []W, next hint) {
	return func(acc []A, x []X, stride, rows int, w []W, _ hint) {
		n := len(w) / panel
		if n == 0 || rows == 0 {
			return
		}
		_, _ = x[(rows-1)*stride+n-1], acc[rows*panel-1]
		elem := int(unsafe.Sizeof(x[0]))
		whole := n * elem / 16 * 16 / elem
		if whole > 0 {
			tiles.each(rows, func(tile func(acc *A, x *X, stride int, w *byte, n, ahead, pace int), r int) {
				tile(&acc[r*panel], &x[r*stride], elem*stride, (*byte)(unsafe.Pointer(&w[0])), whole*elem/4, 0, 0)
			})
		}
		if whole < n {
			ref(acc, x[whole:], stride, rows, w[whole*panel:], hint{})
		}
	}
}

func int8Arch() []impl[int8Kernels] {
	few := bySizes(tileInt8Ref, sizes[asmInt8Tile]{{8, tileInt8x8Dot}, {4, tileInt8x4Dot}, {2, tileInt8x2Dot}, {1, tileInt8x1Dot}})
	fewWeighed := bySizes(weighRef, sizes[asmInt8Tile]{{8, weighx8I8MM}, {4, weighx4I8MM}, {2, weighx2I8MM}, {1, weighx1I8MM}})
	return []impl[int8Kernels]{
		{"i8mm", hasI8MM, int8NEON(int8ByMatrix(few, tileInt8x12I8MM), int8ByMatrix(fewWeighed, weighx12I8MM))},
		{"dotprod", hasDot, int8NEON(few, bySizes(weighRef, sizes[asmInt8Tile]{{8, weighx8Dot}, {4, weighx4Dot}, {2, weighx2Dot}, {1, weighx1Dot}}))},
		{"neon", true, int8NEON(
			bySizes(tileInt8Ref, sizes[asmInt8Tile]{{4, tileInt8x4NEON}, {1, tileInt8x1NEON}}),
			bySizes(weighRef, sizes[asmInt8Tile]{{4, weighx4NEON}, {1, weighx1NEON}}))},
	}
}

func int8NEON(tile, weigh tileInt8Func) int8Kernels {
	tile = int8ByDepth(tile)
	return int8Kernels{
		maxAbs:   maxAbsWith(maxAbsNEON),
		quantise: quantiseWith(func(dst *uint8, x *float32, n int, inverse float32) { roundBytesNEON(dst, x, n, inverse) }),
		tile:     tile,
		first:    clearing(tile),
		weigh:    clearing(int8ByDepth(weigh)),
		store:    finishInt8Full(storeInt8NEON, storeInt8Ref),
		add:      finishInt8Full(addInt8NEON, addInt8Ref),
	}
}

// matrixRows is how many rows matrices of SMMLA take, as paired bytes.
const matrixRows = 12

// matrixBuffers hold paired rows and a paired panel.
var matrixBuffers = sync.Pool{New: func() any { return new([(matrixRows + panel) * int8Step]byte) }}

// int8ByMatrix returns a tileInt8Func that uses matrix for twelve rows at a time, after pairing
// them and the weights, and few for the rest and for depths that are no multiple of eight.
func int8ByMatrix(few tileInt8Func, matrix func(acc *int32, x, w *byte, n int)) tileInt8Func {
	return func(acc []int32, x []uint8, stride, rows int, w []int8, next hint) {
		n, r := len(w)/(8*panel), 0
		if k := len(w) / panel; n > 0 && k == 8*n && k <= int8Step && rows >= matrixRows {
			paired := matrixBuffers.Get().(*[(matrixRows + panel) * int8Step]byte)
			columns := &paired[matrixRows*int8Step]
			pairColumnsNEON(columns, (*byte)(unsafe.Pointer(&w[0])), n)
			for ; r+matrixRows <= rows; r += matrixRows {
				_, _ = x[(r+matrixRows-1)*stride+k-1], acc[(r+matrixRows)*panel-1]
				pairRowsNEON(&paired[0], &x[r*stride], stride, n)
				matrix(&acc[r*panel], &paired[0], columns, n)
			}
			matrixBuffers.Put(paired)
		}
		if r < rows {
			few(acc[r*panel:], x[r*stride:], stride, rows-r, w, next)
		}
	}
}

func fewBitsArch() []impl[fewBitsKernels] {
	return []impl[fewBitsKernels]{
		{"dotprod", hasDot, fewBitsNEON(
			sizes[asmGroups]{{4, tileGroupsx4Dot}, {2, tileGroupsx2Dot}, {1, tileGroupsx1Dot}},
			sizes[asmGroups]{{4, directNibblesx4Dot}, {2, directNibblesx2Dot}, {1, directNibblesx1Dot}},
			sizes[asmGroups]{{4, directNibblesZerox4Dot}, {2, directNibblesZerox2Dot}, {1, directNibblesZerox1Dot}})},
		{"neon", true, fewBitsNEON(
			sizes[asmGroups]{{4, tileGroupsx4NEON}, {1, tileGroupsx1NEON}},
			sizes[asmGroups]{{4, directNibblesx4NEON}, {1, directNibblesx1NEON}},
			sizes[asmGroups]{{4, directNibblesZerox4NEON}, {1, directNibblesZerox1NEON}})},
	}
}

func fewBitsNEON(tile, nibbles, nibblesZero sizes[asmGroups]) fewBitsKernels {
	const all = 1 << 30 // rows at a time
	return fewBitsKernels{
		quantise:    quantiseGroupsNEON,
		nibbles:     expandWith(nibblesNEON, groupBytes/2),
		nibblesZero: expandWith(nibblesZeroNEON, groupBytes/2),
		sixes:       expandWith(sixesNEON, groupBytes*3/4),
		powers:      powersRef,
		tile:        groupsByRows(sumsBySizes(tile), all),
		direct: directTable{
			precision.Int4:  directByRows(sumsBySizes(nibbles), all),
			precision.Int4Z: directByRows(sumsBySizes(nibblesZero), all),
		},
		directRows: 16,
	}
}

// sumsBySizes returns an asmSums that uses tiles.
func sumsBySizes(tiles sizes[asmGroups]) asmSums {
	return func(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, codes, wScale, more *byte, n, zero, _, rows int) {
		tiles.each(rows, func(tile asmGroups, r int) {
			at := r * groupStride
			tile(moved(acc, r*4*panel), moved(q, r*stride), stride, moved(start, at), moved(xScale, at), groupStride, codes, wScale, more, n, zero)
		})
	}
}

// moved returns p moved by some bytes.
func moved[T any](p *T, by int) *T { return (*T)(unsafe.Add(unsafe.Pointer(p), by)) }

// quantiseGroupsNEON is quantiseGroupsRef.
func quantiseGroupsNEON(q []byte, scale []float32, start []int32, x []float32) {
	n := len(x) / groupSize
	for g := range n {
		part := x[g*groupSize:][:groupSize]
		inverse, unit := int8Scale(maxAbsNEON(&part[0], groupSize))
		to := q[g*groupSize:][:groupSize]
		if scale[g] = unit; unit != unit {
			clear(to)
			start[g] = 0
			continue
		}
		start[g] = -roundBytesNEON(&to[0], &part[0], groupSize, inverse)
	}
	quantiseGroupsRef(q[n*groupSize:], scale[n:], start[n:], x[n*groupSize:])
}

func attendArch() []impl[attendOps] {
	return []impl[attendOps]{{"neon", true, attendOps{
		f32: attendWith(attendF32Ref, sizes[attendFunc[float32]]{{4, attendF32R4NEON}, {2, attendF32R2NEON}, {1, attendF32R1NEON}}),
		f16: attendWith(attendF16Ref, sizes[attendFunc[uint16]]{{4, attendF16R4NEON}, {2, attendF16R2NEON}, {1, attendF16R1NEON}}),
	}}}
}

func attendWith[E float32 | uint16](ref func(tileShape, []float32, []E, []float32), tiles sizes[attendFunc[E]]) func(tileShape, []float32, []E, []float32) {
	return func(s tileShape, a []float32, b []E, c []float32) {
		if s.depth == 0 {
			ref(s, a, b, c)
			return
		}
		_ = a[(s.rows-1)*s.aStride+s.depth-1]
		_ = b[(s.panels-1)*s.bPanel+(s.depth-1)*s.bStride+panelKeys-1]
		_ = c[(s.rows-1)*s.cStride+s.panels*panelKeys-1]
		elem := int(unsafe.Sizeof(b[0]))
		tiles.each(s.rows, func(tile attendFunc[E], r int) {
			tile(s.panels, s.depth, &a[r*s.aStride], 4*s.aStride, &b[0], elem*s.bStride, elem*s.bPanel, &c[r*s.cStride], 4*s.cStride, s.carry)
		})
	}
}

func attendInt8Arch() []impl[attendInt8Ops] {
	dot := attendInt8Ops{scoreBySizes(sizes[asmScoreInt8]{{8, scoreInt8R8Dot}, {4, scoreInt8R4Dot}, {2, scoreInt8R2Dot}, {1, scoreInt8R1Dot}}), weightsNEON, quadsOfNEON, nil}
	return []impl[attendInt8Ops]{
		{"i8mm", hasI8MM, dot},
		{"dotprod", hasDot, dot},
		{"neon", true, attendInt8Ops{scoreBySizes(sizes[asmScoreInt8]{{4, scoreInt8R4NEON}, {1, scoreInt8R1NEON}}), weightsNEON, quadsOfNEON, nil}},
	}
}

func quadsOfNEON(dst, x *[4 * panel]byte) { quadsNEON(&dst[0], &x[0]) }

func scoreBySizes(tiles sizes[asmScoreInt8]) scoreInt8Func {
	return func(dst []float32, stride int, q []byte, start []int32, qScale []float32, k []byte, kScale []float32, depth, rows, panels int) {
		if rows == 0 || panels == 0 {
			return
		}
		if depth == 0 || depth%16 != 0 {
			scoreInt8Ref(dst, stride, q, start, qScale, k, kScale, depth, rows, panels)
			return
		}
		keys := panels * panelKeys
		_, _, _ = dst[(rows-1)*stride+keys-1], q[rows*depth-1], k[keys*depth-1]
		_, _, _ = start[rows-1], qScale[rows-1], kScale[keys-1]
		tiles.each(rows, func(tile asmScoreInt8, r int) {
			tile(&dst[r*stride], 4*stride, &q[r*depth], depth, &start[r], &qScale[r], &k[0], &kScale[0], depth/4, panels)
		})
	}
}

// weightsNEON is weightsRef.
func weightsNEON(dst []byte, unit []float32, x, scale []float32, m float32, spare *[weightBlock]float32) float32 {
	var p partials
	for b := 0; b*weightBlock < len(x); b++ {
		block, by := x[b*weightBlock:min((b+1)*weightBlock, len(x))], scale[b*weightBlock:]
		by = by[:len(block)]
		n, most := len(block)&^15, uint32(0)
		if n > 0 {
			most = expWeightsNEON(&spare[0], &block[0], &by[0], n, m, &p)
		}
		for i := n; i < len(block); i++ {
			e := Exp(block[i] - m)
			p[i%16] += e
			spare[i] = float32(e * by[i])
			most = max(most, math.Float32bits(spare[i])&0x7fffffff)
		}
		inverse, worth := levelScale(most)
		unit[b*int8TileRows] = worth
		to := dst[b*weightStep:][:(len(block)+lanes-1)&^(lanes-1)]
		clear(spare[len(block):len(to)])
		roundBytesNEON(&to[0], &spare[0], len(to), inverse)
	}
	return p.sum()
}

func packArch() []impl[packKernels] {
	return []impl[packKernels]{{"neon", true, packKernels{
		widenHalf: func(dst []float32, src []byte) {
			n := len(dst) &^ 15
			widenHalfRef(dst[n:], src[2*n:])
			if n > 0 {
				_ = src[2*n-1]
				widenHalfNEON(&dst[0], &src[0], n/16)
			}
		},
		words: turnWordsOfNEON, halves: turnHalvesRef, wide: widenHalvesRef,
		fours: func(to, from []byte, c, n, stride int) {
			whole := n &^ 3
			if whole > 0 {
				_, _ = to[3*4*panel+4*(c+whole)-1], from[(whole-1)*stride+groupSize/2-1]
				foursNEON(&to[4*c], &from[0], stride, whole)
			}
			if whole < n {
				packFours(to, from[whole*stride:], c+whole, n-whole, stride)
			}
		},
	}}}
}

// turnWordsOfNEON is turnWordsRef.
func turnWordsOfNEON(to, from []byte, stride, rows, cols int, flip uint32) {
	if flip != 0 {
		turnWordsRef(to, from, stride, rows, cols, flip)
		return
	}
	turnWordsWith(func(to, from *byte, stride, rows, cols, _ int) {
		turnNEON((*float32)(unsafe.Pointer(to)), (*float32)(unsafe.Pointer(from)), stride, rows, cols)
	})(to, from, stride, rows, cols, 0)
}

func vectorArch() []impl[vectorOps] {
	return []impl[vectorOps]{{"neon", true, vectorOps{
		add: byPairs(addNEON, addRef), raise: byPairs(raiseNEON, raiseRef),
		div: byNumber(divNEON, divRef), scale: byNumber(scaleNEON, scaleRef),
		gelu: func(x []float32) {
			n := len(x) &^ 3
			geluRef(x[n:])
			if n > 0 {
				geluNEON(&x[0], n)
			}
		},
		norm: normOfNEON, max: maxOfNEON,
		expSum: expSumOfNEON,
		sumExp: func(x []float32, m float32) float32 { return expSumOfNEON(nil, x, m) },
		log10:  byNumber(log10NEON, log10Ref),
		chain: func(dst, w, x []float32) {
			clear(dst)
			tiles.fn.f32(dst, w, len(w), 1, x, hint{})
		},
		fold: func(sum0, difference0, sum1, difference1, x, y []float32) {
			if n := len(x) / (2 * Lanes); n > 0 {
				foldNEON(&sum0[0], &difference0[0], &sum1[0], &difference1[0], &x[0], &y[0], n)
			}
		},
		squares: func(dst, c0, c1, s0, s1 []float32) {
			squaresNEON(&dst[0], &c0[0], &c1[0], &s0[0], &s1[0], len(c0)/Lanes)
		},
		cells:    byNumber(func(to, x *float32, n int, least float32) { cellsNEON(to, x, n, least, 4) }, cellsRef),
		dots:     dotsOfNEON,
		narrow:   narrowWith(narrowNEON),
		turnHalf: turnWith(turnHalfNEON, turnByRows(narrowWith(narrowNEON))),
	}}}
}

// byPairs returns an operation on two slices that uses f for multiples of four.
func byPairs(f func(dst, x *float32, n int), ref func(dst, x []float32)) func(dst, x []float32) {
	return func(dst, x []float32) {
		n := len(x) &^ 3
		ref(dst[n:], x[n:])
		if n > 0 {
			f(&dst[:n][0], &x[0], n)
		}
	}
}

// byNumber returns an operation on x and a number that uses f for multiples of four.
func byNumber(f func(to, x *float32, n int, by float32), ref func(to, x []float32, by float32)) func(to, x []float32, by float32) {
	return func(to, x []float32, by float32) {
		n := len(x) &^ 3
		ref(to[n:], x[n:], by)
		if n > 0 {
			f(&to[:n][0], &x[0], n, by)
		}
	}
}

// expSumOfNEON is expSumRef, and sumExpRef if dst is nil.
func expSumOfNEON(dst, x []float32, m float32) float32 {
	var p partials
	n := len(x) &^ 15
	switch {
	case n > 0 && dst != nil:
		expSumNEON(&dst[:n][0], &x[0], n, m, &p)
	case n > 0:
		sumExpNEON(nil, &x[0], n, m, &p)
	}
	for i := n; i < len(x); i++ {
		e := Exp(x[i] - m)
		if dst != nil {
			dst[i] = e
		}
		p[i%16] += e
	}
	return p.sum()
}

// normOfNEON is normRef.
func normOfNEON(dst, x, gamma, beta []float32, eps float32) {
	var sum, squares partials
	all := float32(len(x))
	n := len(x) &^ 15
	if n > 0 {
		sumNEON(&sum, &x[0], n)
	}
	for i := n; i < len(x); i++ {
		sum[i%16] += x[i]
	}
	mean := sum.sum() / all
	if n > 0 {
		squaresSumNEON(&squares, &x[0], n, mean)
	}
	for i := n; i < len(x); i++ {
		d := x[i] - mean
		squares[i%16] = fma(d, d, squares[i%16])
	}
	scale := 1 / float32(math.Sqrt(float64(squares.sum()/all+eps)))
	if n > 0 {
		normNEON(&dst[:n][0], &x[0], &gamma[:n][0], &beta[:n][0], n, mean, scale)
	}
	for i := n; i < len(x); i++ {
		dst[i] = fma(float32((x[i]-mean)*scale), gamma[i], beta[i])
	}
}

// maxOfNEON is maxRef.
func maxOfNEON(x []float32) float32 {
	var most partials
	for i := range most {
		most[i] = negInf
	}
	n := len(x) &^ 15
	if n > 0 {
		maxNEON(&most, &x[0], n)
	}
	a, b := maxRef(most[:]), maxRef(x[n:])
	if b != b || b > a {
		return b
	}
	return a
}

// dotsOfNEON is dotsRef.
func dotsOfNEON(dst *[4]float32, a, b *[4][]float32) {
	var sums partials
	n := len(a[0]) &^ 3
	if n > 0 {
		dotsNEON(&sums, a, b, n)
	}
	for i, row := range a {
		p := sums[4*i:][:4]
		for j := n; j < len(a[0]); j++ {
			p[0] += float32(row[j] * b[i][j])
		}
		dst[i] = (p[0] + p[1]) + (p[2] + p[3])
	}
}

func ceilingArch() []impl[ceilingKernels] {
	kernels := func(dot func(n int), perRound float64) ceilingKernels {
		return ceilingKernels{
			fma: fmaPeakNEON, fmaPerRound: 24 * 4, dot: dot, dotPerRound: perRound, vector: vectorPeakNEON, vectorPerRound: 24 * 4,
			read: func(b []byte) {
				if n := len(b) / 512; n > 0 {
					readNEON(&b[0], n)
				}
			},
		}
	}
	return []impl[ceilingKernels]{
		{"i8mm", hasI8MM, kernels(dotPeakI8MM, 24*32)},
		{"dotprod", hasDot, kernels(dotPeakDot, 24*16)},
		{"neon", true, kernels(dotPeakNEON, 24*8)},
	}
}

// The functions of fixed numbers of rows, which eachRows of amd64 has in one.
type (
	asmTile      = func(acc, x *float32, stride int, w *byte, n, ahead, pace int)
	asmInt8Tile  = func(acc *int32, x *uint8, stride int, w *byte, n, ahead, pace int)
	asmGroups    = func(acc *float32, q *byte, stride int, start *int32, xScale *float32, groupStride int, codes, wScale, more *byte, n, zero int)
	asmScoreInt8 = func(dst *float32, dstStride int, q *byte, qStride int, start *int32, qScale *float32, k *byte, kScale *float32, quads, panels int)

	attendFunc[E float32 | uint16] = func(panels, depth int, a *float32, aStride int, b *E, bStride, bPanel int, c *float32, cStride int, carry bool)
)
