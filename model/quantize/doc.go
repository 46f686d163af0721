// Package quantize writes a checkpoint with few-bit weights.
//
//	[model.Checkpoint] → inputs of its products → [Write] → a directory that model.Open reads
//
// Matrices become groups of 32 small integers with a scale each, or rows of int8 with a scale each
// (package internal/quant). The encoder and the token embedding may have a format of their own.
// Convolutions, norms, biases and positions stay as they are: together they are a few per
// cent of the bytes.
//
// # Methods
//
// [Nearest] rounds each weight alone; int8 always is rounded so. [GPTQ] rounds one column after another, and
// changes the remaining columns to compensate for the error, as far as the inputs of the
// product allow: it minimises ‖(W - Q)·X‖² over the inputs X of real sound. Columns are
// ordered by the energy of their inputs (act-order). The scales of the groups are fixed
// first, so that groups keep their columns. If the result is worse than rounding to
// nearest, that is used instead.
//
// # Upstream
//
// Frantar et al. 2023, arXiv:2210.17323; IST-DASLab/gptq for act-order and damping.
package quantize
