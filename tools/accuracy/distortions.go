package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"verity/audio"
)

// A distortion changes the sound of an utterance, not its words.
type distortion struct {
	name   string
	rate   int // of the file in Hz; 0 means that of the sound
	change func(b *builder, r *rand.Rand, i int, pcm []float32) []float32
}

var distortions = []distortion{
	{"clean", 0, func(_ *builder, _ *rand.Rand, _ int, pcm []float32) []float32 { return pcm }},
	{"noise 0 dB", 0, dishes(0)}, {"noise 5 dB", 0, dishes(5)}, {"noise 10 dB", 0, dishes(10)},
	{"babble 5 dB", 0, func(b *builder, r *rand.Rand, i int, pcm []float32) []float32 {
		others := make([]float32, len(pcm))
		for range 4 {
			other := b.english[(i+1+r.IntN(len(b.english)-1))%len(b.english)]
			mix(others, other.pcm, r.IntN(len(other.pcm)), 1/loudness(other.pcm))
		}
		return addNoise(pcm, others, 5)
	}},
	{"music 0 dB", 0, func(b *builder, r *rand.Rand, _ int, pcm []float32) []float32 {
		music := make([]float32, len(pcm))
		mix(music, b.music, r.IntN(len(b.music)), 1)
		return addNoise(pcm, music, 0)
	}},
	{"white 5 dB", 0, func(_ *builder, r *rand.Rand, _ int, pcm []float32) []float32 {
		noise := make([]float32, len(pcm))
		for i := range noise {
			noise[i] = float32(r.NormFloat64())
		}
		return addNoise(pcm, noise, 5)
	}},
	{"reverb", 0, func(_ *builder, r *rand.Rand, _ int, pcm []float32) []float32 { return reverberate(pcm, r) }},
	{"telephone", 8000, func(_ *builder, _ *rand.Rand, _ int, pcm []float32) []float32 { return telephone(pcm) }},
	{"-40 dB", 0, func(_ *builder, _ *rand.Rand, _ int, pcm []float32) []float32 { return scale(pcm, 0.01) }},
	{"clipped", 0, func(_ *builder, _ *rand.Rand, _ int, pcm []float32) []float32 { return scale(pcm, 3/peak(pcm)) }},
	// The file says that more samples are a second: faster, and higher.
	{"1.25 x", audio.SampleRate * 5 / 4, func(_ *builder, _ *rand.Rand, _ int, pcm []float32) []float32 { return pcm }},
}

func dishes(snr float64) func(*builder, *rand.Rand, int, []float32) []float32 {
	return func(b *builder, r *rand.Rand, _ int, pcm []float32) []float32 {
		noise := make([]float32, len(pcm))
		mix(noise, b.dishes, r.IntN(len(b.dishes)), 1)
		return addNoise(pcm, noise, snr)
	}
}

// mix adds a sound to dst, from a place on and again from its start when it has ended.
func mix(dst, sound []float32, from int, factor float32) {
	for i := range dst {
		dst[i] += factor * sound[(from+i)%len(sound)]
	}
}

// addNoise adds noise at a ratio of speech to noise in dB.
func addNoise(pcm, noise []float32, snr float64) []float32 {
	mix(pcm, noise, 0, loudness(pcm)/loudness(noise)*float32(math.Pow(10, -snr/20)))
	return scale(pcm, min(1, 0.99/peak(pcm)))
}

// loudness returns the root of the mean square.
func loudness(pcm []float32) float32 {
	sum := 1e-12
	for _, v := range pcm {
		sum += float64(v) * float64(v)
	}
	return float32(math.Sqrt(sum / float64(max(1, len(pcm)))))
}

func peak(pcm []float32) float32 {
	most := float32(1e-6)
	for _, v := range pcm {
		most = max(most, v, -v)
	}
	return most
}

func scale(pcm []float32, factor float32) []float32 {
	for i := range pcm {
		pcm[i] *= factor
	}
	return pcm
}

// reverberate adds 300 echoes within 0.8 s, which decay by 60 dB in 0.7 s.
func reverberate(pcm []float32, r *rand.Rand) []float32 {
	out := slices.Concat(pcm, make([]float32, audio.SampleRate/2))
	for range 300 {
		at := r.Float64() * 0.8
		gain := float32(0.15 * math.Pow(10, -3*at/0.7) * r.NormFloat64())
		delay := int((0.01 + at) * audio.SampleRate)
		for i := delay; i < len(out) && i-delay < len(pcm); i++ {
			out[i] += gain * pcm[i-delay]
		}
	}
	return scale(out, min(1, 0.99/peak(out)))
}

// telephone returns sound of 300 to 3400 Hz at 8 kHz, in the 255 steps of mu-law.
func telephone(pcm []float32) []float32 {
	const taps = 201
	var filter [taps]float32
	for i := range filter {
		t := float64(i - taps/2)
		low := func(hz float64) float64 {
			if t == 0 {
				return 2 * hz / audio.SampleRate
			}
			return math.Sin(2*math.Pi*hz/audio.SampleRate*t) / (math.Pi * t)
		}
		hamming := 0.54 + 0.46*math.Cos(2*math.Pi*t/taps)
		filter[i] = float32((low(3400) - low(300)) * hamming)
	}
	out := make([]float32, len(pcm)/2)
	const mu = 255
	for i := range out {
		sum := float32(0)
		for k, f := range filter {
			if at := 2*i + k - taps/2; at >= 0 && at < len(pcm) {
				sum += f * pcm[at]
			}
		}
		v := math.Max(-1, math.Min(float64(sum), 1))
		step := math.Round(127 * math.Log1p(mu*math.Abs(v)) / math.Log1p(mu))
		out[i] = float32(math.Copysign(math.Expm1(step/127*math.Log1p(mu))/mu, v))
	}
	return out
}

// trim removes what is quieter than -40 dB of the peak at both ends, but for 50 ms.
func trim(pcm []float32) []float32 {
	least, margin := 0.01*peak(pcm), audio.SampleRate/20
	first, last := 0, len(pcm)-1
	for first < last && max(pcm[first], -pcm[first]) < least {
		first++
	}
	for last > first && max(pcm[last], -pcm[last]) < least {
		last--
	}
	return pcm[max(0, first-margin):min(len(pcm), last+margin)]
}
