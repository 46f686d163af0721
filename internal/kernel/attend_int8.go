package kernel

import (
	"encoding/binary"
	"slices"
	"sync"
)

// An int8Buffer holds what int8 attention needs besides the scores.
type int8Buffer struct {
	query       []byte // [rows][depth], as int8
	start       [int8TileRows]int32
	scale       [int8TileRows]float32 // of the queries
	weights     []byte                // [block][int8TileRows][weightStride]
	units       []float32             // [block][int8TileRows], of the weights
	acc         [int8TileRows * panel]int32
	weightRow   [weightBlock]float32  // before it is rounded
	largest     [int8TileRows]float32 // score of each row
	manyQueries manyQueryTile
}

// scoreInt8 fills b with the scores of a tile of rows with the keys of some panels.
func (j *attendJob) scoreInt8(b *attendBuffer, head int, rows rowRange, panels int) {
	k, n := j.spans[rows.lo].K, rows.rows()
	i8 := &b.i8
	i8.query = Resize(i8.query, n*k.depth)
	for r := range n {
		x := j.q[(rows.lo+r)*j.qStride+head*j.dim:][:j.dim]
		inverse, scale := int8Scale(use.int8s.maxAbs(x))
		q := i8.query[r*k.depth:][:k.depth]
		use.int8s.quantise(q[:j.dim], x, inverse)
		for d := j.dim; d < k.depth; d++ {
			q[d] = int8Zero
		}
		i8.scale[r], i8.start[r] = scale*j.scale, centre(q)
	}
	if j.hasManyQueries(n) {
		j.scoreManyQueries(b, head, rows, panels)
		return
	}
	use.attendInt8.score(scoreTile{
		dst: b.scores, stride: b.stride, q: i8.query, start: i8.start[:n], qScale: i8.scale[:n],
		k: k.data[k.at(head, 0):], kScale: k.scale[head*k.panels*panelKeys:], depth: k.depth, rows: n, panels: panels,
	})
	for r := range n {
		i8.largest[r] = use.vector.max(b.scores[r*b.stride:][:j.spans[rows.lo+r].N])
	}
}

// centre subtracts int8Zero from every byte of q and returns -int8Zero times their sum.
// The length is a multiple of four.
func centre(q []byte) int32 {
	const low = 0x00ff00ff00ff00ff
	sum, n := uint64(0), len(q)&^7
	for i := 0; i < n; i += 8 {
		v := binary.LittleEndian.Uint64(q[i:])
		pairs := v&low + v>>8&low
		pairs += pairs >> 16
		sum += pairs&0xffff + pairs>>32&0xffff
		binary.LittleEndian.PutUint64(q[i:], v^int8Signs)
	}
	for i := n; i < len(q); i++ {
		sum += uint64(q[i])
		q[i] -= int8Zero
	}
	return -int8Zero * (int32(sum) - int8Zero*int32(len(q)))
}

// mixInt8 sets dst of a tile of rows to the weighted values, given their scores, one
// block of keys after another. Masked keys get weight 0. Adding +0 leaves a sum
// unchanged, since no sum is ever -0.
func (j *attendJob) mixInt8(b *attendBuffer, head int, rows rowRange) {
	v, n, i8 := j.spans[rows.lo].V, rows.rows(), &b.i8
	_, longest := j.lengths(rows)
	blocks := (longest + weightBlock - 1) / weightBlock
	i8.weights = Resize(i8.weights, blocks*weightStep)
	i8.units = Resize(i8.units, blocks*int8TileRows)
	for r := range n {
		seen := j.spans[rows.lo+r].N
		if (seen+vectorLanes-1)&^(vectorLanes-1) < longest {
			i8.blank(r, seen, blocks)
		}
		x := b.scores[r*b.stride:][:seen]
		b.sums[r] = use.attendInt8.weights(i8.weights[r*weightStride:], i8.units[r:], x, v.scale[head*4*v.groupsOf4:],
			i8.largest[r], &i8.weightRow)
	}
	stride := j.heads * j.dim
	dst := j.dst[rows.lo*stride+head*j.dim:]
	if j.hasManyQueries(n) {
		j.mixManyQueries(b, dst, v, head, rows, longest)
		return
	}
	finish := use.int8s.store
	for block := range blocks {
		from := block * weightBlock
		depth := (min(weightBlock, longest-from) + 3) &^ 3
		for c := 0; c < j.dim; c += panel {
			acc, cols := i8.acc[:n*panel], min(panel, j.dim-c)
			at := v.at(head, from) + c*4*v.groupsOf4
			values := view[int8](v.data[at:][:depth*panel])
			use.int8s.weightedSum(acc, i8.weights[block*weightStep:], weightStride, n, values, hint{})
			units := i8.units[block*int8TileRows:][:n]
			finish(dst[c:], acc, noOffsets[:cols], units, ones[:cols], negativeZeros[:cols], stride, n)
		}
		finish = use.int8s.add
	}
	for r := range n {
		row := dst[r*stride:][:j.dim]
		use.vector.div(row, row, b.sums[r])
	}
}

