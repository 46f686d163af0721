package decoder

import (
	"context"
	"fmt"
	"sync"

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
// read-only once made, and serves every decoder of the same weights (see Decoder.On).
type Cross struct {
	d         *Decoder
	layers    []cache // nil once closed
	positions int     // of the window
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
	c := &Cross{d: d, layers: d.crosses.get(d.newCross), positions: f.Positions}
	places, keep := make([]kernel.Slot, f.Positions), new(kernel.RoundedRows)
	for i := range d.blocks {
		if err := ctx.Err(); err != nil {
			c.Close()
			return nil, err
		}
		for p := range places {
			places[p] = kernel.Slot{K: c.layers[i].keys, V: c.layers[i].values, Pos: p}
		}
		d.blocks[i].crossKV.ApplyKV(d.pool, nil, places, f.Data, f.Width, keep)
		between()
	}
	return c, nil
}

func (d *Decoder) newCross() []cache { return d.newCaches(d.dims.AudioPositions) }

// Close returns the memory of c to its decoder. c and every stream over it must not be
// used after. A second call does nothing.
func (c *Cross) Close() {
	if c.layers != nil {
		c.d.crosses.put(c.layers, c.d.few(c.d.dims.AudioPositions))
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

	traffic Traffic // of its rows
}

// NewStream returns an empty stream over c, of d or of another decoder of its weights.
func (d *Decoder) NewStream(c *Cross) *Stream {
	layers := d.streams.get(func() []cache { return d.newCaches(d.dims.TextPositions) })
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
		s.d.streams.put(s.layers, s.d.few(s.d.dims.TextPositions))
	}
	s.layers = nil
}

// few is how many caches of so many positions are kept while none is in use: as many as
// 256 MB hold, but one at least.
func (d *Decoder) few(positions int) int {
	return max(1, int(256<<20/d.cacheBytes(positions)))
}

// A Row is one token at one position of a stream. The rows of a stream in one step must
// follow each other and start at the stream's length.
type Row struct {
	Stream   *Stream
	Position int
	Token    tokenizer.Token
	NoLogits bool // none are wanted, as inside a prompt
}

// spares keeps values that are expensive to allocate for the next user. Unlike a
// sync.Pool it is not emptied by the garbage collector: the caches of a large model are
// hundreds of megabytes. While some are in use, all that come back are kept, since as many
// will be needed again; when none is, a few.
type spares[T any] struct {
	mu   sync.Mutex
	list []T
	used int
}

// get returns a spare value, or a new one.
func (s *spares[T]) get(make func() T) T {
	s.mu.Lock()
	s.used++
	if n := len(s.list); n > 0 {
		defer s.mu.Unlock()
		v := s.list[n-1]
		s.list = s.list[:n-1]
		return v
	}
	s.mu.Unlock()
	return make()
}

// put takes a value back, and leaves at most few if that was the last in use.
func (s *spares[T]) put(v T, few int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, v)
	if s.used--; s.used <= 0 {
		few = min(few, len(s.list))
		clear(s.list[few:])
		s.used, s.list = 0, s.list[:few]
	}
}
