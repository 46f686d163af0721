package decoder

import (
	"context"
	"fmt"

	"verity/encoder"
	"verity/internal/kernel"
	"verity/tokenizer"
)

// A cache is the keys and values of one layer.
type cache struct {
	keys   *kernel.Keys
	values *kernel.Values
}

// newCaches returns keys and values of every layer, all zeros.
func (d *Decoder) newCaches(positions int) []cache {
	m, format := d.dims, d.precision.Cache
	size, all := m.TextWidth/m.TextHeads, make([]cache, m.TextLayers)
	for i := range all {
		all[i] = cache{kernel.NewKeys(m.TextHeads, size, positions, format),
			kernel.NewValues(m.TextHeads, size, positions, format)}
	}
	return all
}

// A Cross is the cross-attention keys and values of every layer for one window. It is
// read-only once made, and serves every decoder of the same weights (see Decoder.WithPool).
type Cross struct {
	d         *Decoder
	layers    []cache // nil once closed
	positions int     // of the window
}

// Cross computes the cross-attention keys and values of f for every layer. Close returns
// its memory for the next window. yield is as for [encoder.Encoder.Encode].
func (d *Decoder) Cross(ctx context.Context, f *encoder.Features, yield func()) (*Cross, error) {
	m := d.dims
	if f.Positions < 1 || f.Positions > m.AudioPositions || f.Width != m.AudioWidth {
		return nil, fmt.Errorf("decoder: audio features: got %d positions × %d, want at most %d × %d; "+
			"they are from another model", f.Positions, f.Width, m.AudioPositions, m.AudioWidth)
	}
	layers := d.crosses.Get(func() []cache { return d.newCaches(m.AudioPositions) })
	c := &Cross{d: d, layers: layers, positions: f.Positions}
	places, rounded := make([]kernel.Slot, f.Positions), new(kernel.RoundedRows)
	for i := range d.blocks {
		if err := ctx.Err(); err != nil {
			c.Close()
			return nil, err
		}
		for p := range places {
			places[p] = kernel.Slot{K: c.layers[i].keys, V: c.layers[i].values, Pos: p}
		}
		d.blocks[i].crossKV.ApplyKV(d.pool, nil, places, f.Data, f.Width, rounded)
		if yield != nil {
			yield()
		}
	}
	return c, nil
}

// Close returns the memory of c to its decoder. c and every stream over it must not be
// used after. A second call does nothing.
func (c *Cross) Close() {
	if c.layers != nil {
		c.d.crosses.Put(c.layers, c.d.maxFree(c.d.dims.AudioPositions))
	}
	c.layers = nil
}

// A Stream is one sequence of tokens over one window: a cursor into a static
// cache of self-attention keys and values, with room for every text position.
// It serves one goroutine at a time.
type Stream struct {
	d      *Decoder
	cross  *Cross
	layers []cache // nil once closed
	length int     // tokens that have been through the network

	traffic Traffic // its share of the passes that included its rows
}

// NewStream returns an empty stream over c, of d or of another decoder of its weights.
func (d *Decoder) NewStream(c *Cross) *Stream {
	layers := d.streams.Get(func() []cache { return d.newCaches(d.dims.TextPositions) })
	return &Stream{d: d, cross: c, layers: layers}
}

// Len returns the number of tokens that have been through the network.
func (s *Stream) Len() int { return s.length }

// Cut drops all but the first n tokens. A shorter stream stays as it is.
func (s *Stream) Cut(n int) { s.length = min(s.length, n) }

// fork returns a new stream that holds the same tokens.
func (s *Stream) fork() *Stream {
	f := s.d.NewStream(s.cross)
	for i := range s.layers {
		f.layers[i].keys.CopyPrefix(s.layers[i].keys, s.length)
		f.layers[i].values.CopyPrefix(s.layers[i].values, s.length)
	}
	f.length = s.length
	return f
}

// Close returns the memory of s to its decoder; s must not be used after. A second call
// does nothing.
func (s *Stream) Close() {
	if s.layers != nil {
		s.d.streams.Put(s.layers, s.d.maxFree(s.d.dims.TextPositions))
	}
	s.layers = nil
}

// maxFree returns how many caches of n positions stay allocated while none is in use: those
// that fit in 256 MB, at least one.
func (d *Decoder) maxFree(positions int) int {
	return max(1, int(256<<20/d.cacheBytes(positions)))
}

// A Row is one token at one position of a stream. The rows of a stream in one step must
// follow each other and start at the stream's length.
type Row struct {
	Stream     *Stream
	Position   int
	Token      tokenizer.Token
	WantLogits bool // compute its logits; inside a prompt nobody needs them
}
