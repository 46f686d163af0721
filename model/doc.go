// Package model opens Whisper checkpoints: a directory becomes sizes, settings
// and named weights, or an error that says what is wrong with it.
//
//	directory → [Open] → [Checkpoint] → encoder.New, decoder.New, tokenizer.Load
//
// # What is read
//
// A checkpoint is a directory in Hugging Face layout: config.json, and if they
// are there generation_config.json and preprocessor_config.json (or
// processor_config.json, as transformers 5 saves it); the weights in
// model.safetensors, or in the files that model.safetensors.index.json lists.
// Every size comes from config.json, never from the name of the directory.
// Weights are f32, f16 or bf16. They stay in a read-only memory map until they are read.
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
// huggingface/transformers v5.23.0, models/whisper/configuration_whisper.py and
// modeling_whisper.py; openai/whisper at c0d2f62, whisper/model.py. Files are not
// trusted: sizes are bounded, file names may not leave the directory, and shapes are
// checked before memory is allocated.
package model
