// Package weights is what the formats of checkpoints have in common: a file of
// named tensors that stays on disk until its values are asked for.
//
//	path → [Open] → [File] → [Entry.Rows] → tensor.Tensor → kernels (packed there)
//
// A format is a [Parser]: from the bytes of a file it returns where each tensor
// lies and how its values are made of those bytes. It knows nothing of what the
// tensors mean. internal/safetensors, ctranslate2, ggml and torch are such parsers.
//
// # Memory
//
// A file is mapped read-only, so it takes memory only where it is looked at.
// [File.Ahead] asks the system for what comes next, [File.Drop] gives back what has
// been copied. Quantised values are computed for the rows that are asked for.
//
// # Faults
//
// A page of a mapped file that cannot be read, because the file was cut short, or
// its disk or network failed, is a fault of the processor. [Guard] turns it into an
// error that names the file. [File.Unchanged] compares size and time with those at
// opening, since a file that is written over would give a mixture of both.
package weights
