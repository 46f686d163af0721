// Package ctranslate2 reads model.bin of CTranslate2, the format of faster-whisper. It
// does not interpret the variables.
//
//	file → [Parse] → [Model] → package model
//
// # Format
//
// Version 6, little-endian. A string is its length including the final zero (uint16),
// then its bytes and the zero.
//
//	version (uint32), name of the specification (string), its revision (uint32)
//	number of variables (uint32), then for each:
//	    name (string), number of dimensions (uint8), the dimensions (uint32),
//	    type (uint8: f32, int8, int16, int32, f16, bf16), bytes (uint32), the data
//	number of aliases (uint32), then for each: alias, name of a variable (strings)
//
// A variable X of type int8 has a scale for each row in X_scale, of type f32. A weight
// is q/scale.
//
// # Upstream
//
// OpenNMT/CTranslate2 v4.8.5: python/ctranslate2/specs/model_spec.py, the methods
// _serialize and _quantize. int16 and int4 (AWQ) weights are not read.
package ctranslate2
