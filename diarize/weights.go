package diarize

import (
	"sync"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model/speakers"
	"verity/precision"
)

// networks returns both networks. Their weights are shared by all that use them.
var networks = sync.OnceValue(func() *bothNetworks {
	r, n := &reader{speakers.Weights}, &bothNetworks{}
	n.embedder.load(r)
	n.segmenter.load(r)
	if len(r.left) > 0 {
		panic("diarize: the embedded weights are longer than the networks")
	}
	return n
})

type bothNetworks struct {
	embedder
	segmenter
}

// A reader reads the embedded weights in the order in which model/speakers/convert.py writes them.
type reader struct{ left string }

func (r *reader) bytes(n int) []byte {
	b := []byte(r.left[:n])
	r.left = r.left[n:]
	return b
}

// vector reads n numbers in binary32, halves in binary16.
func (r *reader) vector(n int) []float32 { return r.numbers(tensor.F32, n) }
func (r *reader) halves(n int) []float32 { return r.numbers(tensor.F16, n) }

func (r *reader) numbers(d tensor.DType, n int) []float32 {
	v := kernel.NewFloats(n)
	kernel.Widen(nil, v, tensor.Tensor{DType: d, Shape: []int{n}, Data: r.bytes(n * d.Size())})
	return v
}

// matrix reads a matrix [out][in] in binary16.
func (r *reader) matrix(out, in int) *kernel.Matrix { return packed(out, in, r.halves(out*in)) }

// packed packs w, [out][in], for products in float32.
func packed(out, in int, w []float32) *kernel.Matrix {
	m, err := kernel.Pack(precision.F32, tensor.FromFloat32(w, out, in))
	if err != nil {
		panic("diarize: embedded weights: " + err.Error())
	}
	return m
}

// A linear is a product with a bias.
type linear struct {
	w    *kernel.Matrix
	bias []float32
}

func (r *reader) linear(out, in int) linear { return linear{r.matrix(out, in), r.vector(out)} }

// apply computes rows rows of dst from those of x, which lie stride elements apart.
func (l linear) apply(dst, x []float32, rows, stride int) {
	kernel.MatMul(nil, dst, x, rows, stride, l.w, l.bias, kernel.Store)
}

// zeros are what rectify compares with.
var zeros [4096]float32

// rectify replaces negative elements of x by zero.
func rectify(x []float32) {
	for len(x) > len(zeros) {
		kernel.MaxInto(x, zeros[:])
		x = x[len(zeros):]
	}
	kernel.MaxInto(x, zeros[:len(x)])
}

func sigmoid(x float32) float32 { return 1 / (1 + kernel.Exp(-x)) }
