package kernel

import (
	"verity/parallel"
	"verity/precision"
)

// panelKeys is how many keys share a panel of Keys.
const panelKeys = 64

// vectorLanes is sixteen float32, one AVX-512 register.
const vectorLanes = 16

// A store holds the numbers of a cache, in F32, F16 or Int8.
type store struct {
	format precision.Format
	size   int // bytes of a number
	data   []byte
}

func newStore(n int, f precision.Format) store {
	if f != precision.F32 && f != precision.F16 && f != precision.Int8 {
		panic("kernel: attention caches are f32, f16 or int8")
	}
	size := f.Bits() / 8
	return store{f, size, aligned(n * size)}
}

func (s *store) isInt8() bool { return s.size == 1 }

// memory returns the bytes from offset on, and the size of n numbers in bytes.
func (s *store) memory(offset, n int) ([]byte, int) { return s.data[s.size*offset:], s.size * n }

// copy copies n numbers at offset from of src to offset to.
func (s *store) copy(to int, src *store, from, n int) {
	copy(s.data[s.size*to:][:s.size*n], src.data[s.size*from:][:s.size*n])
}

// narrow sets the numbers at offset, offset+1, … to x.
func (s *store) narrow(offset int, x []float32) {
	if s.format == precision.F32 {
		copy(view[float32](s.data)[offset:], x)
		return
	}
	use.vector.narrow(view[uint16](s.data)[offset:], x)
}

// transpose sets the tile at offset to x transposed, as [Transpose] does.
func (s *store) transpose(offset int, x []float32, stride, rows, cols int) {
	if s.format == precision.F32 {
		Transpose(view[float32](s.data)[offset:], x, stride, rows, cols)
		return
	}
	use.vector.transposeNarrow(view[uint16](s.data)[offset:], x, stride, rows, cols)
}

// Keys is a cache of attention keys for the positions 0 … capacity-1, laid out so
// that a vector lane is a key: [head][panel of 64 keys][dim][64].
//
// Int8 keys are laid out as [head][panel][dim/4][64][4], with dim padded to a multiple of
// four. A stored byte is the key plus int8Zero: where that is not 0, the other factor is
// signed. Each key has one scale per head: as [Pack] defines that of a row of weights, or NaN
// if a number is not finite.
type Keys struct {
	heads, dim, capacity int
	panels               int // per head
	depth                int // dim, padded to a multiple of four for int8
	store
	scale []float32 // of int8: [head][panel][64]
}

// NewKeys returns a cache of zeros in the format d: F32, F16 or Int8. It panics on
// another format.
func NewKeys(heads, dim, capacity int, d precision.Format) *Keys {
	k := &Keys{heads: heads, dim: dim, capacity: capacity, panels: (capacity + panelKeys - 1) / panelKeys, depth: dim}
	if d == precision.Int8 {
		k.depth = (dim + 3) &^ 3
		k.scale = make([]float32, heads*k.panels*panelKeys)
	}
	k.store = newStore(heads*k.panels*k.depth*panelKeys, d)
	return k
}

// at returns the offset of a panel.
func (k *Keys) at(head, panel int) int { return (head*k.panels + panel) * k.depth * panelKeys }

// Set stores n keys at positions pos … pos+n-1, rounded to nearest: for position
// pos+i and head h the numbers x[i·xStride+h·dim …], dim of them. It panics if
// they do not fit.
func (k *Keys) Set(p *parallel.Pool, pos, n int, x []float32, xStride int) {
	setHeads(p, k, k.heads, k.dim, k.capacity, pos, n, x, xStride)
}

// put stores numbers d … d+cols-1 of one head of n keys: for position pos+i, x[i·xStride
// …]. With int8 they must be the whole head.
func (k *Keys) put(head, d, cols, pos, n int, x []float32, xStride int) {
	if k.isInt8() {
		k.putInt8(head, pos, n, x, xStride)
		return
	}
	for i := 0; i < n; {
		at := (pos + i) % panelKeys
		rows := min(panelKeys-at, n-i)
		k.transpose(k.at(head, (pos+i)/panelKeys)+d*panelKeys+at, x[i*xStride:], xStride, rows, cols)
		i += rows
	}
}

