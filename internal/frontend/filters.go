package frontend

import "math"

// Spectrum is the number of frequencies of a real transform of WindowSize points.
const Spectrum = WindowSize/2 + 1

// A Filter is one mel bin: the weights of the frequencies from First on. Others are
// zero.
type Filter struct {
	First   int
	Weights []float64 // each is a float32, as upstream stores them
}

// Filters returns the mel filters: triangles between bins+2 frequencies evenly spaced
// on Slaney's mel scale from 0 to 8 kHz, each of area 1 in Hz.
//
// Source: librosa.filters.mel(sr=16000, n_fft=400, n_mels=bins), which wrote
// whisper/assets/mel_filters.npz of openai/whisper at c0d2f62.
func Filters(bins int) []Filter {
	edges := make([]float64, bins+2)
	top := hzToMel(SampleRate / 2)
	for i := range edges {
		edges[i] = melToHz(top * float64(i) / float64(bins+1))
	}
	rows := make([]Filter, bins)
	for b := range rows {
		low, mid, high := edges[b], edges[b+1], edges[b+2]
		row := &rows[b]
		for k := range Spectrum {
			hz := float64(k) * SampleRate / WindowSize
			w := min((hz-low)/(mid-low), (high-hz)/(high-mid))
			if !(w > 0) {
				continue
			}
			if len(row.Weights) == 0 {
				row.First = k
			}
			row.Weights = append(row.Weights, float64(float32(w*2/(high-low))))
		}
	}
	return rows
}

// Slaney's scale is linear to 1 kHz, 3 mel per 200 Hz, and logarithmic above: 27 mel
// per factor of 6.4.
const (
	melKneeHz   = 1000
	melKnee     = melKneeHz * 3.0 / 200
	melPerNeper = 27 / 1.8562979903656263 // 27/ln 6.4
)

func hzToMel(hz float64) float64 {
	if hz < melKneeHz {
		return hz * 3 / 200
	}
	return melKnee + math.Log(hz/melKneeHz)*melPerNeper
}

func melToHz(mel float64) float64 {
	if mel < melKnee {
		return mel * 200 / 3
	}
	return melKneeHz * math.Exp((mel-melKnee)/melPerNeper)
}
