package audio

import (
	"fmt"
	"sync"

	"verity/internal/frontend"
)

// spectrum is the number of frequencies of a real transform of WindowSize points.
const spectrum = frontend.Spectrum

// maxBins bounds the rows of a filterbank; above 201 there are more than frequencies.
const maxBins = spectrum

// A filterbank maps a power spectrum to mel bins.
type filterbank struct {
	rows  []frontend.Filter
	bands []band
}

// A band is one mel bin as the kernels take it.
type band struct {
	first   int // power of the first weight; powers begin at frequency 1
	weights []float32
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

func newFilterbank(bins int) *filterbank {
	fb := &filterbank{rows: frontend.Filters(bins)}
	for _, row := range fb.rows {
		b := band{first: max(0, row.First-1)} // a bin between two frequencies has no weights
		for i, w := range row.Weights {
			if row.First+i < spectrum-1 { // rounding may put the last edge above 8 kHz
				b.weights = append(b.weights, float32(w))
			}
		}
		fb.bands = append(fb.bands, b)
	}
	return fb
}