// CopyPrefix copies the keys at positions 0 … n-1 of another cache. Both must have the same heads,
// dim and format, and at least n positions.
func (k *Keys) CopyPrefix(from *Keys, n int) {
	panels := (n + panelKeys - 1) / panelKeys
	for h := range k.heads {
		k.copy(k.at(h, 0), &from.store, from.at(h, 0), panels*k.depth*panelKeys)
		if k.isInt8() {
			copy(k.scale[h*k.panels*panelKeys:][:n], from.scale[h*from.panels*panelKeys:])
		}
	}
}

// Values is a cache of attention values for the positions 0 … capacity-1, laid
// out so that a vector lane is a column: [head][position][dim rounded up to 64].
// The columns beyond dim are zero.
//
// Int8 values are laid out as [head][panel of 64 columns][position/4][64][4], padded at
// the end of columns and positions. Each position has one scale per head, as in [Keys].
type Values struct {
	heads, dim, capacity int
	cols                 int // dim rounded up to panels
	groupsOf4            int // groups of four positions
	store
	scale []float32 // of int8: [head][group of four][4]
}

// NewValues returns a cache of zeros in the format d: F32, F16 or Int8. It panics on
// another format.
func NewValues(heads, dim, capacity int, d precision.Format) *Values {
	v := &Values{heads: heads, dim: dim, capacity: capacity, groupsOf4: (capacity + 3) / 4}
	v.cols = (dim + panel - 1) / panel * panel
	if d != precision.Int8 {
		v.store = newStore(heads*capacity*v.cols, d)
		return v
	}
	size := heads * 4 * v.groupsOf4 * v.cols
	v.store = newStore(size+mixPositions*panel, d) // manyQueryOps read beyond the last position
	v.data = v.data[:size]
	v.scale = make([]float32, heads*4*v.groupsOf4)
	return v
}

// at returns the offset of a position.
func (v *Values) at(head, pos int) int {
	if v.isInt8() {
		return head*4*v.groupsOf4*v.cols + pos/4*4*panel + pos%4
	}
	return (head*v.capacity + pos) * v.cols
}

// Set stores n values, as [Keys.Set] does keys.
func (v *Values) Set(p *parallel.Pool, pos, n int, x []float32, xStride int) {
	setHeads(p, v, v.heads, v.dim, v.capacity, pos, n, x, xStride)
}

// put does for values what Keys.put does for keys.
func (v *Values) put(head, d, cols, pos, n int, x []float32, xStride int) {
	if v.isInt8() {
		v.putInt8(head, pos, n, x, xStride)
		return
	}
	for i := range n {
		v.narrow(v.at(head, pos+i)+d, x[i*xStride:][:cols])
	}
}

// CopyPrefix copies the values at positions 0 … n-1 of another cache, as [Keys.CopyPrefix] does keys.
func (v *Values) CopyPrefix(from *Values, n int) {
	for h := range v.heads {
		if !v.isInt8() {
			v.copy(v.at(h, 0), &from.store, from.at(h, 0), n*v.cols)
			continue
		}
		for p := 0; p < v.cols; p += panel { // a group of four has 4·panel bytes
			v.copy(v.at(h, 0)+p*4*v.groupsOf4, &from.store, from.at(h, 0)+p*4*from.groupsOf4, (n+3)/4*4*panel)
		}
		copy(v.scale[h*4*v.groupsOf4:][:n], from.scale[h*4*from.groupsOf4:])
	}
}

// A putter is Keys or Values: put stores columns d … d+cols-1 of one head.
type putter interface {
	put(head, d, cols, pos, n int, x []float32, xStride int)
}

// setHeads stores n positions of every head in a cache, on all threads if there are many. It
// panics unless they fit.
func setHeads(p *parallel.Pool, c putter, heads, dim, capacity, pos, n int, x []float32, xStride int) {
	if width := heads * dim; pos < 0 || n < 0 || pos+n > capacity {
		panic("kernel: cache position out of range")
	} else if xStride < width && n > 1 || n > 0 && len(x) < (n-1)*xStride+width {
		panic("kernel: cache rows out of range")
	}
	if n < panelKeys {
		for h := range heads {
			c.put(h, 0, dim, pos, n, x[h*dim:], xStride)
		}
		return
	}
	p.For(heads, 1, func(lo, hi int) {
		for h := lo; h < hi; h++ {
			c.put(h, 0, dim, pos, n, x[h*dim:], xStride)
		}
	})
}