// blank sets the weights of row r to zero from its last block on.
func (i *int8Buffer) blank(r, seen, blocks int) {
	for block := (seen - 1) / weightBlock; block < blocks; block++ {
		clear(i.weights[block*weightStep+r*weightStride:][:weightBlock])
		i.units[block*int8TileRows+r] = 0
	}
}

var (
	noOffsets [panel]int32
	ones      = slices.Repeat([]float32{1}, panel)
)

// A rounder is scratch memory for rows that are rounded before they go into a cache. (It
// cannot be on the stack: a slice passed to one of several implementations escapes.)
type rounder struct {
	keys    [panelKeys * panel]byte // [keys][64]
	inverse [panelKeys]float32
	four    [4 * panel]byte // [positions][64]
}

var rounders = sync.Pool{New: func() any { return new(rounder) }}

// putInt8 is put for int8, whole heads only.
func (k *Keys) putInt8(head, pos, n int, x []float32, xStride int) {
	t := rounders.Get().(*rounder)
	defer rounders.Put(t)
	for i := 0; i < n; {
		at := (pos + i) % panelKeys
		rows := min(panelKeys-at, n-i)
		to := head*k.panels*panelKeys + pos + i
		for r := range rows {
			t.inverse[r], k.scale[to+r] = int8Scale(use.int8s.maxAbs(x[(i+r)*xStride:][:k.dim]))
		}
		for d := 0; d < k.dim; d += panel {
			cols := min(panel, k.dim-d)
			quads := (cols + 3) / 4
			for r := range rows {
				row := t.keys[r*panel:][:panel]
				clear(row[cols:])
				use.int8s.quantise(row[:cols], x[(i+r)*xStride+d:][:cols], t.inverse[r])
			}
			at := k.at(head, (pos+i)/panelKeys) + d*panelKeys + 4*at
			use.packing.words(k.data[at:], t.keys[:], panel, rows, quads)
		}
		i += rows
	}
}

// putInt8 is put for int8, whole heads only. Positions that share a group of four may be
// written concurrently, so it writes only the bytes of its own positions.
func (v *Values) putInt8(head, pos, n int, x []float32, xStride int) {
	t := rounders.Get().(*rounder)
	defer rounders.Put(t)
	for i := 0; i < n; {
		p, many := pos+i, 1
		if p%4 == 0 && n-i >= 4 {
			many = 4
		}
		for r := range many {
			t.inverse[r], v.scale[head*4*v.groupsOf4+p+r] = int8Scale(use.int8s.maxAbs(x[(i+r)*xStride:][:v.dim]))
		}
		for d := 0; d < v.dim; d += panel {
			cols := min(panel, v.dim-d)
			for r := range many {
				row := t.four[r*panel:][:panel]
				use.int8s.quantise(row[:cols], x[(i+r)*xStride+d:][:cols], t.inverse[r])
				for c := cols; c < panel; c++ {
					row[c] = int8Zero
				}
			}
			to := v.data[v.at(head, p)+d*4*v.groupsOf4:]
			if many == 4 {
				use.attendInt8.interleaveBy4((*[4 * panel]byte)(to), &t.four)
				continue
			}
			for c, q := range t.four[:panel] {
				to[4*c] = q - int8Zero
			}
		}
		i += many
	}
}
