// Package decoder chooses the tokens of a window, given its audio features.
//
//	encoder.Features → [Decoder.Cross] → [Cross] ─┐
//	prompt, rules, draft → [Session.Choose] ◀─────┘ → choices → package assistant
//
// A [Session] decodes one window once, with or without drafts. [Decoder.Search] decodes it in
// several sequences, and [Decoder.Align] finds where its words are.
//
// # One primitive
//
// [Decoder.Step] takes rows of (stream, position, token) and returns one row of logits
// for each. Everything else is made of it: a verify pass of one stream, plain decoding of
// many, and prompts. It reads every weight once however many rows there are. A row's
// logits have the same bits whatever other rows are in the call; that is why drafts
// cannot change the text.
//
// # Conventions
//
// A [Stream] is a cursor: the self-attention keys and values of the tokens run so far.
// [Stream.Cut] drops rejected tokens; it sets a length and copies nothing. Cross-attention
// keys and values ([Cross]) are computed once per window and shared by every stream over
// it. Log-probabilities are natural logarithms.
//
// # Upstream
//
// The network is TextDecoder of openai/whisper at c0d2f62, whisper/model.py,
// under the tensor names of transformers' WhisperDecoder. Rules and scores
// follow whisper/decoding.py of the same commit.
package decoder
