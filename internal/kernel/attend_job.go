package kernel

// A block is a range lo … hi-1 of query rows that have the same caches.
type block struct{ lo, hi int }

// An attendJob is one call of Attend: its parts are blocks × heads, the blocks of
// one head one after the other, since they read the same memory.
type attendJob struct {
	scratch    *Scratch
	dst, q     []float32
	qStride    int
	heads, dim int
	scale      float32
	spans      []Span
	blocks     []block
}

// cut divides the rows into blocks.
func (j *attendJob) cut() {
	for lo := 0; lo < len(j.spans); {
		hi := lo + 1
		for hi < len(j.spans) && hi-lo < blockRows &&
			j.spans[hi].K == j.spans[lo].K && j.spans[hi].V == j.spans[lo].V {
			hi++
		}
		j.blocks = append(j.blocks, block{lo, hi})
		lo = hi
	}
}

// Part computes one block in one head.
func (j *attendJob) Part(i int) {
	head, rows := i/len(j.blocks), j.blocks[i%len(j.blocks)]
	b := j.scratch.take()
	j.score(b, head, rows)
	j.mix(b, head, rows)
	j.scratch.give(b)
}

// longest returns the largest N in a block.
func (j *attendJob) longest(rows block) int {
	n := 0
	for _, s := range j.spans[rows.lo:rows.hi] {
		n = max(n, s.N)
	}
	return n
}

// shortest returns the smallest N in a block.
func (j *attendJob) shortest(rows block) int {
	n := j.spans[rows.lo].N
	for _, s := range j.spans[rows.lo:rows.hi] {
		n = min(n, s.N)
	}
	return n
}

// scoreStride returns the row stride of the scores of n keys: whole panels, and
// sixteen more so that rows do not collide in a cache set.
func scoreStride(n int) int { return (n+panelKeys-1)/panelKeys*panelKeys + lanes }

// score fills b with the scaled queries of a block, e[j] of all rows and keys,
// and the sums. Scores beyond a row's N are undefined.
func (j *attendJob) score(b *attendBuffer, head int, rows block) {
	n := j.longest(rows)
	stride := scoreStride(n)
	b.query = grow(b.query, (rows.hi-rows.lo)*j.dim)
	b.scores = grow(b.scores, (rows.hi-rows.lo)*stride)
	for r := rows.lo; r < rows.hi; r++ {
		to := b.query[(r-rows.lo)*j.dim:][:j.dim]
		for i, v := range j.q[r*j.qStride+head*j.dim:][:j.dim] {
			to[i] = v * j.scale
		}
	}
	if rows.hi-rows.lo <= tileRows {
		j.scorePanels(b, head, rows, 0, n, stride)
	} else {
		for from := 0; from < n; from += panelKeys {
			j.scorePanels(b, head, rows, from, min(n, from+panelKeys), stride)
		}
	}
	for r := rows.lo; r < rows.hi; r++ {
		x := b.scores[(r-rows.lo)*stride:][:j.spans[r].N]
		b.sums[r-rows.lo] = vector.expSum(x, x, vector.max(x))
	}
}

// scorePanels sets the scores of keys from … to-1. from is the start of a panel.
func (j *attendJob) scorePanels(b *attendBuffer, head int, rows block, from, to, stride int) {
	k := j.spans[rows.lo].K
	t := tileShape{depth: j.dim, aStride: j.dim, bStride: panelKeys, bPanel: j.dim * panelKeys, cStride: stride}
	for r := 0; r < rows.hi-rows.lo; r += t.rows {
		t.rows = min(tileRows, rows.hi-rows.lo-r)
		query, scores := b.query[r*j.dim:], b.scores[r*stride:]
		t.panels, t.vectors = (to-from)/panelKeys, panelKeys/lanes
		if t.panels > 0 {
			attend.run(t, query, &k.store, k.at(head, from/panelKeys), scores[from:])
		}
		if whole := from + t.panels*panelKeys; whole < to {
			t.panels, t.vectors = 1, (to-whole+lanes-1)/lanes
			attend.run(t, query, &k.store, k.at(head, whole/panelKeys), scores[whole:])
		}
	}
}

// mix sets dst of a block to the weighted values, given the buffer that score
// filled.
func (j *attendJob) mix(b *attendBuffer, head int, rows block) {
	v := j.spans[rows.lo].V
	n := j.longest(rows)
	b.out = grow(b.out, (rows.hi-rows.lo)*v.cols)
	step := valueBlock
	if rows.hi-rows.lo <= tileRows {
		step = n
	}
	for from := 0; from < n; from += step {
		for r := rows.lo; r < rows.hi; r += tileRows {
			tile := block{r, min(r+tileRows, rows.hi)}
			j.mixTile(b, head, rows.lo, tile, from, min(n, from+step), scoreStride(n))
		}
	}
	for r := rows.lo; r < rows.hi; r++ {
		dst := j.dst[(r*j.heads+head)*j.dim:][:j.dim]
		sum := b.sums[r-rows.lo]
		for i, x := range b.out[(r-rows.lo)*v.cols:][:j.dim] {
			dst[i] = x / sum
		}
	}
}

// mixTile goes on with the sums of at most six rows over values from … to-1. Up
// to the shortest of their N the rows go together, then each alone: a weight of
// zero for a key it does not see would not do, since 0·Inf is NaN and -0+0 is 0.
func (j *attendJob) mixTile(b *attendBuffer, head, first int, rows block, from, to, stride int) {
	common := min(to, j.shortest(rows))
	if from < common {
		j.mixRows(b, head, first, rows, from, common, stride)
	}
	for r := rows.lo; r < rows.hi; r++ {
		if end := min(to, j.spans[r].N); end > max(from, common) {
			j.mixRows(b, head, first, block{r, r + 1}, max(from, common), end, stride)
		}
	}
}

// mixRows adds values from … to-1 to the sums of some rows, all of which see them.
func (j *attendJob) mixRows(b *attendBuffer, head, first int, rows block, from, to, stride int) {
	v := j.spans[rows.lo].V
	t := tileShape{
		rows: rows.hi - rows.lo, panels: 1, depth: to - from, carry: from > 0,
		aStride: stride, bStride: v.cols, cStride: v.cols,
	}
	weights := b.scores[(rows.lo-first)*stride+from:]
	for col := 0; col < v.cols; col += t.vectors * lanes {
		t.vectors = min(panelKeys, v.cols-col) / lanes
		attend.run(t, weights, &v.store, v.at(head, from)+col, b.out[(rows.lo-first)*v.cols+col:])
	}
}
