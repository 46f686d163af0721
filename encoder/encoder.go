package encoder

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/model"
	"verity/parallel"
	"verity/precision"
)

// Options configures an Encoder. The zero value runs on one thread with weights as exact as those
// of the file.
type Options struct {
	// Pool runs the products. Nil means the caller's goroutine alone.
	Pool *parallel.Pool

	// Precision is the format of weights, activations and caches. The zero value is as
	// exact as the file.
	Precision precision.Precision
}

// An Encoder is the audio half of the network.
type Encoder struct {
	dims         model.Dims
	pool         *parallel.Pool
	precision    precision.Precision
	conv1, conv2 layer.Linear
	positions    []float32 // [AudioPositions][AudioWidth]
	blocks       []block
	norm         layer.Norm
	buffers      sync.Pool // of *buffers
}

// A block is one residual layer: x += attention(norm(x)); x += mlp(norm(x)).
type block struct {
	norm1, norm2 layer.Norm
	qkv          layer.Linear // queries, keys and values, one below the other
	out          layer.Linear
	up, down     layer.Linear
}

// Features are the output of the encoder for one window.
type Features struct {
	Positions, Width int
	Data             []float32 // [Positions][Width]
}

// New reads the encoder of c.
func New(c *model.Checkpoint, o Options) (*Encoder, error) {
	p, err := layer.Resolve(c, o.Precision, o.Pool)
	if err != nil {
		return nil, err
	}
	d, l := c.Dims, layer.NewLoader(c, p, o.Pool)
	e := &Encoder{dims: d, pool: o.Pool, precision: p}
	e.conv1 = l.Conv("encoder.conv1", d.AudioWidth, d.MelBins, 3)
	e.conv2 = l.Conv("encoder.conv2", d.AudioWidth, d.AudioWidth, 3)
	e.positions = l.Floats("encoder.embed_positions.weight", d.AudioPositions, d.AudioWidth)
	e.blocks = make([]block, d.AudioLayers)
	for i := range e.blocks {
		e.blocks[i] = loadBlock(l, fmt.Sprintf("encoder.layers.%d.", i), d)
	}
	e.norm = l.Norm("encoder.layer_norm", d.AudioWidth)
	if err := l.Read(); err != nil {
		return nil, err
	}
	e.buffers.New = func() any { return newBuffers(d, p) }
	return e, nil
}

// Dims returns the sizes of the network.
func (e *Encoder) Dims() model.Dims { return e.dims }

// Precision returns the formats of weights, activations and caches, none of them automatic.
func (e *Encoder) Precision() precision.Precision { return e.precision }

func loadBlock(l *layer.Loader, at string, d model.Dims) block {
	w := d.AudioWidth
	return block{
		norm1: l.Norm(at+"self_attn_layer_norm", w),
		qkv:   l.Linear(w, w, at+"self_attn.q_proj", at+"self_attn.k_proj", at+"self_attn.v_proj"),
		out:   l.Linear(w, w, at+"self_attn.out_proj"),
		norm2: l.Norm(at+"final_layer_norm", w),
		up:    l.Linear(d.AudioFFN, w, at+"fc1"),
		down:  l.Linear(w, d.AudioFFN, at+"fc2"),
	}
}

