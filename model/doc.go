// Package model opens Whisper checkpoints: a directory or a file becomes sizes, settings
// and named weights, or an error that says what is wrong with it.
//
//	directory or file → [Open] → [Checkpoint] → encoder.New, decoder.New, tokenizer.Load
//
// # What is read
//
// A checkpoint is one of these:
//
//   - a directory in Hugging Face layout: config.json, and if they are there
//     generation_config.json and preprocessor_config.json (or processor_config.json,
//     as transformers 5 saves it); the weights in model.safetensors, or in the files
//     that model.safetensors.index.json lists. Package quantize writes such a directory too;
//   - a directory of CTranslate2, as faster-whisper has it, with model.bin;
//   - a .pt file of openai/whisper;
//   - a ggml file of whisper.cpp.
//
// Every size comes from the files, never from their names. Weights are f32, f16 or bf16,
// or integers that share scales: those of CTranslate2 and ggml, and the few-bit formats
// of package quantize. They stay in a read-only memory map until they are read.
//
// # Names
//
// Tensors go by Hugging Face's names without the leading "model.", such as
// "encoder.layers.0.self_attn.q_proj.weight". Files may have that prefix or not,
// or the names of openai/whisper ("encoder.blocks.0.attn.query.weight").
// [Dims] carries our names for the sizes and both upstreams' in its comments.
//
// # Upstream
//
// huggingface/transformers v5.23.0, model/base/configuration_whisper.py and
// modeling_whisper.py; openai/whisper at c0d2f62, whisper/model.py. Files are not
// trusted: sizes are bounded, file names may not leave the directory, and shapes are
// checked before memory is allocated.
package model
