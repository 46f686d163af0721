package audio

import (
	"io"
	"math"

	"verity/internal/kernel"
)

// The low-pass filter is a sinc under a Kaiser window. Its transition lies between 7.4 and 8 kHz: with β = 9.5
// the stop band is 95 dB down, and 600 Hz of 16 kHz take (95 - 8)/(2.285·2π·600/16000) = 162 coefficients
// (Kaiser 1974), 81 zero crossings on either side. The edge is in the middle, 7.7 kHz of 8.
// TestResamplerPassbandAndAliases measures both with tones.
const (
	sincZeros   = 84
	kaiserBeta  = 9.5
	sincRolloff = 0.9625
)

// maxRows bounds the memory of the table of filter rows, in coefficients. Rates that share no large factor with
// SampleRate have up to 16000 rows; their rows are computed for every output.
const maxRows = 1 << 18

// A resampler turns a signal of any rate into one at SampleRate:
//
//	out[n] = Σ_i in[i]·h(i - n·down/up),  up/down = SampleRate/rate in lowest terms
//
// with zeros before and after the input. There are ceil(len(in)·up/down) outputs, and out[n] lies at the very
// time n/SampleRate of the input.
type resampler struct {
	src      mono
	up, down int
	half     int // coefficients on either side of the output's place
	h        *lowPass
	rows     []float32 // [up][2·half], or one row if that were too many
	row      int       // phase of that one row, -1 if none
	scratch  []float64 // a row before scaling
	quad     kernel.FourDots

	buf   []float32 // half-1 zeros, the inputs, half zeros; less what was dropped
	at    int       // where the coefficients of the next output begin in buf
	phase int       // distance of that output from the input before it, in 1/up inputs
	in    int64     // inputs read
	out   int64     // outputs made
	ended bool      // the zeros after the input are there
}

