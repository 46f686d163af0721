package diarize

import (
	"math"
	"sync"

	"verity/internal/kernel"
)

// Sizes of the segmentation network.
const (
	chunkSize   = 160000 // samples: 10 s
	frameStep   = 270    // samples from one frame to the next
	frameCentre = 495    // the sample in the middle of frame 0
	chunkFrames = 589
	classes     = 7 // silence, each of three speakers, each pair of them
	silence     = 0
	firstPair   = 4
	filters     = 80
	filterSize  = 251
	filterHop   = 10
	narrow      = 60
	hidden      = 128
)

// A segmenter computes, for every 17 ms of 10 s of sound, the probability of nobody, one and two speakers.
//
// Source: PyanNet of pyannote.audio 3.0 with its checkpoint segmentation-3.0; Plaquet and Bredin, "Powerset
// multi-class cross entropy loss for neural speaker diarization", 2023.
type segmenter struct {
	waveGain, waveBias float32
	convs              [3]linear
	norms              [3]struct{ gain, bias []float32 }
	lstm               [4][2]lstm // of each layer, forwards and backwards
	linears            [3]linear  // the last is the classifier
}

// An lstm is a long short-term memory in one direction. Its gates are input, forget, cell, output.
type lstm struct {
	input linear // with both biases
	state *kernel.Matrix
}

func (g *segmenter) load(r *reader) {
	g.waveGain, g.waveBias = r.vector(1)[0], r.vector(1)[0]
	g.convs[0] = linear{w: packed(filters, filterSize, r.vector(filters*filterSize))}
	for i, in := range []int{filters, filters, narrow} {
		out := narrow
		if i == 0 {
			out = filters
		} else {
			g.convs[i] = linear{packed(out, 5*in, r.vector(out*5*in)), r.vector(out)}
		}
		g.norms[i].gain, g.norms[i].bias = r.vector(out), r.vector(out)
	}
	for l := range g.lstm {
		in := 2 * hidden
		if l == 0 {
			in = narrow
		}
		for way := range g.lstm[l] {
			w, state := r.matrix(4*hidden, in), r.matrix(4*hidden, hidden)
			g.lstm[l][way] = lstm{linear{w, r.vector(4 * hidden)}, state}
		}
	}
	g.linears = [3]linear{r.linear(hidden, 2*hidden), r.linear(hidden, hidden), r.linear(classes, hidden)}
}

// A segmentScratch is the working memory of segment.
type segmentScratch struct {
	wave, strip, a, b, gates, state, cell, before, exps []float32
}

var segmentScratches = sync.Pool{New: func() any { return new(segmentScratch) }}

// segment writes the probabilities of the classes, [chunk][589][7], of the chunks of samples that begin at starts, to dst.
// Chunks at a time are faster: a step of the recurrence reads its matrix once for all.
func (g *segmenter) segment(dst, samples []float32, starts []int) {
	s := segmentScratches.Get().(*segmentScratch)
	defer segmentScratches.Put(s)
	chunks := len(starts)
	rows := chunkFrames * chunks // [589][chunk]
	s.state = kernel.Resize(s.state, rows*narrow)
	for i, start := range starts {
		s.wave = append(s.wave[:0], samples[start:][:chunkSize]...)
		normaliseOverTime(s.wave, 1, []float32{g.waveGain}, []float32{g.waveBias})
		s.a = g.convolve(s, s.a, s.wave, 0, 1, filterSize, filterHop)
		s.b = g.convolve(s, s.b, s.a, 1, filters, 5, 1)
		s.a = g.convolve(s, s.a, s.b, 2, narrow, 5, 1)
		for t := range chunkFrames {
			copy(s.state[(t*chunks+i)*narrow:], s.a[t*narrow:][:narrow])
		}
	}
	s.a, s.state = s.state, s.a
	for l := range g.lstm {
		in := 2 * hidden
		if l == 0 {
			in = narrow
		}
		s.b = kernel.Resize(s.b, rows*2*hidden)
		for way := range g.lstm[l] {
			g.lstm[l][way].apply(s, s.b[way*hidden:], s.a, in, chunks, way == 1)
		}
		s.a, s.b = s.b, s.a
	}
	for i, l := range g.linears {
		if i > 0 {
			leak(s.a)
		}
		s.b = kernel.Resize(s.b, rows*l.w.Out())
		l.apply(s.b, s.a, rows, l.w.In())
		s.a, s.b = s.b, s.a
	}
	for r := range rows {
		p := dst[(r%chunks*chunkFrames+r/chunks)*classes:][:classes]
		copy(p, s.a[r*classes:])
		kernel.Softmax(p)
	}
}

