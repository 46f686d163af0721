// Package transcript holds what came out of transcribing a clip, and writes it.
//
//	package transcribe → [Transcript] → [Write]: txt, srt, vtt, tsv, json
//
// # Conventions
//
// Times are seconds from the start of the clip. A segment's text is as the
// tokens spell it, with the space before its first word; the writers strip it.
// A segment that has been emptied keeps its place, its times and its number, and
// has no text and no tokens.
//
// # Upstream
//
// The fields are those of openai/whisper at c0d2f62, whisper/transcribe.py; the
// formats are those of its whisper/utils.py byte for byte, which also wrote
// testdata/golden. JSON has a schema and statistics besides.
package transcript
