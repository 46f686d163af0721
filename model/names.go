package model

import "strings"

// canonical turns a name in a file into ours. It removes the prefix of Hugging Face's
// WhisperForConditionalGeneration and replaces openai/whisper's words by Hugging Face's.
func canonical(name string) string {
	name = strings.TrimPrefix(name, "model.")
	return openaiNames.Replace(name)
}

// openaiNames replaces parts of names, earlier pairs first. No name of Hugging
// Face's contains an old part. Source: transformers v4.57.0,
// models/whisper/convert_openai_to_hf.py, WHISPER_MAPPING.
var openaiNames = strings.NewReplacer(
	".blocks.", ".layers.",
	".attn.query.", ".self_attn.q_proj.",
	".attn.key.", ".self_attn.k_proj.",
	".attn.value.", ".self_attn.v_proj.",
	".attn.out.", ".self_attn.out_proj.",
	".attn_ln.", ".self_attn_layer_norm.",
	".cross_attn.query.", ".encoder_attn.q_proj.",
	".cross_attn.key.", ".encoder_attn.k_proj.",
	".cross_attn.value.", ".encoder_attn.v_proj.",
	".cross_attn.out.", ".encoder_attn.out_proj.",
	".cross_attn_ln.", ".encoder_attn_layer_norm.",
	".mlp.0.", ".fc1.",
	".mlp.2.", ".fc2.",
	".mlp_ln.", ".final_layer_norm.",
	"encoder.ln_post.", "encoder.layer_norm.",
	"decoder.ln.", "decoder.layer_norm.",
	"decoder.token_embedding.", "decoder.embed_tokens.",
	"coder.positional_embedding", "coder.embed_positions.weight",
)
