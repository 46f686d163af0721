package audio

// testSignal returns n samples of a signal by a rule of integers, so that
// tools/reference/audio_goldens.py makes the same bits. Every sample is a
// multiple of 2^-23 in [-1, 1), exact in float32.
func testSignal(name string, n int) []float32 {
	rule := map[string]func(i uint64) int32{
		"noise":   noise,
		"chirp":   chirp,
		"bursts":  bursts,
		"click":   func(i uint64) int32 { return int32(b2i(i == 0)) << 22 },
		"late":    func(i uint64) int32 { return -int32(b2i(i == 8*SampleRate-1)) << 23 },
		"silence": func(uint64) int32 { return 0 },
	}[name]
	pcm := make([]float32, n)
	for i := range pcm {
		pcm[i] = float32(rule(uint64(i))) / (1 << 23)
	}
	return pcm
}

// noise is white, uniform in [-1/2, 1/2): the upper bits of splitmix64.
func noise(i uint64) int32 {
	z := (i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return int32(z>>41) - 1<<22
}

// chirp sweeps from 0 to 8 kHz every 4 s. Its wave is the parabola 4p(1-|p|),
// p in [-1, 1), with harmonics 28 dB and more below.
func chirp(i uint64) int32 {
	const period = 4 * SampleRate
	j := i % period
	phase := j * j * (1 << 31) / (2 * period) // 2^32 is a turn; half a turn per sample at the end
	p := int32(uint32(phase)) >> 20
	a := max(p, -p)
	return p * (2048 - a) * 4
}

// bursts is half a second of loud noise, then one 48 dB below, in turn.
func bursts(i uint64) int32 {
	v := noise(i)
	if i/(SampleRate/2)%2 == 1 {
		v >>= 8
	}
	return v
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
