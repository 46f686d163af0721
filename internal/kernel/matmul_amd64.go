//go:build !purego

package kernel

//go:generate sh -c "cd _asm && go run ./matmul -kernels avx512 -out ../matmul_avx512_amd64.s -stubs ../matmul_avx512_stubs_amd64.go -pkg kernel"
//go:generate sh -c "cd _asm && go run ./matmul -kernels avx2 -out ../matmul_avx2_amd64.s -stubs ../matmul_avx2_stubs_amd64.go -pkg kernel"
//go:generate sh -c "cd _asm && go run ./matmul -kernels int8 -out ../matmul_int8_amd64.s -stubs ../matmul_int8_stubs_amd64.go -pkg kernel"
//go:generate sh -c "cd _asm && go run ./memory -kernels fetch -out ../fetch_amd64.s -stubs ../fetch_stubs_amd64.go -pkg kernel"

import (
	"cmp"
	"unsafe"
)

func tileArch() []impl[tileKernels] {
	return []impl[tileKernels]{
		{"avx512", hasAVX512, tileKernels{
			f32:       byRows[float32](tileF32x1AVX512, tileF32x2AVX512, tileF32x3AVX512, tileF32x4AVX512, tileF32x5AVX512, tileF32x6AVX512),
			f16:       byRows[uint16](tileF16x1AVX512, tileF16x2AVX512, tileF16x3AVX512, tileF16x4AVX512, tileF16x5AVX512, tileF16x6AVX512),
			bf16:      byRows[uint16](tileBF16x1AVX512, tileBF16x2AVX512, tileBF16x3AVX512, tileBF16x4AVX512, tileBF16x5AVX512, tileBF16x6AVX512),
			widenF16:  widenWith(widenF16AVX512),
			widenBF16: widenWith(widenBF16AVX512),
			store:     finishWith(storeSumsAVX512),
			add:       finishWith(addSumsAVX512),
		}},
		{"avx2", hasAVX2, tileKernels{
			f32:       byDepth(byRows[float32](tileF32x1AVX2, tileF32x2AVX2, tileF32x3AVX2, tileF32x4AVX2, tileF32x5AVX2, tileF32x6AVX2)),
			f16:       byDepth(byRows[uint16](tileF16x1AVX2, tileF16x2AVX2, tileF16x3AVX2, tileF16x4AVX2, tileF16x5AVX2, tileF16x6AVX2)),
			bf16:      byDepth(byRows[uint16](tileBF16x1AVX2, tileBF16x2AVX2, tileBF16x3AVX2, tileBF16x4AVX2, tileBF16x5AVX2, tileBF16x6AVX2)),
			widenF16:  widenWith(widenF16AVX2),
			widenBF16: widenWith(widenBF16AVX2),
			store:     finishFull(storeSumsAVX2, storeSumsRef),
			add:       finishFull(addSumsAVX2, addSumsRef),
		}},
	}
}

// An asmTile is a tileFunc for one number of rows. n counts k and stride is in
// bytes, and so are ahead and pace: at each k, it prefetches what lies ahead bytes
// behind w, and pace further on each time.
type asmTile = func(acc, x *float32, stride int, w *byte, n, ahead, pace int)

// byRows makes a tileFunc of tiles for 1, 2, … rows.
func byRows[T any](tiles ...asmTile) tileFunc[T] {
	return func(acc, x []float32, stride, rows int, w []T, next hint) {
		n := len(w) / panel
		if n == 0 || rows == 0 {
			return
		}
		_, _ = x[(rows-1)*stride+n-1], acc[rows*panel-1]
		g := newGroups(rows, len(tiles), panel*int(unsafe.Sizeof(w[0])), n, next)
		for r := 0; r < rows; {
			m := g.next()
			next.fetch(r, m)
			tiles[m-1](&acc[r*panel], &x[r*stride], 4*stride, (*byte)(unsafe.Pointer(&w[0])), n, g.ahead, g.pace)
			r += m
		}
	}
}

// groups cuts rows into groups that go through the weights together.
type groups struct {
	rows, count int // still to come

	// What the group prefetches, as an asmTile is told.
	ahead, pace, share int
}

// farAhead is how far ahead weights are prefetched for six rows, which take as long
// as memory does, and for fewer if prefetchFew. These wait for memory anyhow, and on
// Zen 4 the hardware, left alone, streams better.
const farAhead = 8192

// newGroups cuts rows into groups of at most limit, all about as large. Each goes
// over n times width bytes. The next weights are prefetched in equal shares by all
// groups, so that memory never waits.
func newGroups(rows, limit, width, n int, next hint) groups {
	g := groups{rows: rows, count: (rows + limit - 1) / limit}
	if rows <= few {
		if rows == few || prefetchFew {
			g.ahead = farAhead
		}
		g.pace = width
		return g
	}
	g.pace = (cmp.Or(next.width, width) + g.count - 1) / g.count
	g.ahead, g.share = next.ahead, n*g.pace
	g.ahead -= g.share
	return g
}

// next returns the rows of the next group.
func (g *groups) next() int {
	m := (g.rows + g.count - 1) / g.count
	g.rows -= m
	g.count--
	g.ahead += g.share
	return m
}

// fetch prefetches, for writing, what rows first … first+rows-1 will go to.
func (h *hint) fetch(first, rows int) {
	if h.dst != nil {
		fetchRows(&h.dst[first*h.stride], h.stride, rows)
	}
}

// at returns the hint for what begins at step k of weights of width bytes a step. If
// k is below last, more of them come before dst is written.
func (h hint) at(k, last, width int) hint {
	if k < last {
		h.dst = nil
	}
	if h.width > 0 {
		h.ahead -= k * (width - h.width)
	}
	return h
}

// byDepth makes a tileFunc of one that goes over its weights several times: it is
// given so few at a time that they stay in the first-level cache.
func byDepth[T any](tile tileFunc[T]) tileFunc[T] {
	const step = 64
	return func(acc, x []float32, stride, rows int, w []T, next hint) {
		for k, n := 0, len(w)/panel; k < n; k += step {
			tile(acc, x[k:], stride, rows, w[k*panel:min(k+step, n)*panel], next.at(k, n-step, panel*int(unsafe.Sizeof(w[0]))))
		}
	}
}

func widenWith(f func(dst *float32, w *byte, n int)) func(dst []float32, w []uint16) {
	return func(dst []float32, w []uint16) {
		if n := len(w) / panel; n > 0 {
			f(&dst[:len(w)][0], (*byte)(unsafe.Pointer(&w[0])), n)
		}
	}
}

func finishWith(f func(dst, acc, bias *float32, cols, stride, rows int)) finishFunc {
	return func(dst, acc, bias []float32, stride, rows int) {
		if n := len(bias); n > 0 && rows > 0 {
			_, _ = dst[(rows-1)*stride+n-1], acc[rows*panel-1]
			f(&dst[0], &acc[0], &bias[0], n, 4*stride, rows)
		}
	}
}

// finishFull makes a finishFunc of f, for full panels, and ref.
func finishFull(f func(dst, acc, bias *float32, stride, rows int), ref finishFunc) finishFunc {
	return func(dst, acc, bias []float32, stride, rows int) {
		if len(bias) < panel || rows == 0 {
			ref(dst, acc, bias, stride, rows)
			return
		}
		_, _ = dst[(rows-1)*stride+panel-1], acc[rows*panel-1]
		f(&dst[0], &acc[0], &bias[0], 4*stride, rows)
	}
}
