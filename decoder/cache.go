package decoder

import (
	"context"
	"fmt"

	"verity/encoder"
	"verity/internal/kernel"
	"verity/precision"
	"verity/tokenizer"
)

// A cache is the keys and values of one layer.
type cache struct {
	keys   *kernel.Keys
	values *kernel.Values
}

func newCaches(layers, heads, size, capacity int, t precision.Format) []cache {
	all := make([]cache, layers)
	for i := range all {
		all[i] = cache{kernel.NewKeys(heads, size, capacity, t), kernel.NewValues(heads, size, capacity, t)}
	}
	return all
}

// A Cross is the cross-attention keys and values of every layer for one window. It is
// read-only once made.
type Cross struct {
	d         *Decoder
	layers    []cache
	positions int // of the window
}

// Cross computes the cross-attention keys and values of f for every layer. Close returns
// its memory for the next window.
func (d *Decoder) Cross(ctx context.Context, f *encoder.Features) (*Cross, error) {
	return d.CrossInTurn(ctx, f, func() {})
}

// CrossInTurn is Cross with a call of between after every layer, so that others can use
// the threads.
func (d *Decoder) CrossInTurn(ctx context.Context, f *encoder.Features, between func()) (*Cross, error) {
	m := d.dims
	if f.Positions < 1 || f.Positions > m.AudioPositions || f.Width != m.AudioWidth {
		return nil, fmt.Errorf("decoder: audio features: got %d positions × %d, want at most %d × %d; "+
			"they are of another model",
			f.Positions, f.Width, m.AudioPositions, m.AudioWidth)
	}
	c, ok := d.crosses.get()
	if !ok {
		c = d.BlankCross()
	}
	c.positions = f.Positions
	places, keep := make([]kernel.Place, f.Positions), new(kernel.Rounded)
	for i := range d.blocks {
		if err := ctx.Err(); err != nil {
			c.Close()
			return nil, err
		}
		for p := range places {
			places[p] = kernel.Place{K: c.layers[i].keys, V: c.layers[i].values, Pos: p}
		}
		d.blocks[i].crossKV.ApplyKV(d.pool, nil, places, f.Data, f.Width, keep)
		between()
	}
	return c, nil
}

// BlankCross returns keys and values that are all zero, for tests that cannot afford the
// audio.
func (d *Decoder) BlankCross() *Cross {
	m := d.dims
	layers := newCaches(m.TextLayers, m.TextHeads, m.TextWidth/m.TextHeads, m.AudioPositions, d.precision.Cache)
	return &Cross{d: d, layers: layers, positions: m.AudioPositions}
}

// Close returns the memory of c to its decoder. c and every stream over it must
// not be used after.
func (c *Cross) Close() { c.d.crosses.put(c) }

// On returns c for use with another decoder of the same weights, as Decoder.On returns.
// Both share the memory, so only c is to be closed.
func (c *Cross) On(d *Decoder) *Cross { return &Cross{d: d, layers: c.layers, positions: c.positions} }

// A Stream is one sequence of tokens over one window: a cursor into a static
// cache of self-attention keys and values, with room for every text position.
// It serves one goroutine at a time.
type Stream struct {
	d      *Decoder
	cross  *Cross
	layers []cache
	length int     // tokens that have been through the network
	states *States // see SessionOptions; or nil

	traffic Traffic // of its rows
}

// NewStream returns an empty stream over c.
func (d *Decoder) NewStream(c *Cross) *Stream {
	s, ok := d.streams.get()
	if !ok {
		m := d.dims
		s = &Stream{d: d, layers: newCaches(m.TextLayers, m.TextHeads, m.TextWidth/m.TextHeads,
			m.TextPositions, d.precision.Cache)}
	}
	s.cross, s.length, s.states, s.traffic = c, 0, nil, Traffic{}
	return s
}

// Len returns the number of tokens that have been through the network.
func (s *Stream) Len() int { return s.length }

// Cut drops all but the first n tokens. A shorter stream stays as it is.
func (s *Stream) Cut(n int) { s.length = min(s.length, n) }

// Fork returns a new stream that holds the same tokens.
func (s *Stream) Fork() *Stream {
	f := s.d.NewStream(s.cross)
	for i := range s.layers {
		f.layers[i].keys.CopyPrefix(s.layers[i].keys, s.length)
		f.layers[i].values.CopyPrefix(s.layers[i].values, s.length)
	}
	f.length = s.length
	return f
}

// Close returns the memory of s to its decoder; s must not be used after.
func (s *Stream) Close() {
	s.cross = nil
	s.d.streams.put(s)
}

// A Row is one token at one position of a stream. The rows of a stream in one step must
// follow each other and start at the stream's length.
type Row struct {
	Stream   *Stream
	Position int
	Token    tokenizer.Token
	Silent   bool // no logits are wanted, as inside a prompt
}
