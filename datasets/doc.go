// Package datasets reads utterances, sound with the text that was said, from the
// places they are kept in. It decodes no audio and transcribes nothing.
//
//	path → [Open] → [Dataset] → [Dataset.All] → [Utterance], one at a time → package eval
//
// # Formats
//
//   - librispeech: a folder with *.trans.txt files anywhere below, each line an
//     identifier and a text, the audio beside it as identifier.flac.
//   - jsonl: one JSON object per line, as NeMo and this project write them
//     (audio_filepath, text, duration, offset, id, speaker, lang, …).
//   - tsv: a table with a header, as Common Voice writes it (path, sentence, …).
//     Fields are not quoted. Audio is beside the file or in clips.
//   - parquet: files as Hugging Face writes them, with the audio inside.
//   - folder: audio files, each with a text of the same name and ending .txt.
//
// # Conventions
//
// Paths in a manifest are relative to it. Durations are seconds. A row that states
// an offset is that part of its audio; a duration alone is only a statement. Text is as it
// was found; package wer/normalize changes it when scoring. The order is that of
// the rows in a file and of the bytes in file names, so it is the same on every
// machine; so are the identifiers, which are unique: a repeated one has "#2",
// "#3", … behind it.
//
// A row that cannot be used is reported as a [RowError] and iteration goes on;
// no row is dropped without one. Lines, JSON nesting and text files are bounded,
// see [Options].
package datasets
