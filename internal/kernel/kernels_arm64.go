//go:build !purego

package kernel

import (
	"math"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"
)

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

// aheadRows is the least of a few rows for which weights are prefetched: here, none.
const aheadRows = fewRows + 1

func prefetchRows(*byte, int, int) {}

// setsOfArch returns NEON with what each later processor does better.
func setsOfArch() []set {
	neon := setNEON()
	dot := setDot(neon)
	return []set{setI8MM(dot).named("i8mm", hasI8MM), dot.named("dotprod", hasDot), neon.named("neon", true)}
}

// setNEON returns the kernels for every processor.
func setNEON() set {
	return set{
		tiles: tileKernels{
			f32:   byDepth(floatStep, fewRows, byRowsNEON(tileF32NEON, tileF32Ref)),
			f16:   byDepth(floatStep, fewRows, byRowsNEON(tileF16NEON, tileF16Ref)),
			widen: widenWith(widenHalfNEON),
			store: finishWith(storeSumsNEON, storeSumsRef),
			add:   finishWith(addSumsNEON, addSumsRef),
		},
		int8s: int8NEON(byRowsNEON(tileInt8NEON, tileInt8Ref), byRowsNEON(weighNEON, weightedSumRef)),
		fewBits: fewBitsKernels{
			quantise:      quantiseGroupsNEON,
			nibbles:       expandWith(nibblesNEON, groupBytes/2),
			mxfp6:         expandWith(mxfp6NEON, groupBytes*3/4),
			powers:        powersRef,
			tile:          groupsByRows(tileGroupsNEON, anyRows),
			directNibbles: directByRows(directNibblesNEON, anyRows),
			directEights:  directByRows(directEightsNEON, anyRows),
			directRows:    16,
		},
		attend: attendOps{f32: attendByRows(attendF32NEON, 0), f16: attendByRows(attendF16NEON, 0)},
		attendInt8: attendInt8Ops{
			score: scoreNEON(scoreInt8NEON), weights: weightsNEON,
			interleaveBy4: func(dst, x *[4 * panel]byte) { interleaveBy4NEON(&dst[0], &x[0]) },
		},
		packing: packKernels{
			widenHalf: widenHalfWith(widenHalfNEON), halves: transposeHalvesRef,
			words: transposeBytesWith(func(to, from *byte, stride, rows, cols int) {
				transposeNEON((*float32)(unsafe.Pointer(to)), (*float32)(unsafe.Pointer(from)), stride, rows, cols)
			}, 8, 4, transposeWordsRef),
		},
		vector: vectorOps{
			add: byStep(4, addNEON, addRef), maxInto: byStep(4, maxIntoNEON, maxIntoRef),
			div: byNumber(4, divNEON, divRef), scale: byNumber(4, scaleNEON, scaleRef),
			gelu: geluOfNEON, norm: normOfNEON, max: maxOfNEON, expSum: expSumOfNEON,
			log10: byNumber(4, log10NEON, log10Ref), dots: dotsOfNEON,
			standardize: standardizeRef, median: medianRef,
			narrow:          byStep(8, narrowNEON, narrowRef),
			transposeNarrow: transposeNarrowWith(transposeNarrowNEON, transposeNarrowByRows(byStep(8, narrowNEON, narrowRef))),
		},
	}
}

// fewDot is the tile of SDOT.
var fewDot = byRowsNEON(tileInt8Dot, tileInt8Ref)

// setDot returns s with products of SDOT.
func setDot(s set) set {
	s.int8s = int8NEON(fewDot, byRowsNEON(weighDot, weightedSumRef))
	s.fewBits.tile = groupsByRows(tileGroupsDot, anyRows)
	s.fewBits.directNibbles = directByRows(directNibblesDot, anyRows)
	s.fewBits.directEights = directByRows(directEightsDot, anyRows)
	s.attendInt8.score = scoreNEON(scoreInt8Dot)
	return s
}

// setI8MM returns s with products of SMMLA.
func setI8MM(s set) set {
	s.int8s = int8NEON(int8ByMatrix(fewDot, tileInt8x12I8MM),
		int8ByMatrix(byRowsNEON(weighI8MM, weightedSumRef), weighx12I8MM))
	return s
}

