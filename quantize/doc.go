// Package quantize writes a checkpoint again in fewer bits.
//
//	[model.Checkpoint] → inputs of its products → [Write] → a directory that model.Open reads
//
// Matrices become groups of 32 small integers with a scale each (package
// internal/quant). Convolutions, norms, biases and positions stay as they are: all
// together they are a few per cent of the bytes.
//
// # Methods
//
// [Nearest] rounds each weight by itself. [GPTQ] rounds one column after the other
// and lets the columns that are still to come make up for the error, as far as the
// inputs of the product allow: it minimises ‖(W - Q)·X‖² over the inputs X that real
// sound gives. Columns go by the energy of their inputs (act-order), and the
// scales of the groups are fixed before, so that a group stays where it is. Where it
// comes out worse than rounding to nearest, the latter is kept.
//
// # Upstream
//
// Frantar et al. 2023, arXiv:2210.17323; IST-DASLab/gptq for act-order and damping.
package quantize
