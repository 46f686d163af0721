package zlibsize

// huffman returns the code length of every symbol up to the last one used, none longer
// than limit bits, as zlib's build_tree computes them.
//
//	freq  how often each symbol occurs
//
// Codes of the same total size can have different lengths, and the lengths are written
// too. So ties are broken as in zlib: by the depth of the subtree, then by heap order.
//
// A decoder needs at least two codes, so unused symbols are added, the lowest ones that
// keep the alphabet short.
func huffman(freq []int, limit int) []int {
	n := len(freq)
	t := &tree{
		freq: append(make([]int, 0, 2*n), freq...), depth: make([]int, n, 2*n), parent: make([]int, n, 2*n), last: -1,
	}
	for s, f := range freq {
		if f != 0 {
			t.heap, t.last = append(t.heap, s), s
		}
	}
	for len(t.heap) < 2 {
		node := 0
		if t.last < 2 {
			t.last++
			node = t.last
		}
		t.freq[node] = 1
		t.heap = append(t.heap, node)
	}
	for i := len(t.heap)/2 - 1; i >= 0; i-- {
		t.down(i)
	}
	t.merge()
	return t.lengths(limit)
}

// A tree is a Huffman tree being built. Nodes up to last are leaves, one for each
// symbol. Nodes from the number of symbols on are inner nodes.
type tree struct {
	freq   []int
	depth  []int
	parent []int
	heap   []int // rarest first
	sorted []int // nodes in the order of removal from the heap
	last   int   // last symbol used, -1 if none is
}

// less orders the heap by frequency, then depth. On ties the first node stays.
func (t *tree) less(a, b int) bool {
	return t.freq[a] < t.freq[b] || t.freq[a] == t.freq[b] && t.depth[a] <= t.depth[b]
}

// down moves the node at index i of the heap down to its position.
func (t *tree) down(i int) {
	node := t.heap[i]
	for j := 2*i + 1; j < len(t.heap); j = 2*i + 1 {
		if j+1 < len(t.heap) && t.less(t.heap[j+1], t.heap[j]) {
			j++
		}
		if t.less(node, t.heap[j]) {
			break
		}
		t.heap[i] = t.heap[j]
		i = j
	}
	t.heap[i] = node
}

// merge joins the two rarest nodes until one node is left.
func (t *tree) merge() {
	for last := len(t.heap) - 1; last > 0; last-- {
		a := t.heap[0]
		t.heap[0] = t.heap[last]
		t.heap = t.heap[:last]
		t.down(0)
		b := t.heap[0]

		node := len(t.freq)
		t.freq = append(t.freq, t.freq[a]+t.freq[b])
		t.depth = append(t.depth, 1+max(t.depth[a], t.depth[b]))
		t.parent = append(t.parent, 0)
		t.parent[a], t.parent[b] = node, node
		t.sorted = append(t.sorted, a, b)
		t.heap[0] = node
		t.down(0)
	}
}

// lengths reads the depth of every leaf from the tree. Leaves deeper than limit are
// moved up to it. To make room, a leaf of the greatest depth less than limit becomes an
// inner node with two children. The rarest leaves get the longest codes.
func (t *tree) lengths(limit int) []int {
	length := make([]int, len(t.freq))
	count := make([]int, limit+1)
	overflow := 0
	for i := len(t.sorted) - 1; i >= 0; i-- {
		node := t.sorted[i]
		n := length[t.parent[node]] + 1
		if n > limit {
			n = limit
			overflow++
		}
		length[node] = n
		if node <= t.last {
			count[n]++
		}
	}
	if overflow == 0 {
		return length[:t.last+1]
	}
	for ; overflow > 0; overflow -= 2 {
		n := limit - 1
		for count[n] == 0 {
			n--
		}
		count[n]--
		count[n+1] += 2
		count[limit]--
	}
	next := 0
	for n := limit; n > 0; n-- {
		for c := count[n]; c > 0; next++ {
			if node := t.sorted[next]; node <= t.last {
				length[node] = n
				c--
			}
		}
	}
	return length[:t.last+1]
}
