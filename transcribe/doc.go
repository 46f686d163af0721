// Package transcribe turns audio of any length into a transcript.
//
//	audio.Clip → windows → encoder, decoder, assistant → tokens
//	  → gates → segments → seek → next window … → transcript.Transcript
//
// A [Transcriber] reads a clip from the start, window by window. Each window is
// decoded with the text so far as its prompt, judged by gates, decoded again at
// a higher temperature if they refuse it, and cut into segments at its timestamps;
// the last of these says where the next window begins. The steps are small and
// pure: transcription.go has the loop, and every other file one of its parts. With
// Options.Chunked the windows overlap and are decoded side by side instead (chunked.go).
//
// # Conventions
//
// A place in the clip is a frame of 10 ms ("seek"), a time is in seconds from
// the start of the clip. How long a window is, the checkpoint says: 30 s in
// published models, 8 s in the demo's; nothing here assumes either.
//
// No audio is passed over in silence. A window whose timestamps lead nowhere is
// moved past as a whole, and counted (transcript.Stats.Stuck); one that holds no
// speech is counted too. Fewer than 160 samples after the last full frame have
// no frame of their own; package audio says who hears them.
//
// # Upstream
//
// The semantics are those of openai/whisper at c0d2f62, whisper/transcribe.py,
// whose own loop wrote testdata/golden. Merging of overlapping windows follows
// transformers 5.23.
package transcribe
