// Package datasets reads utterances, sound with its reference text, in the formats that
// datasets come in. It decodes no audio and transcribes nothing.
//
//	path → [Open] → [Dataset] → [Dataset.All] → [Utterance], one at a time → package eval
//
// # Layouts
//
// Layouts are librispeech, mls, kaldi, stm, jsonl (NeMo), tsv (Common Voice, FLEURS), csv (LJSpeech), parquet (Hugging Face)
// and folder, sound files with a text beside each. docs/EVALUATION.md has the table of them; here it is the variable layouts,
// and a layout is a row of it.
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
