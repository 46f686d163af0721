// Package transcribe turns audio of any length into a transcript.
//
//	audio.Clip → windows → encoder, decoder, assistant → tokens
//	  → gates → segments → seek → next window … → transcript.Transcript
//
// A [Transcriber] reads a clip from the start, window by window. Each window is
// decoded with the text so far as its prompt, judged by gates, decoded again at
// a higher temperature if they refuse it, and cut into segments at its timestamps;
// the last of these says where the next window begins.
//
//	transcription.go        the loop over windows: begin to read here
//	model.go                a checkpoint and its assistant, loaded
//	transcriber.go          options held against the model; the ways to transcribe
//	language.go, prompt.go  what a window is decoded with
//	window.go               the model's side: a window is encoded and decoded, its words are timed
//	attempt.go              decoding at rising temperatures, until the gates let it pass; a hash of every choice
//	cut.go                  tokens → segments, and where to go on
//	words.go, align.go      times of words
//	lanes.go, seam.go       lanes of a clip side by side (Options.Chunked), their texts joined
//	vad.go                  speech alone
//	draft.go                a text of the clip to draft from
//	progress.go             how far it is
//
// # Conventions
//
// A place in the clip is a frame of 10 ms ("seek"), a time is in seconds from the start
// of the clip. The checkpoint states the length of a window: 30 s in published models,
// 8 s in the digit model. Nothing here assumes either.
//
// No audio is skipped unnoticed. A window whose timestamps do not advance is kept as
// one segment and counted (transcript.Stats.Stuck). A window without speech is counted
// too. Fewer than 160 samples after the last full frame have no frame of their own;
// package audio says which frames cover them.
//
// # Upstream
//
// The semantics are those of openai/whisper at c0d2f62, whisper/transcribe.py,
// whose own loop wrote testdata/golden.
package transcribe
