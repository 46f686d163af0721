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
	t := newTree(freq)
	for t.size() < 2 {
		node := 0
		if t.last < 2 {
			t.last++
			node = t.last
		}
		t.freq[node] = 1
		t.heap = append(t.heap, node)
	}
	for i := t.size() / 2; i >= 1; i-- {
		t.down(i)
	}
	t.merge()
	return t.lengths(freq, limit)
}

// A tree is a Huffman tree being built. Nodes up to last are leaves, one for each
// symbol. Nodes from the number of symbols on are inner nodes.
type tree struct {
	freq   []int
	depth  []int
	parent []int
	heap   []int // heap[1:], rarest first; heap[0] is not used
	sorted []int // nodes in the order of removal from the heap
	last   int   // last symbol used, -1 if none is
}

func newTree(freq []int) *tree {
	n := len(freq)
	t := &tree{
		freq:   append(make([]int, 0, 2*n), freq...),
		depth:  make([]int, n, 2*n),
		parent: make([]int, n, 2*n),
		heap:   make([]int, 1, n+1),
		last:   -1,
	}
	for s, f := range freq {
		if f != 0 {
			t.heap = append(t.heap, s)
			t.last = s
		}
	}
	return t
}

func (t *tree) size() int { return len(t.heap) - 1 }

// less orders the heap by frequency, then depth. On ties the first node stays.
func (t *tree) less(a, b int) bool {
	return t.freq[a] < t.freq[b] || t.freq[a] == t.freq[b] && t.depth[a] <= t.depth[b]
}

// down moves the node at index i of the heap down to its position.
func (t *tree) down(i int) {
	node := t.heap[i]
	for j := 2 * i; j <= t.size(); j = 2 * i {
		if j < t.size() && t.less(t.heap[j+1], t.heap[j]) {
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
	for t.size() >= 2 {
		a := t.heap[1]
		t.heap[1] = t.heap[t.size()]
		t.heap = t.heap[:t.size()]
		t.down(1)
		b := t.heap[1]

		node := len(t.freq)
		t.freq = append(t.freq, t.freq[a]+t.freq[b])
		t.depth = append(t.depth, 1+max(t.depth[a], t.depth[b]))
		t.parent = append(t.parent, 0)
		t.parent[a], t.parent[b] = node, node
		t.sorted = append(t.sorted, a, b)
		t.heap[1] = node
		t.down(1)
	}
	t.sorted = append(t.sorted, t.heap[1])
}

// lengths reads the depth of every leaf from the tree. Leaves deeper than limit are
// moved up to it. To make room, a leaf of the greatest depth less than limit becomes an
// inner node with two children.
func (t *tree) lengths(symbols []int, limit int) []int {
	length := make([]int, len(t.freq))
	count := make([]int, limit+1)
	overflow := 0
	for i := len(t.sorted) - 2; i >= 0; i-- { // the last one is the root
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
	if overflow > 0 {
		t.lift(length, count, overflow)
	}
	return length[:min(t.last+1, len(symbols))]
}

// lift assigns new lengths to the leaves, so that no code is longer than the limit: the
// rarest leaves get the longest codes.
func (t *tree) lift(length, count []int, overflow int) {
	limit := len(count) - 1
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
}

// Symbols of the code length code above 15: repeat the last length 3 … 6 times, or zero
// 3 … 10 or 11 … 138 times.
const (
	repeat    = 16
	zeros     = 17
	manyZeros = 18
)

// runExtra returns how many extra bits follow a symbol of the code length code.
func runExtra(symbol int) int {
	switch symbol {
	case repeat:
		return 2
	case zeros:
		return 3
	case manyZeros:
		return 7
	}
	return 0
}

// countRuns counts in runs the symbols that encode lengths. The first of equal lengths is
// written literally unless it is zero or equals the length before.
func countRuns(runs *[lengthCodes]int, lengths []int) {
	before := -1
	for i := 0; i < len(lengths); {
		length, most := lengths[i], 7
		switch length {
		case 0:
			most = 138
		case before:
			most = 6
		}
		n := 1
		for n < most && i+n < len(lengths) && lengths[i+n] == length {
			n++
		}
		switch {
		case length == 0 && n > 10:
			runs[manyZeros]++
		case length == 0 && n >= 3:
			runs[zeros]++
		case length != 0 && length != before && n >= 4:
			runs[length]++
			runs[repeat]++
		case length != 0 && length == before && n >= 3:
			runs[repeat]++
		default:
			runs[length] += n
		}
		i, before = i+n, length
	}
}
