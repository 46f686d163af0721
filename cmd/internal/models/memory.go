package models

import (
	"verity/internal/layer"
	"verity/model"
	"verity/precision"
)

// programBytes is the memory of everything but the network: the program, the tokenizer, sound and log-mel.
const programBytes = 60 << 20

// memoryFor estimates the memory of a process that transcribes one file at a time with c in a precision.
func memoryFor(c *model.Checkpoint, p precision.Precision) int64 {
	weights := c.Params() * int64(p.Weights.Bits()) / 8
	if p.Weights.Integer() && p.Weights.Like(layer.Stored(c)) { // the file has them
		weights = c.Bytes()
	}
	return programBytes + weights + ActivationBytes(c.Dims, p)
}

// ActivationBytes is the memory of one file besides the weights: the decoder's keys and values, the
// encoder's activations, and the keys and values of the audio before they are rounded.
func ActivationBytes(d model.Dims, p precision.Precision) int64 {
	n, w, ffn := int64(d.AudioPositions), int64(d.AudioWidth), int64(d.AudioFFN)
	cache := int64(p.Complete().Cache.Bits()) / 8
	return 2*int64(d.TextLayers*d.TextWidth)*(n+int64(d.TextPositions))*cache +
		4*n*(2*w+w+3*w+ffn+2*w+w) + // convolution, norm, q k v, hidden, keys and values, features
		4*n*2*int64(d.TextWidth)
}
