// Package layer has the building blocks of encoder and decoder, and reads them from a
// checkpoint.
//
//	[Checkpoint] → [Loader] → [Linear], [Norm] → encoder, decoder
//
// # Conventions
//
// Activations are row-major float32, one row a position. Matrices are stored in the format
// given to the loader; vectors (biases, gains) are always float32. With few-bit weights,
// convolutions keep the format of the file.
// Names are those of Hugging Face checkpoints without the leading "model.".
package layer
