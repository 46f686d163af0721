package encoder

import (
	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model"
)

// A work is the buffers of one Encode call.
type work struct {
	mel    []float32      // [1+2n+1][bins], the first and last row zero
	conv   []float32      // [1+2n+1][width], likewise
	y      []float32      // [n][width]
	q      []float32      // [n][width]
	hidden []float32      // [n][ffn]
	places []kernel.Place // one after the other in the same caches
	spans  []kernel.Span  // every position sees all of them
	attend kernel.Scratch
}

func newWork(d model.Dims, store tensor.DType) *work {
	n, width, size := d.AudioPositions, d.AudioWidth, d.AudioWidth/d.AudioHeads
	w := &work{
		mel:    kernel.NewFloats((2*n + 2) * d.MelBins),
		conv:   kernel.NewFloats((2*n + 2) * width),
		y:      kernel.NewFloats(n * width),
		q:      kernel.NewFloats(n * width),
		hidden: kernel.NewFloats(n * d.AudioFFN),
		places: make([]kernel.Place, n),
		spans:  make([]kernel.Span, n),
	}
	if store != tensor.I8 {
		store = tensor.F32 // keys and values stay in the cache, so there is nothing to gain
	}
	keys, values := kernel.NewKeys(d.AudioHeads, size, n, store), kernel.NewValues(d.AudioHeads, size, n, store)
	for i := range w.spans {
		w.places[i] = kernel.Place{K: keys, V: values, Pos: i}
		w.spans[i] = kernel.Span{K: keys, V: values, N: n}
	}
	return w
}

// turn writes mel, which is [bin][frame], as [frame][bin] behind a row of zeros.
func (w *work) turn(mel *audio.Mel) {
	at := w.mel[mel.Bins:]
	for b := range mel.Bins {
		for t, v := range mel.Data[b*mel.Frames : (b+1)*mel.Frames] {
			at[t*mel.Bins+b] = v
		}
	}
}
