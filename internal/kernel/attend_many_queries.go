package kernel

import "math"

// manyQueryOps are kernels for a tile of minManyQueries to int8TileRows queries in heads of
// manyQueryDim: nearly all tiles in the encoders of published models.
type manyQueryOps struct {
	// score is a scoreInt8Func that also keeps the largest scores, in t.rows.
	score func(t *manyQueryTile, dst []float32, stride int, q, k []byte, kScale []float32, rows, panels int)

	// mix sets dst to the weighted sum of the values of quarters·64 positions, divided by
	// total. weightsRef defines the weights and units. Weights of positions that a row does
	// not see are zero.
	mix func(
		t *manyQueryTile, dst []float32, stride int, weights []byte, units []float32,
		v []byte, total []float32, quarters int,
	)
}

const (
	minManyQueries = 17
	manyQueryDim   = 64
	mixPositions   = 64 // mix needs a multiple of this many positions
)

// A manyQueryTile is the extra memory of a tile of many queries.
type manyQueryTile struct {
	rows [int8TileRows]queryRow
	sums [3 * int8TileRows * panel]int32 // two buffers of sums, and one of outputs
}

// A queryRow has the largest scores of a query, in sixteen parts, and the start and scale of
// its scores. The assembly knows its layout.
type queryRow struct {
	most  [vectorLanes]float32
	start int32
	scale float32
	_     [14]uint32
}

// hasManyQueries reports whether n rows go through manyQueryOps.
func (j *attendJob) hasManyQueries(n int) bool {
	return use.attendInt8.manyQueries != nil && n >= minManyQueries && j.dim == manyQueryDim
}

// scoreManyQueries fills b with scores and their largest. The queries are rounded.
func (j *attendJob) scoreManyQueries(b *attendBuffer, head int, rows rowRange, panels int) {
	k, n, i8 := j.spans[rows.lo].K, rows.rows(), &b.i8
	keys, scale := k.data[k.at(head, 0):], k.scale[head*k.panels*panelKeys:]
	for r := range n {
		row := &i8.manyQueries.rows[r]
		row.start, row.scale = i8.start[r], i8.scale[r]
		for l := range row.most {
			row.most[l] = negInf
		}
	}
	shortest, _ := j.lengths(rows)
	seen := shortest / panelKeys // panels that all rows see
	if seen > 0 {
		use.attendInt8.manyQueries.score(&i8.manyQueries, b.scores, b.stride, i8.query, keys, scale, n, seen)
	}
	from := seen * panelKeys
	if !bounded(i8.scale[:n], scale[:from]) {
		from = 0 // there may be NaN, which rows.most ignores
	}
	for r := range n {
		i8.largest[r] = negInf
		if from > 0 {
			i8.largest[r] = use.vector.max(i8.manyQueries.rows[r].most[:])
		}
	}
	if seen < panels {
		at := seen * panelKeys
		use.attendInt8.manyQueries.score(&i8.manyQueries, b.scores[at:], b.stride,
			i8.query, keys[at*k.depth:], scale[at:], n, panels-seen)
	}
	for r := range n {
		if rest := b.scores[r*b.stride:][from:j.spans[rows.lo+r].N]; len(rest) > 0 {
			if m := use.vector.max(rest); !(m <= i8.largest[r]) {
				i8.largest[r] = m
			}
		}
	}
}

// bounded reports whether no score of queries and keys with these scales can be infinite
// or NaN.
func bounded(queries, keys []float32) bool {
	const most = manyQueryDim * 127 * 127
	q, k := float32(0), float64(use.vector.max(keys))
	for _, s := range queries {
		q = max(q, s, -s) // NaN if one is
	}
	return float64(q)*k*most < math.MaxFloat32
}

// mixManyQueries sets dst to the weighted values of rows.
func (j *attendJob) mixManyQueries(b *attendBuffer, dst []float32, v *Values, head int, rows rowRange, longest int) {
	n, i8 := rows.rows(), &b.i8
	quarters := (longest + mixPositions - 1) / mixPositions
	last := (longest - 1) / weightBlock
	end := quarters*mixPositions - last*weightBlock
	for r := range n {
		filled := max(0, (j.spans[rows.lo+r].N+vectorLanes-1)&^(vectorLanes-1)-last*weightBlock)
		if filled < end { // of a row that sees fewer blocks, blank has cleared them
			clear(i8.weights[last*weightStep+r*weightStride:][filled:end])
		}
	}
	use.attendInt8.manyQueries.mix(&i8.manyQueries, dst, j.heads*j.dim, i8.weights, i8.units,
		v.data[v.at(head, 0):], b.sums[:n], quarters)
}
