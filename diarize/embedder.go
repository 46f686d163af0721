package diarize

import (
	"math"
	"sync"

	"verity/internal/kernel"
)

// Sizes of CAM++.
const (
	voiceSize  = 192 // of what describes a voice
	channels   = 32  // of the two-dimensional part, and what a layer of the dense part adds
	bottleneck = 128 // of a layer of the dense part
	maxWidth   = 1024
	contextLen = 100 // frames that share a context
	meanFrames = 148 // over which a band's mean is taken
)

// denseBlocks are the three blocks of the dense part: their width before the first layer, their layers and the
// distance of the taps of their convolutions.
var denseBlocks = [3]struct{ in, layers, dilation int }{{128, 12, 1}, {256, 24, 2}, {512, 16, 2}}

// An embedder is CAM++: it turns the filter bank's frames of voices into vectors.
//
// Source: speakerlab/models/campplus of 3D-Speaker; Wang and others, "CAM++: A Fast and Efficient Network for
// Speaker Verification Using Context-Aware Masking", 2023.
type embedder struct {
	first    plane
	residual [4]struct {
		one, two plane
		shortcut *plane // where the height changes
	}
	last   plane
	tdnn   [bands / 8]*kernel.Matrix // of each frequency, [128][5 taps][32]
	tdnnB  []float32
	blocks [3]struct {
		layers  []denseLayer
		transit rectified
	}
	gain, bias []float32
	dense      linear
}

// A plane is a convolution of 3×3 or 1×1 over frequency and time. A product computes two output times at once, which
// fills the 64 outputs of a panel. It reads 4 input times (3×3) or 2 (1×1).
type plane struct {
	rows  []*kernel.Matrix // of each tap in frequency, [2 times][32] by [times][in]
	bias  []float32        // of both times
	in    int
	times int
}

// A rectified is a product of a matrix with max(sign·x, least).
type rectified struct {
	flipped []int // the inputs of sign -1
	least   []float32
	linear
}

// A denseLayer computes 32 further channels from all channels before it.
type denseLayer struct {
	rectified
	local    [3]*kernel.Matrix // of each tap, [32][128]
	one, two linear            // of the mask
}

func (e *embedder) load(r *reader) {
	e.first = r.plane(1, 3)
	for i := range e.residual {
		b := &e.residual[i]
		b.one, b.two = r.plane(channels, 3), r.plane(channels, 3)
		if i%2 == 0 {
			s := r.plane(channels, 1)
			b.shortcut = &s
		}
	}
	e.last = r.plane(channels, 3)
	const taps = 5
	w := r.halves(bottleneck * taps * len(e.tdnn) * channels) // [out][tap][freq][channel]
	for f := range e.tdnn {
		var rows []float32
		for ot := range bottleneck * taps {
			rows = append(rows, w[(ot*len(e.tdnn)+f)*channels:][:channels]...)
		}
		e.tdnn[f] = packed(bottleneck, taps*channels, rows)
	}
	e.tdnnB = r.vector(bottleneck)
	for i, b := range denseBlocks {
		width := b.in
		for range b.layers {
			l := denseLayer{rectified: r.rectified(bottleneck, width)}
			w := r.halves(channels * 3 * bottleneck)
			for tap := range l.local {
				var rows []float32
				for o := range channels {
					rows = append(rows, w[(o*3+tap)*bottleneck:][:bottleneck]...)
				}
				l.local[tap] = packed(channels, bottleneck, rows)
			}
			l.one, l.two = r.linear(bottleneck/2, bottleneck), r.linear(channels, bottleneck/2)
			e.blocks[i].layers = append(e.blocks[i].layers, l)
			width += channels
		}
		e.blocks[i].transit = r.rectified(width/2, width)
	}
	e.gain, e.bias = r.vector(maxWidth/2), r.vector(maxWidth/2)
	e.dense = r.linear(voiceSize, maxWidth)
}

// plane reads a convolution of size by size taps, [32][freq][time][in].
func (r *reader) plane(in, size int) plane {
	w := r.halves(channels * size * size * in)
	bias := r.vector(channels)
	p := plane{bias: append(bias[:channels:channels], bias...), in: in, times: size + 1}
	for freq := range size {
		rows := make([]float32, 2*channels*p.times*in)
		for o := range 2 * channels {
			second := o / channels
			taps := w[(o%channels*size+freq)*size*in:][:size*in]
			copy(rows[(o*p.times+second)*in:], taps)
		}
		p.rows = append(p.rows, packed(2*channels, p.times*in, rows))
	}
	return p
}

func (r *reader) rectified(out, in int) (m rectified) {
	for i, sign := range r.vector(in) {
		if sign < 0 {
			m.flipped = append(m.flipped, i)
		}
	}
	m.least = r.vector(in)
	m.linear = r.linear(out, in)
	return m
}

// Every row of an image begins with pad zero frames and ends with at least as many, so that convolutions need no
// edges.
const pad = 2

// An image is [height][pad + frames + pad][depth], where frames is even.
type image struct {
	height, frames, depth int
	x                     []float32
}

