// Package safetensors reads and writes the safetensors file format. It does not
// interpret the tensors.
//
//	bytes of a file → [Parse] → its tensors → package model
//
// # Format
//
//	8 bytes  length n of the header, little-endian
//	n bytes  a JSON object, padded with spaces:
//	         {"__metadata__": {"format": "pt"},
//	          "a.weight": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}, …}
//	         the bytes of all tensors, row-major, little-endian
//
// Offsets count from the end of the header. The tensors must cover the rest of the file
// exactly, with no gap and no overlap, as in upstream's reader. A name or field that
// occurs twice is refused too; upstream keeps the last. A header may have at most 16 MB
// (upstream allows 100), and a shape eight dimensions, which are counted as they are read.
//
// # Upstream
//
// huggingface/safetensors v0.8.0, safetensors/src/tensor.rs, the functions
// read_metadata and validate.
package safetensors
