// Package layer holds the pieces that encoder and decoder are both built of,
// and reads them from a checkpoint.
//
//	[Checkpoint] → [Loader] → [Linear], [Norm] → encoder, decoder
//
// # Conventions
//
// Activations are row-major float32, one row a position. Matrices are held in the format
// the loader was given; vectors (biases, gains) are always float32. With few-bit weights,
// convolutions keep the format of the file.
// Names are those of Hugging Face checkpoints without the leading "model.".
package layer
