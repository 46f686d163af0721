// Package transcript holds the result of transcribing a clip, and writes it.
//
//	package transcribe → [Transcript] → [Write]: txt, srt, vtt, ass, tsv, lrc, csv, json
//
// # Conventions
//
// Times are seconds from the start of the clip. A segment's text is as the tokens spell
// it, with the space before its first word; the writers strip it. A segment without
// text keeps its times and number and has no tokens.
//
// # Upstream
//
// The fields are those of openai/whisper at c0d2f62, whisper/transcribe.py. The formats
// txt, srt, vtt, tsv and json match its whisper/utils.py byte for byte, which also wrote
// testdata/golden. JSON adds a schema and statistics. ass, lrc and csv are not
// openai/whisper's.
package transcript
