// Package datasets reads utterances, sound with its reference text, in the formats that
// datasets come in. It decodes no audio and transcribes nothing.
//
//	path → [Open] → [Dataset] → [Dataset.All] → [Utterance], one at a time → package eval
//
// # Formats
//
//   - librispeech: a folder with *.trans.txt files anywhere below, each line an
//     identifier and a text, the audio beside it as identifier.flac.
//   - jsonl: one JSON object per line, as NeMo and this project write them
//     (audio_filepath, text, duration, offset, id, lang, …).
//   - tsv: a table with a header, as Common Voice writes it (path, sentence, …).
//     Fields are not quoted. Audio is beside the file or in clips.
//   - csv: the same with commas; fields may be quoted, and end on their line.
//   - parquet: files as Hugging Face writes them, with the audio inside.
//   - folder: audio files, each with a text of the same name and ending .txt.
//
// # Conventions
//
// Paths in a manifest are relative to it. Durations are seconds. A row with an offset
// and a duration selects that part of its audio; a duration alone only informs. Text is
// not changed: package wer/normalize normalises it for scoring. Rows come in the order of
// their file, and files by the bytes of their names, so order and identifiers are the same
// on every machine. Identifiers are unique: a repeated one gets "#2", "#3", … appended.
//
// A row that cannot be used is reported as a [RowError] and iteration continues; no row
// is dropped silently. A line or a text has at most 1 MiB, a sound inside a Parquet file
// 256 MiB, and a Parquet file one row for each of its bytes. Parquet files are otherwise
// trusted as much as the library that reads them: a hostile one can exhaust memory.
package datasets
