package diarize

import (
	"math"
	"sync"

	"verity/audio"
	"verity/internal/kernel"
	"verity/parallel"
)

// Sizes of the filter bank, in samples, and its number of bands.
const (
	fbankSize = 400 // 25 ms
	fbankHop  = 160
	fftSize   = 512
	bands     = 80
)

// fbankFloor is the least energy of a band: the distance of 1 to the next float32, as torchaudio has it.
const fbankFloor = 0x1p-23

// A filterBank computes Kaldi's log mel energies, with the defaults of torchaudio.compliance.kaldi.fbank and no
// dither. Up to the spectrum everything is linear: the mean of a frame is subtracted, x[i] - 0.97·x[i-1] taken,
// the window applied, then the transform. So one matrix holds it all.
type filterBank struct {
	transform *kernel.Matrix // [cosines of 256 frequencies, then sines][400]
	mel       *kernel.Matrix // [80][256]
}

var theBank = sync.OnceValue(func() *filterBank {
	return &filterBank{packed(fftSize, fbankSize, transformRows()), packed(bands, fftSize/2, melRows())}
})

func transformRows() []float32 {
	const emphasis = 0.97
	var window [fbankSize]float64 // Povey's
	for i := range window {
		window[i] = math.Pow(0.5-0.5*math.Cos(2*math.Pi*float64(i)/(fbankSize-1)), 0.85)
	}
	rows := make([]float32, fftSize*fbankSize)
	for r := range fftSize {
		wave := math.Cos
		if r >= fftSize/2 {
			wave = math.Sin
		}
		var basis [fbankSize + 1]float64
		for i, w := range window {
			basis[i] = w * wave(2*math.Pi*float64(r%(fftSize/2)*i%fftSize)/fftSize)
		}
		row, mean := rows[r*fbankSize:][:fbankSize], 0.0
		var taps [fbankSize]float64
		for i := range taps {
			taps[i] = basis[i] - emphasis*basis[i+1]
			if i == 0 { // the first sample stands for the one before it
				taps[i] -= emphasis * basis[i]
			}
			mean += taps[i] / fbankSize
		}
		for i, v := range taps {
			row[i] = float32(v - mean)
		}
	}
	return rows
}

// melRows returns triangular filters between 20 and 8000 Hz, linear in mel.
func melRows() []float32 {
	mel := func(hz float64) float64 { return 1127 * math.Log(1+hz/700) }
	low, high := mel(20), mel(audio.SampleRate/2)
	step := (high - low) / (bands + 1)
	rows := make([]float32, bands*fftSize/2)
	for b := range bands {
		left := low + float64(b)*step
		center, right := left+step, left+2*step
		for k := range fftSize / 2 {
			m := mel(audio.SampleRate * float64(k) / fftSize)
			if m > left && m < right {
				rows[b*fftSize/2+k] = float32(min((m-left)/(center-left), (right-m)/(right-center)))
			}
		}
	}
	return rows
}

// fbankFrames returns the number of whole frames in n samples.
func fbankFrames(n int) int { return max(0, (n-fbankSize)/fbankHop+1) }

// append appends the frames of x, [frame][80].
func (f *filterBank) append(p *parallel.Pool, frames, x []float32) []float32 {
	const strip = 256 // frames at a time
	var spectrum, power [strip * fftSize]float32
	for n := fbankFrames(len(x)); n > 0; {
		rows := min(n, strip)
		kernel.MatMul(p, spectrum[:], x, rows, fbankHop, f.transform, nil, kernel.Store)
		for r := range rows {
			s := spectrum[r*fftSize:][:fftSize]
			for k, re := range s[:fftSize/2] {
				im := s[fftSize/2+k]
				power[r*fftSize/2+k] = float32(re*re) + float32(im*im)
			}
		}
		at := len(frames)
		frames = append(frames, make([]float32, rows*bands)...)
		kernel.MatMul(p, frames[at:], power[:], rows, fftSize/2, f.mel, nil, kernel.Store)
		for i, v := range frames[at:] {
			frames[at+i] = kernel.Log(max(v, fbankFloor))
		}
		x, n = x[rows*fbankHop:], n-rows
	}
	return frames
}
