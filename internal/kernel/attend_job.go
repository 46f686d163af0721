package kernel

// A rowRange is the range lo … hi-1 of query rows that have the same caches.
type rowRange struct{ lo, hi int }

func (r rowRange) rows() int { return r.hi - r.lo }

// An attendJob is one call of Attend: its parts are ranges × heads, the ranges of
// one head one after the other, since they read the same memory.
type attendJob struct {
	scratch    *Scratch
	dst, q     []float32
	qStride    int
	heads, dim int
	scale      float32
	spans      []Span
	ranges     []rowRange
}

// cut divides the rows into ranges.
func (j *attendJob) cut() {
	most := blockRows
	if len(j.spans) > 0 && j.inRowGroups(rowRange{0, len(j.spans)}) {
		most = blockTiles
	}
	for lo := 0; lo < len(j.spans); {
		hi := lo + 1
		for hi < len(j.spans) && hi-lo < most &&
			j.spans[hi].K == j.spans[lo].K && j.spans[hi].V == j.spans[lo].V {
			hi++
		}
		j.ranges = append(j.ranges, rowRange{lo, hi})
		lo = hi
	}
}

// inRowGroups reports whether rows use an int8 cache in the row groups of int8 products.
func (j *attendJob) inRowGroups(rows rowRange) bool {
	return j.spans[rows.lo].V.isInt8() && use.int8s.rowGroup > 0 && rows.rows() >= manyRows
}

// rowsAtOnce returns how many rows of a range are computed together.
func (j *attendJob) rowsAtOnce(rows rowRange) int {
	if j.inRowGroups(rows) {
		return use.int8s.rowGroup
	}
	return tileRows
}

// Part computes one range in one head, as many rows at a time as a tile has.
func (j *attendJob) Part(i int) {
	head, rows := i/len(j.ranges), j.ranges[i%len(j.ranges)]
	b := j.scratch.get()
	step := j.rowsAtOnce(rows)
	for lo := rows.lo; lo < rows.hi; lo += step {
		tile := rowRange{lo, min(lo+step, rows.hi)}
		if next := min(step, rows.hi-tile.hi); next > 0 { // its queries are spread over memory that is not cached
			prefetchRows(&bytesOf(j.q[tile.hi*j.qStride+head*j.dim:])[0], 4*j.qStride, next)
		}
		j.score(b, head, tile)
		if j.spans[tile.lo].V.isInt8() {
			j.mixInt8(b, head, tile)
			continue
		}
		j.exponents(b, tile)
		j.mix(b, head, tile)
	}
	j.scratch.put(b)
}

// lengths returns the smallest and the largest N of some rows.
func (j *attendJob) lengths(rows rowRange) (shortest, longest int) {
	shortest = j.spans[rows.lo].N
	for _, s := range j.spans[rows.lo:rows.hi] {
		shortest, longest = min(shortest, s.N), max(longest, s.N)
	}
	return shortest, longest
}

// score fills b with the scores of a tile of rows with all its keys. Those beyond a
// row's N are undefined.
func (j *attendJob) score(b *attendBuffer, head int, rows rowRange) {
	_, n := j.lengths(rows)
	panels := (n + panelKeys - 1) / panelKeys
	b.stride = panels*panelKeys + vectorLanes // they keep rows out of each other's cache sets
	b.scores = Resize(b.scores, rows.rows()*b.stride)
	if j.spans[rows.lo].K.isInt8() {
		j.scoreInt8(b, head, rows, panels)
		return
	}
	b.query = Resize(b.query, rows.rows()*j.dim)
	for r := range rows.rows() {
		use.vector.scale(b.query[r*j.dim:][:j.dim], j.q[(rows.lo+r)*j.qStride+head*j.dim:][:j.dim], j.scale)
	}
	k := j.spans[rows.lo].K
	t := tileShape{
		rows: rows.rows(), panels: panels, depth: j.dim,
		aStride: j.dim, bStride: panelKeys, bPanel: j.dim * panelKeys, cStride: b.stride,
	}
	use.attend.multiply(t, b.query, &k.store, k.at(head, 0), b.scores)
}

// exponents turns the scores of a tile of rows into e[j], and sums them.
func (j *attendJob) exponents(b *attendBuffer, rows rowRange) {
	for r := range rows.rows() {
		x := b.scores[r*b.stride:][:j.spans[rows.lo+r].N]
		b.sums[r] = use.vector.expSum(x, x, use.vector.max(x))
	}
}

// mix sets dst of a tile of rows to the weighted values, given e[j] and their sums. Up to
// the shortest N the rows are computed together, then each alone. A weight of zero for a
// masked key would not do, since 0·Inf is NaN and -0+0 is +0.
func (j *attendJob) mix(b *attendBuffer, head int, rows rowRange) {
	v := j.spans[rows.lo].V
	b.out = Resize(b.out, rows.rows()*v.cols)
	common, _ := j.lengths(rows)
	j.mixRows(b, head, rows, rowRange{0, rows.rows()}, 0, common)
	for r := range rows.rows() {
		if n := j.spans[rows.lo+r].N; n > common {
			j.mixRows(b, head, rows, rowRange{r, r + 1}, common, n)
		}
		dst := j.dst[((rows.lo+r)*j.heads+head)*j.dim:][:j.dim]
		use.vector.div(dst, b.out[r*v.cols:][:j.dim], b.sums[r])
	}
}

// mixRows adds the weighted values from … to-1 to the sums of some rows of a tile. No row
// masks any of them. If from is 0, the sums start at zero.
func (j *attendJob) mixRows(b *attendBuffer, head int, tile, rows rowRange, from, to int) {
	v := j.spans[tile.lo].V
	t := tileShape{
		rows: rows.rows(), panels: 1, depth: to - from, carry: from > 0,
		aStride: b.stride, bStride: v.cols, cStride: v.cols,
	}
	for col := 0; col < v.cols; col += panelKeys {
		use.attend.multiply(t, b.scores[rows.lo*b.stride+from:], &v.store, v.at(head, from)+col, b.out[rows.lo*v.cols+col:])
	}
}
