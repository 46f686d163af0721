// Package transcript holds the text of a clip with its times, and reads and writes it as files.
//
// Package transcribe makes a [Transcript]. [Write] writes it as txt, md, docx, srt, vtt, ass, tsv,
// lrc, csv, json or rttm; [Options] has paragraphs or lines, and the limits of subtitles. [Read] reads the text of such files, of any program.
//
//	err := transcript.Write(os.Stdout, transcript.SRT, t)
//
//	cues, err := transcript.Read("talk.srt", raw)
//
// Times are seconds from the start of the clip. A segment's text is what its tokens spell, with
// the space before its first word, which writers strip, and without special tokens. A segment
// without text keeps its times and number and has no tokens.
//
// # Source
//
// The fields are those of openai/whisper@c0d2f62, whisper/transcribe.py. The formats srt, vtt, tsv
// and json, and txt with Options.Lines, match its whisper/utils.py byte for byte, which also wrote testdata/golden, but
// where that writes what players misread: cues without duration, text or order, markup in the text, and parts of
// characters. JSON adds a schema and statistics. The other formats are not openai/whisper's.
package transcript
