// Package safetensors reads and writes the safetensors file format, and knows
// nothing of what the tensors mean.
//
//	file → [Open] → weights.File → package model
//
// # Format
//
//	8 bytes  length n of the header, little-endian
//	n bytes  a JSON object, padded with spaces:
//	         {"__metadata__": {"format": "pt"},
//	          "a.weight": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}, …}
//	         the bytes of all tensors, row-major, little-endian
//
// Offsets count from the end of the header. The tensors must cover the rest of
// the file exactly, with no gap and no overlap, as in upstream's reader; a name
// or a field that stands twice is refused too, where upstream keeps the last.
// A header may be of 100 MB at most, upstream's limit, and never longer than
// the file, so a hostile file cannot make us allocate more than it holds.
//
// # Upstream
//
// huggingface/safetensors v0.8.0, safetensors/src/tensor.rs, the functions
// read_metadata and validate.
package safetensors
