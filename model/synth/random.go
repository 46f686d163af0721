package synth

import (
	"hash/fnv"
	"io"
	"math"
	"runtime"
	"sync"
	"unsafe"

	"verity/internal/tensor"
	"verity/parallel"
)

// A spread is a normal distribution in float16: its values at 65,536 equally likely
// points, so that sixteen random bits select a value. Its largest values are 4.3
// deviations from the mean.
type spread [1 << 16]uint16

// newSpread returns mean + deviation·√2·erf⁻¹(u) at the middles u of equal parts
// of (-1, 1).
func newSpread(mean, deviation float64) *spread {
	s := new(spread)
	for i := range s {
		u := (float64(i)+0.5)/(1<<15) - 1
		s[i] = tensor.F16Bits(float32(mean + deviation*math.Sqrt2*math.Erfinv(u)))
	}
	return s
}

// matrices have the deviation of Whisper's initial weights (init_std in config.json),
// gains are near one.
var (
	matrices = sync.OnceValue(func() *spread { return newSpread(0, 0.02) })
	gains    = sync.OnceValue(func() *spread { return newSpread(1, 0.02) })
)

// A source is an endless sequence of random values. Value i is a function of the key and
// i alone, so it can be read from anywhere, by several threads.
type source struct {
	key uint64
	*spread
}

func newSource(name string, s *spread) source {
	h := fnv.New64a()
	h.Write([]byte(name)) // a hash never returns an error
	return source{h.Sum64(), s}
}

// fill sets dst to values from … from+len(dst)-1; from is a multiple of four. A word of
// splitmix64 (Steele, Lea & Flood, OOPSLA 2014) gives four of them.
func (s source) fill(dst []uint16, from int) {
	word := s.key + uint64(from/4)*golden
	for len(dst) > 0 {
		word += golden
		z := mix(word)
		n := min(4, len(dst))
		for i := range n {
			dst[i] = s.spread[uint16(z>>(16*i))]
		}
		dst = dst[n:]
	}
}

// golden is 2⁶⁴ over the golden ratio.
const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// chunk is how many values one thread makes at a time: 2 MiB.
const chunk = 1 << 20

// write writes values 0 … n-1. The next chunks are made while one is written.
func (s source) write(w io.Writer, n int) error {
	starts := func(yield func(int) bool) {
		for from := 0; from < n && yield(from); from += chunk {
		}
	}
	made := parallel.Ordered(runtime.GOMAXPROCS(0), 1, starts, func(_, from int) []uint16 {
		b := buffers.Get().(*[chunk]uint16)[:min(chunk, n-from)]
		s.fill(b, from)
		return b
	})
	for b := range made {
		_, err := w.Write(bytesOf(b))
		buffers.Put((*[chunk]uint16)(b[:chunk]))
		if err != nil {
			return err
		}
	}
	return nil
}

var buffers = sync.Pool{New: func() any { return new([chunk]uint16) }}

// bytesOf returns x in the byte order of safetensors, on the little-endian machines that
// these checkpoints are made on.
func bytesOf(x []uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}