func (m *image) stride() int { return (m.frames + 2*pad) * m.depth }

// row returns row f from frame t on; t may be as low as -pad.
func (m *image) row(f, t int) []float32 { return m.x[f*m.stride()+(t+pad)*m.depth : (f+1)*m.stride()] }

// set makes m an image of the size given, with zeros around.
func (m *image) set(height, frames, depth int) {
	m.height, m.frames, m.depth = height, frames, depth
	m.x = kernel.Resize(m.x, height*m.stride())
	clear(m.x)
}

// A voiceScratch is the working memory of embed.
type voiceScratch struct {
	images               [4]image
	x, rectified, h, y   []float32
	sum, part, mask, mid []float32
	stats                [maxWidth]float32
}

var voiceScratches = sync.Pool{New: func() any { return new(voiceScratch) }}

// embed writes the unit vectors of the voices in windows to dst, [n][192]. x is the stretch of speech that they lie in,
// [frames][80], from frame first on. From each frame, the mean of each band over 1.5 s around it is subtracted.
// There must be at least one frame.
//
// The networks run once over the stretch; only the means and deviations at their end are those of each window.
func (e *embedder) embed(dst, x []float32, first int, windows []window) {
	s := voiceScratches.Get().(*voiceScratch)
	defer voiceScratches.Put(s)
	frames := len(x) / bands
	top := e.head(s, x, frames)
	steps := e.intoDense(s, top, frames)
	for i, b := range denseBlocks {
		width := b.in
		for _, l := range e.blocks[i].layers {
			l.apply(s, steps, width, b.dilation)
			width += channels
		}
		e.blocks[i].transit.apply(s, s.h, steps, width)
		for t := range steps {
			copy(s.x[t*maxWidth:], s.h[t*width/2:][:width/2])
		}
	}
	for t := range steps {
		row := s.x[t*maxWidth:][:maxWidth/2]
		for c, v := range row {
			row[c] = max(0, float32(v*e.gain[c])+e.bias[c])
		}
	}
	for i, w := range windows {
		s.pool((w.start-first)/2, (w.end-first+1)/2)
		v := dst[i*voiceSize:][:voiceSize]
		e.dense.apply(v, s.stats[:], 1, maxWidth)
		normalise(v)
	}
}

// head runs the two-dimensional part.
func (e *embedder) head(s *voiceScratch, x []float32, frames int) *image {
	even := (frames + 1) &^ 1
	a, b, c, d := &s.images[0], &s.images[1], &s.images[2], &s.images[3]
	a.set(bands, even, 1)
	for f := range bands {
		row, sum, from, to := a.row(f, 0), 0.0, 0, 0
		for t := range frames {
			first := max(0, min(t-meanFrames/2, frames-meanFrames))
			last := min(frames, first+meanFrames)
			for ; to < last; to++ {
				sum += float64(x[to*bands+f])
			}
			for ; from < first; from++ {
				sum -= float64(x[from*bands+f])
			}
			row[t] = x[t*bands+f] - float32(sum/float64(last-first))
		}
	}
	b.set(bands, even, channels)
	e.first.apply(b, a, 1)
	b.rectify(frames)
	for i := range e.residual {
		r := &e.residual[i]
		step := 1
		if r.shortcut != nil {
			step = 2
		}
		c.set(b.height/step, even, channels)
		r.one.apply(c, b, step)
		c.rectify(frames)
		d.set(c.height, even, channels)
		r.two.apply(d, c, 1)
		if r.shortcut != nil {
			r.shortcut.add(d, b, step)
		} else {
			kernel.Add(d.x, b.x)
		}
		d.rectify(frames)
		b, d = d, b
	}
	c.set(b.height/2, even, channels)
	e.last.apply(c, b, 2)
	c.rectify(frames)
	return c
}

// apply sets each row of to to the product of the taps with rows of from, step times as many. The tap in
// the middle comes first.
func (p *plane) apply(to, from *image, step int) {
	pairs := to.frames / 2
	for f := range to.height {
		dst, at := to.row(f, 0), f*step
		kernel.MatMul(nil, dst, from.row(at, -1), pairs, 2*p.in, p.rows[1], p.bias, kernel.Store)
		if at > 0 {
			kernel.MatMul(nil, dst, from.row(at-1, -1), pairs, 2*p.in, p.rows[0], nil, kernel.StoreAdd)
		}
		if at+1 < from.height {
			kernel.MatMul(nil, dst, from.row(at+1, -1), pairs, 2*p.in, p.rows[2], nil, kernel.StoreAdd)
		}
	}
}

// add adds a convolution of 1×1 to each row of to.
func (p *plane) add(to, from *image, step int) {
	for f := range to.height {
		kernel.MatMul(nil, to.row(f, 0), from.row(f*step, 0), to.frames/2, 2*p.in, p.rows[0], p.bias, kernel.StoreAdd)
	}
}

// rectify replaces negative elements by zero, and everything after the given number of frames.
func (m *image) rectify(frames int) {
	rectify(m.x)
	for f := range m.height {
		clear(m.row(f, frames))
	}
}