// convolve runs convolution i over from, [time][in], the largest of every three results, the norm and the
// activation. It returns the result in the memory of to, or in more.
func (g *segmenter) convolve(s *segmentScratch, to, from []float32, i, in, taps, hop int) []float32 {
	const strip = 3 * 192
	c := g.convs[i]
	out := c.w.Out()
	rows := (len(from)/in-taps)/hop + 1
	pooled := rows / 3
	to = kernel.Resize(to, pooled*out)
	s.strip = kernel.Resize(s.strip, strip*out)
	for first := 0; first < 3*pooled; first += strip {
		n := min(strip, 3*pooled-first)
		x := s.strip[:n*out]
		c.apply(x, from[first*hop*in:], n, hop*in)
		if i == 0 {
			for j, v := range x {
				x[j] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
			}
		}
		for t := 0; t < n; t += 3 {
			row := to[(first+t)/3*out:][:out]
			copy(row, x[t*out:])
			kernel.MaxInto(row, x[(t+1)*out:][:out])
			kernel.MaxInto(row, x[(t+2)*out:][:out])
		}
	}
	normaliseOverTime(to, out, g.norms[i].gain, g.norms[i].bias)
	leak(to)
	return to
}

// normaliseOverTime shifts and scales each channel of x, [time][width], to mean 0 and variance 1, times its gain
// plus its bias. Sums are in float64, in the order of time.
func normaliseOverTime(x []float32, width int, gain, bias []float32) {
	const eps = 1e-5
	n := float64(len(x) / width)
	mean, variance := make([]float64, width), make([]float64, width)
	for at := 0; at < len(x); at += width {
		for c, v := range x[at:][:width] {
			mean[c] += float64(v)
		}
	}
	for c := range mean {
		mean[c] /= n
	}
	for at := 0; at < len(x); at += width {
		for c, v := range x[at:][:width] {
			d := float64(v) - mean[c]
			variance[c] += float64(d * d)
		}
	}
	scale, shift := make([]float32, width), make([]float32, width)
	for c, v := range variance {
		k := float64(gain[c]) / math.Sqrt(v/n+eps)
		scale[c], shift[c] = float32(k), float32(float64(bias[c])-float64(mean[c]*k))
	}
	for at := 0; at < len(x); at += width {
		row := x[at:][:width]
		for c, v := range row {
			row[c] = float32(v*scale[c]) + shift[c]
		}
	}
}

// leak multiplies negative elements by 0.01.
func leak(x []float32) {
	for i, v := range x {
		x[i] = max(v, float32(0.01*v))
	}
}

// apply writes the outputs of a layer in one direction to dst, [589][chunk][256], of which it fills 128 columns. x is
// [589][chunk][in].
func (l *lstm) apply(s *segmentScratch, dst, x []float32, in, chunks int, backwards bool) {
	s.gates = kernel.Resize(s.gates, chunkFrames*chunks*4*hidden)
	l.input.apply(s.gates, x, chunkFrames*chunks, in)
	s.cell, s.before = kernel.Resize(s.cell, chunks*hidden), kernel.Resize(s.before, chunks*hidden)
	s.exps = kernel.Resize(s.exps, 4*hidden)
	clear(s.cell)
	clear(s.before)
	for i := range chunkFrames {
		t := i
		if backwards {
			t = chunkFrames - 1 - i
		}
		all := s.gates[t*chunks*4*hidden:][:chunks*4*hidden]
		kernel.MatMul(nil, all, s.before, chunks, hidden, l.state, nil, kernel.StoreAdd)
		for chunk := range chunks {
			gates := all[chunk*4*hidden:][:4*hidden]
			cell, before := s.cell[chunk*hidden:][:hidden], s.before[chunk*hidden:][:hidden]
			squash(gates, s.exps)
			for j := range hidden {
				c := float32(gates[hidden+j]*cell[j]) + float32(gates[j]*gates[2*hidden+j])
				cell[j], before[j] = c, 2*c
			}
			logistic(before, s.exps[:hidden])
			for j, v := range before {
				before[j] = gates[3*hidden+j] * (2*v - 1)
			}
			copy(dst[(t*chunks+chunk)*2*hidden:], before)
		}
	}
}

// squash applies the logistic function to the gates and the hyperbolic tangent, 2·logistic(2x) - 1, to the cell.
func squash(gates, exps []float32) {
	cell := gates[2*hidden : 3*hidden]
	for j, v := range cell {
		cell[j] = 2 * v
	}
	logistic(gates, exps)
	for j, v := range cell {
		cell[j] = 2*v - 1
	}
}

// logistic replaces each x by 1/(1+e⁻ˣ), with e to the power of -|x|, which cannot overflow. exps is
// memory of the same length.
func logistic(x, exps []float32) {
	for i, v := range x {
		exps[i] = math.Float32frombits(math.Float32bits(v) | 1<<31)
	}
	kernel.ExpSum(exps, exps, 0)
	for i, e := range exps {
		if x[i] < 0 {
			x[i] = e / (1 + e)
		} else {
			x[i] = 1 / (1 + e)
		}
	}
}