func newResampler(src mono, rate int) *resampler {
	g := gcd(SampleRate, rate)
	r := &resampler{src: src, up: SampleRate / g, down: rate / g}
	edge := sincRolloff * min(1, float64(r.up)/float64(r.down))
	r.half = int(math.Ceil(sincZeros / edge))
	r.h = newLowPass(edge)
	taps := 2 * r.half
	r.scratch = make([]float64, taps)
	if r.up*taps <= maxRows {
		r.rows = make([]float32, r.up*taps)
		for p := range r.up {
			r.fillRow(r.rows[p*taps:][:taps], p)
		}
	} else {
		r.rows = make([]float32, taps)
	}
	r.reset()
	return r
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (r *resampler) reset() {
	r.buf = append(r.buf[:0], make([]float32, r.half-1)...)
	r.at, r.phase, r.in, r.out, r.ended, r.row = 0, 0, 0, 0, false, -1
}

func (r *resampler) rewind() error {
	r.reset()
	return r.src.rewind()
}

func (r *resampler) read(dst []float32) (int, error) {
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := 0
	for n < len(dst) && r.ready() {
		n += r.outputs(dst[n:])
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// outputs makes up to four outputs, which the kernel computes together.
func (r *resampler) outputs(dst []float32) (n int) {
	q, most := &r.quad, min(len(dst), len(r.quad.Sums))
	if !r.tabulated() {
		most = 1 // there is only one row
	}
	for ; n < most && r.ready(); n++ {
		q.A[n], q.B[n] = r.rowFor(r.phase), r.buf[r.at:]
		r.out++
		r.phase += r.down
		r.at += r.phase / r.up
		r.phase %= r.up
	}
	for i := n; i < len(q.A); i++ {
		q.A[i], q.B[i] = q.A[0], q.B[0]
	}
	q.Dots()
	return copy(dst, q.Sums[:n])
}

// ready reports whether buf holds what the next output needs.
func (r *resampler) ready() bool {
	if r.ended {
		return r.out*int64(r.down) < r.in*int64(r.up)
	}
	return r.at+2*r.half <= len(r.buf)
}

// fill reads until an output is ready or the input has ended. It drops what no output needs any more.
func (r *resampler) fill() error {
	const block = 4096
	for !r.ended && !r.ready() {
		drop := min(r.at, len(r.buf))
		r.buf = r.buf[:copy(r.buf, r.buf[drop:])]
		r.at -= drop
		old := len(r.buf)
		r.buf = append(r.buf, make([]float32, block)...)
		m, err := r.src.read(r.buf[old:])
		r.buf = r.buf[:old+m]
		r.in += int64(m)
		switch {
		case err == io.EOF:
			r.ended = true
			r.buf = append(r.buf, make([]float32, r.half)...)
		case err != nil:
			return err
		}
	}
	return nil
}

// tabulated reports whether there is a row for every phase.
func (r *resampler) tabulated() bool { return len(r.rows) == r.up*2*r.half }

// rowFor returns the coefficients of an output that lies phase/up after an input.
func (r *resampler) rowFor(phase int) []float32 {
	taps := 2 * r.half
	if r.tabulated() {
		return r.rows[phase*taps:][:taps]
	}
	if r.row != phase {
		r.fillRow(r.rows, phase)
		r.row = phase
	}
	return r.rows
}

// fillRow sets row[j] = h(j - half + 1 - phase/up), scaled to a sum of 1.
func (r *resampler) fillRow(row []float32, phase int) {
	sum, shift := 0.0, float64(phase)/float64(r.up)
	for j := range r.scratch {
		v := r.h.at(float64(j-r.half+1) - shift)
		r.scratch[j] = v
		sum += v
	}
	for j, v := range r.scratch {
		row[j] = float32(v / sum)
	}
}

// A lowPass is the right half of the windowed sinc, tabulated.
type lowPass struct {
	perInput float64 // table steps per input sample
	table    []float64
}

// tableSteps is how many table steps there are between zero crossings of the sinc. Cubic interpolation errs by
// 3/128·(π/256)⁴ of the peak, -186 dB.
const tableSteps = 256

// newLowPass tabulates h(t) = edge·sinc(edge·t)·kaiser(edge·t/sincZeros); edge is the cut-off over the input's
// Nyquist frequency.
func newLowPass(edge float64) *lowPass {
	k := &lowPass{perInput: tableSteps * edge, table: make([]float64, sincZeros*tableSteps+3)}
	norm := bessel0(kaiserBeta)
	for i := range sincZeros * tableSteps {
		u := float64(i) / tableSteps // in zero crossings
		sinc := 1.0
		if i > 0 {
			sinc = math.Sin(math.Pi*u) / (math.Pi * u)
		}
		w := u / sincZeros
		// The conversion forbids a fused multiply-add, which not every processor has: the bits must be the same.
		k.table[i] = edge * sinc * bessel0(kaiserBeta*math.Sqrt(1-float64(w*w))) / norm
	}
	return k
}

// at returns h(t) by Lagrange interpolation over four entries.
func (k *lowPass) at(t float64) float64 {
	u := math.Abs(t) * k.perInput
	i := int(u)
	if i+2 >= len(k.table) {
		return 0
	}
	f := u - float64(i)
	left := k.table[1] // h is even
	if i > 0 {
		left = k.table[i-1]
	}
	// The conversions forbid fused multiply-add, as in newLowPass.
	a := float64(float64(-f*(f-1)) * (f - 2) / 6 * left)
	b := float64(float64((f+1)*(f-1)) * (f - 2) / 2 * k.table[i])
	c := float64(float64(-(f+1)*f) * (f - 2) / 2 * k.table[i+1])
	d := float64(float64((f+1)*f) * (f - 1) / 6 * k.table[i+2])
	return (a + d) + (b + c)
}

// bessel0 returns the modified Bessel function I₀(x) = Σ ((x/2)^k/k!)².
func bessel0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-17*sum; k++ {
		term *= (x / 2 / k) * (x / 2 / k)
		sum += term
	}
	return sum
}