// anyRows is the most rows that assembly takes at a time.
const anyRows = 1 << 30

// byRowsNEON is byRows for a tile that does four steps along k at a time, of four bytes of x each;
// ref does the rest.
func byRowsNEON[S, X, W any](tile asmRows[S, X], ref rowsFunc[S, X, W]) rowsFunc[S, X, W] {
	step := 4 / int(unsafe.Sizeof(*new(X)))
	four := byRows[W](tile, anyRows, step)
	return func(acc []S, x []X, stride, rows int, w []W, next hint) {
		n := len(w) / panel
		whole := n / (4 * step) * 4 * step
		four(acc, x, stride, rows, w[:whole*panel], next)
		if whole < n && rows > 0 {
			ref(acc, x[whole:], stride, rows, w[whole*panel:], hint{})
		}
	}
}

func int8NEON(tile, weightedSum tileInt8Func) int8Kernels {
	return int8Kernels{
		maxAbs: maxAbsWith(maxAbsNEON),
		quantise: byNumber(16, func(dst *uint8, x *float32, n int, inverse float32) {
			roundBytesNEON(dst, x, n, inverse)
		}, quantiseRef),
		tile:        starting(int8ByDepth(tile)),
		weightedSum: starting(int8ByDepth(weightedSum)),
		store:       finishInt8With(storeInt8NEON, storeInt8Ref),
		add:         finishInt8With(addInt8NEON, addInt8Ref),
	}
}

// matrixRows is how many rows matrices of SMMLA take, as paired bytes.
const matrixRows = 12

// matrixBuffers hold paired rows and a paired panel.
var matrixBuffers = sync.Pool{New: func() any { return new([(matrixRows + panel) * int8Step]byte) }}

// int8ByMatrix returns a tileInt8Func that uses matrix for twelve rows at a time, after pairing
// them and the weights, and rest for the others and for depths that are no multiple of eight.
func int8ByMatrix(rest tileInt8Func, matrix func(acc *int32, x, w *byte, n int)) tileInt8Func {
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
			rest(acc[r*panel:], x[r*stride:], stride, rows-r, w, next)
		}
	}
}

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

// scoreNEON is scoreInt8ByRows for heads of which whole vectors are loaded.
func scoreNEON(f asmScores[uint8]) scoreInt8Func {
	score := scoreInt8ByRows(f, anyRows)
	return func(t scoreTile) {
		if t.depth%16 == 0 {
			score(t)
			return
		}
		scoreInt8Ref(t)
	}
}

// weightsNEON is weightsRef.
func weightsNEON(dst []byte, unit, x, scale []float32, m float32, row *[weightBlock]float32) float32 {
	var p partials
	for b := 0; b*weightBlock < len(x); b++ {
		block, by := x[b*weightBlock:min((b+1)*weightBlock, len(x))], scale[b*weightBlock:]
		by = by[:len(block)]
		n, most := len(block)&^15, uint32(0)
		if n > 0 {
			most = expWeightsNEON(&row[0], &block[0], &by[0], n, m, &p)
		}
		for i := n; i < len(block); i++ {
			e := Exp(block[i] - m)
			p[i%16] += e
			row[i] = float32(e * by[i])
			most = max(most, math.Float32bits(row[i])&0x7fffffff)
		}
		inverse, worth := byteScale(most, 255)
		unit[b*int8TileRows] = worth
		to := dst[b*weightStep:][:(len(block)+vectorLanes-1)&^(vectorLanes-1)]
		clear(row[len(block):len(to)])
		roundBytesNEON(&to[0], &row[0], len(to), inverse)
	}
	return p.sum()
}

// geluOfNEON is geluRef.
func geluOfNEON(x []float32) {
	n := len(x) &^ 3
	geluRef(x[n:])
	if n > 0 {
		geluNEON(&x[0], n)
	}
}

// expSumOfNEON is expSumRef.
func expSumOfNEON(dst, x []float32, m float32) float32 {
	var p partials
	n := len(x) &^ 15
	if n > 0 {
		expSumNEON(&dst[:n][0], &x[0], n, m, &p)
	}
	for i := n; i < len(x); i++ {
		dst[i] = Exp(x[i] - m)
		p[i%16] += dst[i]
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
