package kernel

import "math"

// attendInt8Ops are the kernels that attention over int8 caches has beyond those of int8
// products.
type attendInt8Ops struct {
	score         scoreInt8Func
	weights       weightsFunc
	interleaveBy4 func(dst *[4 * panel]byte, x *[4 * panel]byte)
	manyQueries   *manyQueryOps // nil if there is nothing better for many rows
}

// A scoreTile is the arguments of a scoreInt8Func.
type scoreTile struct {
	dst                 []float32
	stride              int // of dst
	q                   []byte
	start               []int32
	qScale              []float32
	k                   []byte
	kScale              []float32
	depth, rows, panels int
}

// A scoreInt8Func computes scores of some rows with whole panels of keys. For
// p < panels, r < rows and c < 64,
//
//	sum = start[r]
//	for i := range depth { sum += int32(int8(q[r·depth+i])) · level(k[p·64·depth + i/4·256 + c·4 + i%4]) }
//	dst[r·stride+64p+c] = float32(sum)·(qScale[r]·kScale[64p+c])
//
// each operation rounded. depth is a multiple of four. k holds a key plus int8Zero, and
// start is -int8Zero·Σq, which cancels that. Sums wrap, so only the final one has to fit.
type scoreInt8Func = func(scoreTile)

var attendInt8Ref = attendInt8Ops{score: scoreInt8Ref, weights: weightsRef, interleaveBy4: interleaveBy4Ref}

func scoreInt8Ref(t scoreTile) {
	for p := range t.panels {
		for r := range t.rows {
			var sums [panelKeys]int32
			for c := range sums {
				sums[c] = t.start[r]
			}
			for i, v := range t.q[r*t.depth:][:t.depth] {
				column := t.k[p*panelKeys*t.depth+i/4*4*panelKeys+i%4:]
				for c := range sums {
					sums[c] += int32(int8(v)) * level(column[4*c])
				}
			}
			to, by := t.dst[r*t.stride+p*panelKeys:][:panelKeys], t.kScale[p*panelKeys:][:panelKeys]
			for c, sum := range sums {
				to[c] = float32(sum) * float32(t.qScale[r]*by[c])
			}
		}
	}
}

// weightBlock is how many keys share one scale for their weights. If a row attends to a
// few keys much more than to the others, the others round to zero in eight bits, though
// together they may weigh as much. Blocks without such a key keep their weights.
const weightBlock = 256

// weightStride is the distance between rows of a block of weights; it keeps rows out of
// each other's cache sets. weightStep is the distance between blocks.
const (
	weightStride = weightBlock + 64
	weightStep   = int8TileRows * weightStride
)

// weightsRef turns the scores x of one row, none above m, into weights as unsigned bytes.
// For each block b of 256 of them, and i in it,
//
//	e = Exp(x[i]-m);  w[i] = e·scale[i];  M = max w
//	dst[b·weightStep+i%256] = w[i]·(255/M), to the nearest integer, ties to even
//	unit[b·int8TileRows] = M/255
//
// It returns Σ e, in sixteen partials. Where M is below 2⁻¹⁰⁰, weights and unit are zero;
// where a w is not finite, unit is NaN. dst is padded with zeros to a multiple of
// sixteen. row is for the w of a block. No scale is negative.
func weightsRef(dst []byte, unit []float32, x, scale []float32, m float32, row *[weightBlock]float32) float32 {
	var p partials
	for b := 0; b*weightBlock < len(x); b++ {
		block, by, most := x[b*weightBlock:min((b+1)*weightBlock, len(x))], scale[b*weightBlock:], uint32(0)
		for i, v := range block {
			e := Exp(v - m)
			p[i%16] += e
			row[i] = float32(e * by[i])
			most = max(most, math.Float32bits(row[i])&0x7fffffff)
		}
		inverse, worth := byteScale(most, 255)
		unit[b*int8TileRows] = worth
		to := dst[b*weightStep:][:(len(block)+vectorLanes-1)&^(vectorLanes-1)]
		clear(to)
		for i, w := range row[:len(block)] {
			to[i] = byte(roundInt8(w, inverse))
		}
	}
	return p.sum()
}

// A weightsFunc is weightsRef.
type weightsFunc = func(dst []byte, unit, x, scale []float32, m float32, row *[weightBlock]float32) float32

// interleaveBy4Ref interleaves four rows of 64 bytes, column by column, and subtracts int8Zero from
// each: values of four positions, as quantise makes them, become those of a cache.
func interleaveBy4Ref(dst *[4 * panel]byte, x *[4 * panel]byte) {
	for r := range 4 {
		for c := range panel {
			dst[4*c+r] = x[r*panel+c] - int8Zero
		}
	}
}
