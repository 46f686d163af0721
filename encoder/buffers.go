package encoder

import (
	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/model"
	"verity/precision"
)

// buffers are those of one Encode call.
type buffers struct {
	mel    []float32        // [1+2n+1][bins], the first and last row zero
	conv   []float32        // [1+2n+1][width], likewise
	y      []float32        // [n][width], the output of attention
	normed layer.NormedRows // [n][width], in the memory of y
	q      []float32        // [n][width]
	hidden []float32        // [n][ffn]
	places []kernel.Slot    // of the window, one after the other in the same caches
	spans  []kernel.Span    // every position attends to all
	attend kernel.Scratch
}

func newBuffers(d model.Dims, p precision.Precision) *buffers {
	n, width, size := d.AudioPositions, d.AudioWidth, d.AudioWidth/d.AudioHeads
	w := &buffers{
		mel:    kernel.NewFloats((2*n + 2) * d.MelBins),
		conv:   kernel.NewFloats((2*n + 2) * width),
		y:      kernel.NewFloats(n * width),
		q:      kernel.NewFloats(n * width),
		hidden: kernel.NewFloats(n * d.AudioFFN),
		places: make([]kernel.Slot, n),
		spans:  make([]kernel.Span, n),
	}
	w.normed.Data = w.y
	cache := cacheFormat(p)
	keys, values := kernel.NewKeys(d.AudioHeads, size, n, cache), kernel.NewValues(d.AudioHeads, size, n, cache)
	for i := range w.spans {
		w.places[i] = kernel.Slot{K: keys, V: values, Pos: i}
		w.spans[i] = kernel.Span{K: keys, V: values, N: n}
	}
	return w
}

// resize prepares for a window of n positions, at most those of newBuffers.
func (w *buffers) resize(n int) {
	w.places, w.spans = w.places[:n], w.spans[:n]
	for i := range w.spans {
		w.spans[i].N = n
	}
}

// cacheFormat returns the format of keys and values in an encoder of precision p. Half
// precision would gain nothing: they stay in the processor's cache.
func cacheFormat(p precision.Precision) precision.Format {
	if p.Cache == precision.Int8 {
		return precision.Int8
	}
	return precision.F32
}

// transpose writes mel, which is [bin][frame], as [frame][bin] between two rows of zeros.
func (w *buffers) transpose(mel *audio.Mel) {
	at := w.mel[mel.Bins:]
	clear(at[mel.Frames*mel.Bins:][:mel.Bins]) // a longer window may have left data there
	for b := range mel.Bins {
		for t, v := range mel.Data[b*mel.Frames : (b+1)*mel.Frames] {
			at[t*mel.Bins+b] = v
		}
	}
}
