package decoder

import (
	"time"

	"verity/internal/layer"
	"verity/precision"
)

// Traffic is the number of bytes that steps had to read, and how long they took. Bytes
// over Busy is the bandwidth they reached.
type Traffic struct {
	Bytes int64
	Busy  time.Duration
}

// Add adds o.
func (t *Traffic) Add(o Traffic) {
	t.Bytes += o.Bytes
	t.Busy += o.Busy
}

// StepBytes returns the number of bytes that a step must read whatever its rows are: all matrices
// once, the token embedding only as the vocabulary head, and the keys and values of a window of
// audio and of the given positions of text. Divided by the time of a step it is the bandwidth
// reached.
func (d *Decoder) StepBytes(positions int) int64 {
	return d.weightBytes() + d.head.Bytes() + d.cacheBytes(d.dims.AudioPositions+positions)
}

// weightBytes returns the size of the layers' matrices.
func (d *Decoder) weightBytes() (n int64) {
	for i := range d.blocks {
		b := &d.blocks[i]
		for _, l := range [...]layer.Linear{b.qkv, b.out, b.query, b.crossOut, b.up, b.down} {
			n += l.W.Bytes()
		}
	}
	return n
}

// cacheBytes returns the size of the keys and values of n positions, of audio and text
// together. In int8 each head of a key and of a value has a scale.
func (d *Decoder) cacheBytes(positions int) int64 {
	m, scales := d.dims, 0
	if d.precision.Cache == precision.Int8 {
		scales = 4 * m.TextHeads
	}
	perPosition := 2 * m.TextLayers * (m.TextWidth*d.precision.Cache.Bits()/8 + scales)
	return int64(perPosition) * int64(positions)
}

// addTraffic adds a step to the traffic of its streams: each gets its own keys and values,
// and an equal share of the weights and of the time, so that the sums over streams are
// those of the steps.
func (d *Decoder) addTraffic(rows []Row, wanted int, took time.Duration) {
	streams := 0
	for i := 0; i < len(rows); i += runLength(rows[i:]) {
		streams++
	}
	weights := d.weightBytes()
	if wanted > 0 {
		weights += d.head.Bytes()
	}
	for i := 0; i < len(rows); {
		n := runLength(rows[i:])
		audio := rows[i].Stream.cross.positions
		rows[i].Stream.traffic.Add(Traffic{
			Bytes: weights/int64(streams) + d.cacheBytes(audio+rows[i+n-1].Position+1),
			Busy:  took / time.Duration(streams),
		})
		i += n
	}
}
