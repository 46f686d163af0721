// Package tokenizer turns text into the tokens of a Whisper checkpoint and back.
//
// It is not a stage of the pipeline: decoder and transcribe use it for special ids,
// prompts and the text of what was decoded.
//
//	checkpoint files or embedded ranks → [Load] → [Tokenizer]
//	text → [Tokenizer.Encode] → tokens → [Tokenizer.Decode], [Stream] → text
//
// # Conventions
//
// A [Token] is an id in the model's vocabulary. Text tokens stand for bytes, not
// characters: one character may be spread over several tokens. Special tokens
// (spelled <|like this|>) and timestamps, 0.02 s apart, have ids above the text.
// Text is UTF-8. Where decoded bytes are not, each maximal ill-formed part
// becomes one U+FFFD, as in Python. Bytes of a Go string that are not UTF-8 are
// encoded as they are, so that the bytes of the tokens are always the text's.
//
// # Where a vocabulary comes from
//
// tokenizer.json, or vocab.json with merges.txt and added_tokens.json, of a Hugging Face
// checkpoint; the list inside a ggml file; else one of openai's two rank tables, which are
// embedded (tables/SOURCE.md), as faster-whisper takes openai's too. Files have a list of merges, tables have ranks; both are followed
// exactly. No file is trusted: sizes are bounded, and anything out of place is an [Error]
// that names it.
//
// # Upstream
//
// Ids, languages, non-speech tokens and the splitting into words follow
// whisper/tokenizer.py of openai/whisper at c0d2f62, encoding and decoding
// follow tiktoken 0.14.0. Its classes \p{L}, \p{N} and \s are those of Unicode
// 16.0: Go's tables of 15.0 and the 4,924 letters and 80 numbers that they lack
// (split.go).
package tokenizer