// Encode computes the features of one window.
//
//	mel  [MelBins][2n], n at most AudioPositions; not modified
//	out  [n][AudioWidth]
//
// With n below AudioPositions the context is shorter: it takes less time, and the
// features differ from those of the same sound with silence after it.
//
// yield, if not nil, is called after every layer, so that other work can use the threads.
//
// It returns an error if mel has another shape, if ctx ends (it is checked between
// layers), or if a feature is not a number.
func (e *Encoder) Encode(ctx context.Context, mel *audio.Mel, yield func()) (*Features, error) {
	d := e.dims
	if mel.Bins != d.MelBins || mel.Frames < 2 || mel.Frames > 2*d.AudioPositions || mel.Frames%2 != 0 {
		return nil, fmt.Errorf("encoder: log-mel: got %d bins × %d frames, want %d × an even number of at most %d",
			mel.Bins, mel.Frames, d.MelBins, 2*d.AudioPositions)
	}
	w := e.buffers.Get().(*buffers)
	defer e.buffers.Put(w)

	f := &Features{Positions: mel.Frames / 2, Width: d.AudioWidth}
	w.resize(f.Positions)
	f.Data = kernel.NewFloats(f.Positions * f.Width)
	e.stem(w, f.Data, mel)
	for i := range e.blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e.blocks[i].apply(e, w, f.Data)
		if yield != nil {
			yield()
		}
	}
	e.norm.Apply(e.pool, f.Data, f.Data, f.Positions)
	if i := notNumber(f.Data); i >= 0 {
		return nil, fmt.Errorf("encoder: feature %d of position %d is not a number: %s",
			i%f.Width, i/f.Width, e.locateNaN(w, f.Data, mel))
	}
	return f, nil
}

// stem runs both convolutions and adds the positions.
func (e *Encoder) stem(w *buffers, x []float32, mel *audio.Mel) {
	n, width := mel.Frames/2, e.dims.AudioWidth
	w.transpose(mel)
	// Both buffers have a row of zeros before and after: the padding.
	e.conv1.Apply(e.pool, w.conv[width:], w.mel, mel.Frames, mel.Bins, kernel.StoreGELU)
	clear(w.conv[(2*n+1)*width:][:width])
	e.conv2.Apply(e.pool, x, w.conv, n, 2*width, kernel.StoreGELU)
	e.pool.For(n, 64, func(lo, hi int) { kernel.Add(x[lo*width:hi*width], e.positions[lo*width:hi*width]) })
}

func (b *block) apply(e *Encoder, w *buffers, x []float32) {
	d, n, width := e.dims, len(w.spans), e.dims.AudioWidth
	size := width / d.AudioHeads

	b.norm1.ApplyTo(b.qkv, e.pool, &w.normed, x, n)
	b.qkv.ApplyKVNormed(e.pool, w.q, w.places, &w.normed)
	scale := float32(1 / math.Sqrt(float64(size)))
	kernel.Attend(e.pool, w.y, w.q, width, d.AudioHeads, size, scale, w.spans, &w.attend)
	b.out.Apply(e.pool, x, w.y, n, width, kernel.StoreAdd)

	b.norm2.ApplyTo(b.up, e.pool, &w.normed, x, n)
	b.up.ApplyNormed(e.pool, w.hidden, &w.normed, kernel.StoreGELU)
	b.down.Apply(e.pool, x, w.hidden, n, d.AudioFFN, kernel.StoreAdd)
}

// locateNaN encodes a window again into x and reports where NaN or Inf first appear.
func (e *Encoder) locateNaN(w *buffers, x []float32, mel *audio.Mel) string {
	if i := notFinite(mel.Data); i >= 0 {
		return fmt.Sprintf("bin %d of frame %d of the log-mel is NaN or Inf: the audio is corrupt",
			i/mel.Frames, i%mel.Frames)
	}
	if e.stem(w, x, mel); notFinite(x) >= 0 {
		return "the convolutions produced NaN or Inf: their weights are corrupt"
	}
	for layer := range e.blocks {
		if e.blocks[layer].apply(e, w, x); notFinite(x) >= 0 {
			return fmt.Sprintf("layer %d of %d produced NaN or Inf: its weights are corrupt", layer, len(e.blocks))
		}
	}
	return "the last norm produced NaN or Inf: its weights are corrupt"
}

// notFinite returns the index of the first NaN or infinity in x, or -1.
func notFinite(x []float32) int { return slices.IndexFunc(x, func(v float32) bool { return v-v != 0 }) }

// notNumber returns the index of the first NaN in x, or -1.
func notNumber(x []float32) int { return slices.IndexFunc(x, func(v float32) bool { return v != v }) }
