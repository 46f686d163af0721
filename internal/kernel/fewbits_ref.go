package kernel

import "math"

// fewBitsKernels are the kernels of products with weights in groups of 32 along k that
// share a scale. Activations are rounded to int8 in the same groups, so that products
// are exact inside a group, and only the chain over groups is in float32.
//
// An expanded group of a panel is 32·64 bytes, [k/4][64][4]. Each byte is the integer of
// a weight plus the offset of its format, fewBitsForm.zero.
type fewBitsKernels struct {
	quantise func(q []byte, scale []float32, start []int32, x []float32)
	nibbles  expandFunc
	mxfp6    expandFunc
	powers   func(dst []float32, e []byte)
	tile     tileGroupsFunc

	// These expand the codes of a panel and do tile at once, a few rows at a time. Where one
	// is nil it takes two steps. So do more than directRows rows, if that is not 0: then it is
	// faster to expand a block once for all. directEights, where there is one, is directNibbles
	// for columns whose zeros are all eight, given as zero.
	directNibbles, directEights, directSixes directGroupsFunc
	directRows                               int
}

// An expandFunc expands groups of codes to dst. more is the zeros of the columns, or the
// table of six bits.
type expandFunc = func(dst, codes, more []byte)

const (
	// groupSize is how many k share a scale.
	groupSize = 32

	// groupBytes is a group of a panel, expanded.
	groupBytes = groupSize * panel
)

// A groupedRows holds rows of activations that were rounded in groups. Row r has int8
// values in q[r·stride …], scales in scale[r·groups …], and in start[r·groups …] the
// -Σq of each group, which times the offset of the weights cancels it.
type groupedRows struct {
	q      []byte
	start  []int32
	scale  []float32
	stride int
	groups int
}

// A tileGroupsFunc adds some groups of products to the running sums of one panel. For
// every r < rows and c < 64, with g in order,
//
//	s = zero·start[r][g]
//	for k := range 32 { s += int32(q[r][g·32+k]) · int32(u[g·2048+k/4·256+c·4+k%4]) }
//	acc[r·64+c] = fma(float32(s), float32(scale[r][g]·wScale[g·64+c]), acc[r·64+c])
//
// No byte of u is above 2·zero. The bytes at u+ahead may be prefetched.
type tileGroupsFunc = func(acc []float32, x groupedRows, rows int, u []byte, wScale []float32, zero int32, ahead int)

// A directGroupsFunc does as a tileGroupsFunc for all groups of a panel, from codes and
// scales as they lie in memory. more is the zeros of the columns, or the table of six bits.
type directGroupsFunc = func(acc []float32, x groupedRows, rows int, codes, scales, more []byte, zero int32)

var fewBitsRef = fewBitsKernels{
	quantise: quantiseGroupsRef, nibbles: nibblesRef, mxfp6: mxfp6Ref, powers: powersRef, tile: tileGroupsRef,
}

// quantiseGroupsRef rounds a row to int8 by groups. There are len(scale) groups; the last
// one is padded with zeros.
func quantiseGroupsRef(q []byte, scale []float32, start []int32, x []float32) {
	for g := range scale {
		part := x[g*groupSize : min((g+1)*groupSize, len(x))]
		inverse, unit := int8Scale(maxAbsRef(part))
		to, sum := q[g*groupSize:][:groupSize], int32(0)
		clear(to)
		for i, v := range part {
			if unit != unit {
				break // int8 represents neither infinity nor NaN
			}
			n := roundInt8(v, inverse)
			to[i], sum = byte(n), sum+n
		}
		scale[g], start[g] = unit, -sum
	}
}

// nibblesRef expands groups of four-bit codes: the lower half of byte i of a group is the
// code of its expanded byte i, the upper half that of byte i+1024. To each code it adds the byte
// that zeros [group][64] has for its column.
func nibblesRef(dst, codes, zeros []byte) {
	const half = groupBytes / 2
	for i, b := range codes {
		to, zero := dst[i/half*groupBytes+i%half:], zeros[i/half*panel+i%(4*panel)/4]
		to[0], to[half] = b&15+zero, b>>4+zero
	}
}

// mxfp6Ref expands groups of six-bit codes: 1024 bytes hold four bits of each code, the
// next 512 bytes the other two. The four bits are ordered as in nibblesRef. The other two
// of expanded byte i are bits 2·(i/512) and 2·(i/512)+1 of byte i%512. The first says
// that the magnitude is large[four bits] and not the four bits themselves, the second is
// the sign. 60 is added.
func mxfp6Ref(dst, codes, large []byte) {
	const half, quarter = groupBytes / 2, groupBytes / 4
	for ; len(codes) > 0; codes, dst = codes[half+quarter:], dst[groupBytes:] {
		for i := range groupBytes {
			v, more := codes[i%half]>>(i/half*4)&15, codes[half+i%quarter]>>(i/quarter*2)
			if more&1 != 0 {
				v = large[v]
			}
			if more&2 != 0 {
				v = -v
			}
			dst[i] = v + 60
		}
	}
}

// powersRef sets dst to 2^(e-127), for e above 0.
func powersRef(dst []float32, e []byte) {
	for i, b := range e {
		dst[i] = math.Float32frombits(uint32(b) << 23)
	}
}

func tileGroupsRef(acc []float32, x groupedRows, rows int, u []byte, wScale []float32, zero int32, _ int) {
	for r := range rows {
		sums := acc[r*panel:][:panel]
		for g := range len(u) / groupBytes {
			var s [panel]int32
			for c := range s {
				s[c] = zero * x.start[r*x.groups+g]
			}
			for k, b := range x.q[r*x.stride+g*groupSize:][:groupSize] {
				v, column := int32(int8(b)), u[g*groupBytes+k/4*4*panel+k%4:]
				for c := range s {
					s[c] += v * int32(column[4*c])
				}
			}
			by := x.scale[r*x.groups+g]
			for c, w := range wScale[g*panel:][:panel] {
				sums[c] = FMA(float32(s[c]), float32(by*w), sums[c])
			}
		}
	}
}