// intoDense runs the layer that halves the frames and turns frequencies into channels. It returns the number of
// steps, each a row of s.x.
func (e *embedder) intoDense(s *voiceScratch, from *image, frames int) (steps int) {
	steps = (frames + 1) / 2
	s.y = kernel.Resize(s.y, steps*bottleneck)
	for f, w := range e.tdnn {
		if f == 0 {
			kernel.MatMul(nil, s.y, from.row(f, -2), steps, 2*channels, w, e.tdnnB, kernel.Store)
			continue
		}
		kernel.MatMul(nil, s.y, from.row(f, -2), steps, 2*channels, w, nil, kernel.StoreAdd)
	}
	rectify(s.y)
	s.x = kernel.Resize(s.x, steps*maxWidth)
	for t := range steps {
		copy(s.x[t*maxWidth:], s.y[t*bottleneck:][:bottleneck])
	}
	return steps
}

// apply computes [steps][out] from the first width channels of s.x.
func (m *rectified) apply(s *voiceScratch, dst []float32, steps, width int) {
	s.rectified = kernel.Resize(s.rectified, steps*width)
	for t := range steps {
		row := s.rectified[t*width:][:width]
		copy(row, s.x[t*maxWidth:])
		for _, c := range m.flipped {
			row[c] = -row[c]
		}
		kernel.MaxInto(row, m.least)
	}
	m.linear.apply(dst, s.rectified, steps, width)
}

// apply appends 32 channels to the first width channels of s.x: a convolution of what the
// bottleneck makes of them, times a mask that depends on its means over all steps and over 100 around.
func (l *denseLayer) apply(s *voiceScratch, steps, width, dilation int) {
	side := dilation * bottleneck
	s.h = kernel.Resize(s.h, max(steps*bottleneck+2*side, steps*maxWidth/2))
	clear(s.h[:side])
	clear(s.h[side+steps*bottleneck:][:side])
	h := s.h[side:][:steps*bottleneck]
	l.rectified.apply(s, h, steps, width)
	rectify(h)

	s.y = kernel.Resize(s.y, steps*channels)
	kernel.MatMul(nil, s.y, s.h, steps, bottleneck, l.local[0], nil, kernel.Store)
	kernel.MatMul(nil, s.y, h, steps, bottleneck, l.local[1], nil, kernel.StoreAdd)
	kernel.MatMul(nil, s.y, s.h[2*side:], steps, bottleneck, l.local[2], nil, kernel.StoreAdd)

	mask := l.masks(s, h, steps)
	for t := range steps {
		m := mask[t/contextLen*channels:][:channels]
		to := s.x[t*maxWidth+width:][:channels]
		for c, v := range s.y[t*channels:][:channels] {
			to[c] = v * m[c]
		}
	}
}

// masks returns the mask of each 100 steps, [n][32].
func (l *denseLayer) masks(s *voiceScratch, h []float32, steps int) []float32 {
	n := (steps + contextLen - 1) / contextLen
	s.sum, s.part = kernel.Resize(s.sum, bottleneck), kernel.Resize(s.part, n*bottleneck)
	clear(s.sum)
	clear(s.part)
	for t := range steps {
		row := h[t*bottleneck:][:bottleneck]
		kernel.Add(s.sum, row)
		kernel.Add(s.part[t/contextLen*bottleneck:][:bottleneck], row)
	}
	for i := range n {
		size := float32(min(contextLen, steps-i*contextLen))
		part := s.part[i*bottleneck:][:bottleneck]
		for c := range part {
			part[c] = s.sum[c]/float32(steps) + part[c]/size
		}
	}
	s.mid, s.mask = kernel.Resize(s.mid, n*bottleneck/2), kernel.Resize(s.mask, n*channels)
	l.one.apply(s.mid, s.part, n, bottleneck)
	rectify(s.mid)
	l.two.apply(s.mask, s.mid, n, bottleneck/2)
	for i, v := range s.mask {
		s.mask[i] = sigmoid(v)
	}
	return s.mask
}

// pool sets s.stats to the mean of each channel and its standard deviation, from one step to another.
func (s *voiceScratch) pool(from, to int) {
	const width = maxWidth / 2
	mean, deviation := s.stats[:width], s.stats[width:]
	clear(s.stats[:])
	for t := from; t < to; t++ {
		kernel.Add(mean, s.x[t*maxWidth:][:width])
	}
	for c := range mean {
		mean[c] /= float32(to - from)
	}
	for t := from; t < to; t++ {
		for c, v := range s.x[t*maxWidth:][:width] {
			d := v - mean[c]
			deviation[c] += float32(d * d)
		}
	}
	for c, v := range deviation {
		deviation[c] = 1e-2 // of a single step
		if to-from > 1 {
			deviation[c] = float32(math.Sqrt(float64(v / float32(to-from-1))))
		}
	}
}

// normalise scales x to length 1. A vector of zeros stays.
func normalise(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	if sum > 0 {
		length := math.Sqrt(sum)
		for i, v := range x {
			x[i] = float32(float64(v) / length)
		}
	}
}
