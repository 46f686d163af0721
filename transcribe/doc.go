// Package transcribe turns audio of any length into a transcript: a checkpoint and a clip go
// in, text with times comes out.
//
//	model, err := transcribe.Load(ctx, checkpoint, transcribe.LoadOptions{})
//	…
//	t, err := transcribe.New(model, transcribe.Options{Language: "en"})
//	…
//	tr, err := t.Transcribe(ctx, clip, transcribe.Callbacks{})
//	fmt.Println(tr.Text)
//
// A [Model] is loaded once, with or without an assistant that drafts for it. A [Transcriber] is
// a model with options and is cheap. It reads a clip window by window. Each window is decoded
// with the text so far as its prompt. If gates for repetition, improbable text and silence
// reject the result, it is decoded again at a higher temperature. What passes is cut into
// segments at its timestamps, and the last of these says where the next window begins.
//
// Words get their times from the attention of the decoder while it is forced through the text, once by tokens and once letter
// by letter.
//
// # Conventions
//
// A position in the clip ("seek") is a frame of 10 ms; times are in seconds from its start. The
// checkpoint states the length of a window: 30 s in published models, 8 s in the digit model.
//
// No audio is skipped unnoticed. A window whose timestamps do not advance becomes one segment
// and is counted (transcript.Stats.Stuck). A window without speech is counted too. If fewer than
// 160 samples, one frame, follow the last full frame, they get no frame of their own; package audio
// says which frames cover them.
//
// Text never holds special tokens; the tokens of a segment do.
//
// # Source
//
// With [Upstream] the semantics are those of openai/whisper@c0d2f62, whisper/transcribe.py, whose own loop wrote
// testdata/golden. docs/ACCURACY.md lists what differs by default, and the function that does it.
package transcribe
