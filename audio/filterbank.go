package audio

import (
	"fmt"
	"math"
	"sync"
)

// spectrum is the number of frequencies of a real transform of WindowSize points.
const spectrum = WindowSize/2 + 1

// maxBins bounds the rows of a filterbank; above 201 there are more than frequencies.
const maxBins = spectrum

// A filterbank maps a power spectrum to mel bins. Each row is a triangle, kept
// over its non-zero range only.
type filterbank struct {
	rows []melFilter
	max  float64 // largest weight
}

type melFilter struct {
	first   int // frequency of weights[0]
	weights []float64
}

var filterbanks sync.Map // of *filterbank by number of bins; they are never changed

func filterbankFor(bins int) (*filterbank, error) {
	if bins < 1 || bins > maxBins {
		return nil, fmt.Errorf("audio: mel bins: got %d, want 1 to %d", bins, maxBins)
	}
	if fb, ok := filterbanks.Load(bins); ok {
		return fb.(*filterbank), nil
	}
	fb, _ := filterbanks.LoadOrStore(bins, newFilterbank(bins))
	return fb.(*filterbank), nil
}

// newFilterbank makes triangles between bins+2 frequencies that lie evenly on
// Slaney's mel scale from 0 to 8 kHz, each of area 1 in Hz. Weights are rounded
// to float32, as upstream stores them.
//
// Source: librosa.filters.mel(sr=16000, n_fft=400, n_mels=bins), which wrote
// whisper/assets/mel_filters.npz of openai/whisper at c0d2f62.
func newFilterbank(bins int) *filterbank {
	edges := make([]float64, bins+2)
	top := hzToMel(SampleRate / 2)
	for i := range edges {
		edges[i] = melToHz(top * float64(i) / float64(bins+1))
	}
	fb := &filterbank{rows: make([]melFilter, bins)}
	for b := range fb.rows {
		low, mid, high := edges[b], edges[b+1], edges[b+2]
		row := &fb.rows[b]
		for k := range spectrum {
			hz := float64(k) * SampleRate / WindowSize
			w := min((hz-low)/(mid-low), (high-hz)/(high-mid))
			if !(w > 0) {
				continue
			}
			if len(row.weights) == 0 {
				row.first = k
			}
			w = float64(float32(w * 2 / (high - low)))
			row.weights = append(row.weights, w)
			fb.max = max(fb.max, w)
		}
	}
	return fb
}

// Slaney's scale is linear to 1 kHz, 3 mel per 200 Hz, and logarithmic above,
// 27 mel for every factor of 6.4.
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
