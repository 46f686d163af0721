package encoder

import (
	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/model"
)

// A work is the buffers of one Encode call.
type work struct {
	mel    []float32 // [1+2n+1][bins], the first and last row zero
	conv   []float32 // [1+2n+1][width], likewise
	y      []float32 // [n][width]
	qkv    []float32 // [n][3·width]
	hidden []float32 // [n][ffn]
	keys   *kernel.Keys
	values *kernel.Values
	spans  []kernel.Span // every position sees all of them
	attend kernel.Scratch
}

func newWork(d model.Dims) *work {
	n, width, size := d.AudioFrames, d.AudioWidth, d.AudioWidth/d.AudioHeads
	w := &work{
		mel:    make([]float32, (2*n+2)*d.MelBins),
		conv:   make([]float32, (2*n+2)*width),
		y:      make([]float32, n*width),
		qkv:    make([]float32, n*3*width),
		hidden: make([]float32, n*d.AudioFFN),
		keys:   kernel.NewKeys(d.AudioHeads, size, n, tensor.F32),
		values: kernel.NewValues(d.AudioHeads, size, n, tensor.F32),
		spans:  make([]kernel.Span, n),
	}
	for i := range w.spans {
		w.spans[i] = kernel.Span{K: w.keys, V: w.values, N: n}
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
