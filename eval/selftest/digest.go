package selftest

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"

	"verity/encoder"
	"verity/model"
)

// A Digest is a hash over numbers that two instruction sets must agree on.
type Digest struct {
	Hash   uint64
	Values int64 // float32 hashed
}

// A Part is how much of a model a digest covers: the features of a window, and the logits
// of a text in it.
type Part string

const (
	// Full is all that a transcription computes, except the mel.
	Full Part = "full"

	// short is Full after the first few layers of the encoder: all layers are alike, and a
	// second pass of a large encoder takes too long.
	short Part = "short"

	// light is what plain Go can compute of a large model in seconds: one layer of the
	// encoder over half a second, and the whole decoder for two tokens.
	light Part = "light"
)

// An extent is how much is computed.
type extent struct {
	layers    int // of the encoder
	positions int // of the window
	tokens    int
}

var extents = map[Part]extent{Full: unlimited, short: {3, math.MaxInt, math.MaxInt}, light: {1, 24, 2}}

// unlimited is more than any model has.
var unlimited = extent{math.MaxInt, math.MaxInt, math.MaxInt}

// Limits of weights: above lightFrom plain Go is too slow for Full; above shortFrom no instruction
// set makes all checks within a minute.
const lightFrom, shortFrom = 20_000_000, 500_000_000

// PartOn returns the part of a model that an instruction set can run.
func PartOn(implementation string, c *model.Checkpoint) Part {
	switch n := c.Params(); {
	case implementation == "ref" && n > lightFrom:
		return light
	case n > shortFrom:
		return short
	}
	return Full
}

// Digest hashes a part. It loads as much of the encoder as that needs.
func (s Subject) Digest(ctx context.Context, part Part) (Digest, error) {
	x, ok := extents[part]
	if !ok {
		return Digest{}, fmt.Errorf("digest: got %q, want %s, %s or %s", part, Full, short, light)
	}
	c := *s.Checkpoint
	c.Dims.AudioLayers = min(x.layers, c.Dims.AudioLayers)
	var err error
	if s.Encoder, err = encoder.New(&c, encoder.Options{Pool: s.Pool, Precision: s.Decoder.Precision()}); err != nil {
		return Digest{}, err
	}
	b, err := prepare(ctx, s, x)
	if err != nil {
		return Digest{}, err
	}
	defer b.cross.Close()
	return b.digest(), nil
}

func (t *trial) digest() (d Digest) {
	h := fnv.New64a()
	for _, x := range append([][]float32{t.features.Data}, t.alone...) {
		buf := make([]byte, 0, 4*len(x))
		for _, v := range x {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		h.Write(buf)
		d.Values += int64(len(x))
	}
	d.Hash = h.Sum64()
	return d
}
