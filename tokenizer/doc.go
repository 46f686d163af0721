// Package tokenizer turns text into the tokens of a Whisper checkpoint, and tokens into text.
//
//	t, err := tokenizer.Load(os.DirFS("whisper-base"), "whisper-base", 51865)
//	…
//	tokens := t.Encode(" Hello.")
//	text := t.Decode(tokens)
//
// [Load] reads the vocabulary of a checkpoint: tokenizer.json, or vocab.json with merges.txt and
// added_tokens.json, or the list inside a ggml file. Without any of them it takes the one of
// openai's two tables that fits the model; both are embedded ([Embedded], tables/SOURCE.md).
// Sizes are bounded, and an [Error] names what is wrong with a file.
//
// # Conventions
//
// A [Token] is an id in the model's vocabulary. Text tokens stand for bytes: one character may
// take several tokens, which a [Stream] puts together. Special tokens, spelled <|like this|>, and
// timestamps, 0.02 s apart, have ids above the text; decoding leaves them out. Text is UTF-8.
// Each maximal ill-formed part of decoded bytes becomes one U+FFFD, as in Python. Bytes of a Go
// string that are not UTF-8 are encoded unchanged.
//
// # Source
//
// Ids, languages, non-speech tokens and the splitting into words follow whisper/tokenizer.py of
// openai/whisper@c0d2f62; encoding and decoding follow tiktoken 0.14.0. Its classes \p{L}, \p{N}
// and \s are those of Unicode 16.0: Go's tables of 15.0 and what these lack.
package tokenizer
