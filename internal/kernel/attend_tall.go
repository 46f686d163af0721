package kernel

import "math"

// tallOps are kernels for a tile of tallLeast to int8TileRows queries in heads of tallDim,
// which is what the encoders of all published models have nearly everywhere.
type tallOps struct {
	// score does what a scoreInt8Func does, and keeps the largest scores in t.rows.
	score func(t *tallTile, dst []float32, stride int, q, k []byte, kScale []float32, rows, panels int)

	// mix sets dst to the values of quarters·64 positions, by the weights and units that
	// weightsRef makes, over total. Weights of what a row does not see are zero.
	mix func(t *tallTile, dst []float32, stride int, weights []byte, units []float32, v []byte, total []float32, quarters int)
}

const (
	tallLeast = 17
	tallDim   = 64
	tallPart  = 64 // positions that mix has to have a multiple of
)

// A tallTile is what the kernels of a tall tile have besides what other tiles have.
type tallTile struct {
	rows [int8TileRows]tallRow
	sums [3 * int8TileRows * panel]int32 // two buffers of sums, and one of outputs
}

// A tallRow is a query: its largest scores in sixteen parts, and what its scores start at
// and are scaled by. The assembly knows its layout.
type tallRow struct {
	most  [vectorLanes]float32
	start int32
	scale float32
	_     [14]uint32
}

// tall reports whether n rows go through the kernels of tall tiles.
func (j *attendJob) tall(n int) bool {
	return use.attendInt8.tall != nil && n >= tallLeast && j.dim == tallDim
}

// scoreTall fills b with scores and their largest. The queries are rounded.
func (j *attendJob) scoreTall(b *attendBuffer, head int, rows rowRange, panels int) {
	k, n, i8 := j.spans[rows.lo].K, rows.rows(), &b.int8
	keys, scale := k.data[k.at(head, 0):], k.scale[head*k.panels*panelKeys:]
	for r := range n {
		row := &i8.tall.rows[r]
		row.start, row.scale = i8.start[r], i8.scale[r]
		for l := range row.most {
			row.most[l] = negInf
		}
	}
	shortest, _ := j.lengths(rows)
	seen := shortest / panelKeys // panels that all rows see
	if seen > 0 {
		use.attendInt8.tall.score(&i8.tall, b.scores, b.stride, i8.query, keys, scale, n, seen)
	}
	from := seen * panelKeys
	if !bounded(i8.scale[:n], scale[:from]) {
		from = 0 // there may be NaN, of which rows.most knows nothing
	}
	for r := range n {
		i8.largest[r] = negInf
		if from > 0 {
			i8.largest[r] = use.vector.max(i8.tall.rows[r].most[:])
		}
	}
	if seen < panels {
		at := seen * panelKeys
		use.attendInt8.tall.score(&i8.tall, b.scores[at:], b.stride, i8.query, keys[at*k.depth:], scale[at:], n, panels-seen)
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
	const most = tallDim * 127 * 127
	q, k := float32(0), float64(use.vector.max(keys))
	for _, s := range queries {
		q = max(q, s, -s) // NaN if one is
	}
	return float64(q)*k*most < math.MaxFloat32
}

// mixTall sets dst to the weighted values of rows.
func (j *attendJob) mixTall(b *attendBuffer, dst []float32, v *Values, head int, rows rowRange, longest int) {
	n, i8 := rows.rows(), &b.int8
	quarters := (longest + tallPart - 1) / tallPart
	last := (longest - 1) / weightBlock
	end := quarters*tallPart - last*weightBlock
	for r := range n {
		filled := max(0, (j.spans[rows.lo+r].N+vectorLanes-1)&^(vectorLanes-1)-last*weightBlock)
		if filled < end { // of a row that sees fewer blocks, blank has cleared them
			clear(i8.weights[last*weightStep+r*weightStride:][filled:end])
		}
	}
	use.attendInt8.tall.mix(&i8.tall, dst, j.heads*j.dim, i8.weights, i8.units, v.data[v.at(head, 0):], b.sums[:n], quarters)
}
