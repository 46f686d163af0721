// Package weights is the common part of checkpoint formats: a file of named tensors that
// stays on disk until its values are read.
//
//	path → [Open] → [File] → [Entry.Rows] → tensor.Tensor → kernels (packed there)
//
// A format is a [Parser]: from the bytes of a file it returns the place of each tensor
// and how its values are decoded. It does not know what the tensors mean.
// internal/formats/safetensors, ctranslate2, ggml and torch are such parsers.
//
// # Memory
//
// A file is mapped read-only, so only the parts in use take memory. [File.Fetch] brings
// the next part into memory, [File.Drop] releases what has been copied. Quantised values
// are decoded for the requested rows only.
//
// # Faults
//
// A page of a mapped file may be unreadable, because the file was truncated, or its disk
// or network failed. The processor reports that as a fault. [Guard] turns it into an
// error that names the file.
package weights
