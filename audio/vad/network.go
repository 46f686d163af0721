package vad

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"

	"github.com/mjibson/go-dsp/window"
	"gonum.org/v1/gonum/dsp/fourier"

	"verity/internal/kernel"
)

// StepSize is the number of samples per probability: 32 ms.
const StepSize = 512

const (
	context   = 64  // samples of the previous chunk, which the network reads too
	fftSize   = 256 // samples of a transform
	fftHop    = 128
	fftFrames = 4 // of a chunk
	bins      = fftSize/2 + 1
	hidden    = 128
)

//go:embed silero.f32
var weightFile []byte

// A convolution has a kernel of three and is padded with one zero on either side. Its weights are
// [out][tap][in], so that an output is one product over neighbours.
type convolution struct {
	in, out, stride int
	weight, bias    []float32
}

// weights are those of the network, shared by all.
type weights struct {
	window [fftSize]float64
	convs  [4]convolution
	// The gates of the recurrent cell, [4·hidden][hidden]: input, forget, cell, output.
	input, state []float32
	gateBias     []float32 // of both
	head         []float32
	headBias     float32
}

var load = sync.OnceValue(func() *weights {
	file := weightFile
	next := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(file[4*i:]))
		}
		file = file[4*n:]
		return v
	}
	w := &weights{}
	copy(w.window[:], window.Hann(fftSize+1)) // symmetric: one point more is periodic
	for i, c := range [4]convolution{
		{in: bins, out: 128, stride: 1}, {in: 128, out: 64, stride: 2},
		{in: 64, out: 64, stride: 2}, {in: 64, out: hidden, stride: 1},
	} {
		stored := next(c.out * c.in * 3) // [out][in][tap]
		c.weight = make([]float32, len(stored))
		for at := range stored {
			o, in, tap := at/(3*c.in), at/3%c.in, at%3
			c.weight[(o*3+tap)*c.in+in] = stored[at]
		}
		c.bias = next(c.out)
		w.convs[i] = c
	}
	w.input, w.state = next(4*hidden*hidden), next(4*hidden*hidden)
	w.gateBias = next(4 * hidden)
	for i, b := range next(4 * hidden) {
		w.gateBias[i] += b
	}
	w.head, w.headBias = next(hidden), next(1)[0]
	return w
})

// A Network computes the probability of speech of one chunk after another. Each depends on all before it. It
// must not be used concurrently.
type Network struct {
	w      *weights
	fft    *fourier.FFT
	before [context]float32
	cell   [hidden]float32
	state  [hidden]float32 // of the recurrent cell, its output
	gates  [4 * hidden]float32
	past   [4 * hidden]float32 // the contribution of the state to the gates
	x      [context + StepSize + context]float64
	frame  [fftSize]float64
	quad   kernel.FourDots
	coeff  [bins]complex128
	layers [5][]float32 // inputs of the layers, between rows of zeros, and the output of the last
}

// NewNetwork returns a network in its initial state.
func NewNetwork() *Network {
	n := &Network{w: load(), fft: fourier.NewFFT(fftSize)}
	frames := fftFrames
	for i, c := range n.w.convs {
		n.layers[i] = make([]float32, (frames+2)*c.in)
		frames = (frames + c.stride - 1) / c.stride
	}
	n.layers[4] = make([]float32, 3*hidden)
	return n
}

// Next returns the probability that a chunk holds speech. A chunk of fewer than StepSize samples is padded with
// silence.
func (n *Network) Next(chunk []float32) float32 {
	n.spectrum(chunk)
	for i, c := range n.w.convs {
		c.apply(&n.quad, n.layers[i+1], n.layers[i])
	}
	return n.recur(n.layers[4][hidden : 2*hidden])
}

// spectrum writes the magnitudes of four transforms, [frame][bin], to the first layer. The input is the last
// samples of the previous chunk and the chunk, reflected at its end.
func (n *Network) spectrum(chunk []float32) {
	const size = context + StepSize
	clear(n.x[:])
	for i, v := range n.before {
		n.x[i] = float64(v)
	}
	for i, v := range chunk[:min(len(chunk), StepSize)] {
		n.x[context+i] = float64(v)
	}
	for i := range context {
		n.x[size+i] = n.x[size-2-i]
		n.before[i] = float32(n.x[size-context+i])
	}
	for t := range fftFrames {
		for i, w := range n.w.window {
			n.frame[i] = w * n.x[t*fftHop+i]
		}
		n.fft.Coefficients(n.coeff[:], n.frame[:])
		row := n.layers[0][(t+1)*bins:][:bins]
		for k, c := range n.coeff {
			re, im := real(c), imag(c)
			row[k] = float32(math.Sqrt(float64(re*re) + float64(im*im)))
		}
	}
}

// apply computes dst = max(0, conv(src) + bias). Both have a row of zeros before and after.
func (c *convolution) apply(q *kernel.FourDots, dst, src []float32) {
	frames := len(src)/c.in - 2
	for t := 0; t < frames; t += c.stride {
		x := src[t*c.in:][:3*c.in]
		row := dst[(t/c.stride+1)*c.out:][:c.out]
		q.Rows(row, c.weight, x)
		for o, v := range row {
			row[o] = max(0, v+c.bias[o])
		}
	}
}

// recur runs a step of the recurrent cell and returns the probability.
func (n *Network) recur(x []float32) float32 {
	n.quad.Rows(n.gates[:], n.w.input, x)
	n.quad.Rows(n.past[:], n.w.state, n.state[:])
	for g, now := range n.gates {
		n.gates[g] = now + n.past[g] + n.w.gateBias[g]
	}
	sum := n.w.headBias
	for i := range hidden {
		in, forget := sigmoid(n.gates[i]), sigmoid(n.gates[hidden+i])
		cell, out := tanh(n.gates[2*hidden+i]), sigmoid(n.gates[3*hidden+i])
		n.cell[i] = float32(forget*n.cell[i]) + float32(in*cell)
		n.state[i] = out * tanh(n.cell[i])
		sum += float32(n.w.head[i] * max(0, n.state[i]))
	}
	return sigmoid(sum)
}

func sigmoid(x float32) float32 { return 1 / (1 + kernel.Exp(-x)) }
func tanh(x float32) float32    { return 1 - 2/(1+kernel.Exp(2*x)) }
