// Package ggml reads the files of whisper.cpp, ggml-….bin. It does not interpret the
// tensors.
//
//	file → [Parse] → [Model] → package model
//
// # Format
//
// All numbers are little-endian int32 unless stated otherwise.
//
//	magic 0x67676d6c
//	n_vocab, n_audio_ctx, n_audio_state, n_audio_head, n_audio_layer,
//	n_text_ctx, n_text_state, n_text_head, n_text_layer, n_mels, ftype
//	bins, frequencies, then bins·frequencies float32: the mel filters
//	number of text tokens, then for each its length and its bytes, by rank
//	until the end, for each tensor:
//	    number of dimensions, length of the name, type
//	    the dimensions, the last first; the name; the data
//
// The format is older than GGUF, that of llama.cpp, and has neither keys nor alignment.
// Types are f32, f16, and blocks of 32 weights along a row: q4_0, q4_1, q5_0, q5_1 and
// q8_0. A block has a scale d, and in the _1 types a minimum m, both binary16. A weight
// is q·d, or q·d + m, with each operation rounded to float32.
//
// # Upstream
//
// ggml-org/whisper.cpp at 233fe1f: models/convert-pt-to-ggml.py writes the format,
// whisper_model_load in src/whisper.cpp reads it, and dequantize_row_… in
// ggml/src/ggml-quants.c define the values. K-quants (q2_k …) are not supported: no
// published Whisper model uses them.
package ggml
