package decoder

import "verity/internal/layer"

// StepBytes returns how many bytes a step must read whatever its rows are: all
// matrices once, though of the token embedding only as the vocabulary head, the
// keys and values of a window of audio, and those of so many positions of text.
// Over the time of a step this is the bandwidth it reached.
func (d *Decoder) StepBytes(positions int) int64 {
	n := d.head.Bytes()
	for i := range d.blocks {
		b := &d.blocks[i]
		for _, l := range []layer.Linear{b.qkv, b.out, b.query, b.crossOut, b.up, b.down} {
			n += l.W.Bytes()
		}
	}
	m := d.dims
	perPosition := 2 * m.TextLayers * m.TextWidth * d.cacheType().Size()
	return n + int64(perPosition)*int64(m.AudioFrames+positions)
}
