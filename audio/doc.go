// Package audio turns sound files into the log-mel features Whisper reads.
//
// It is the first step of the pipeline:
//
//	file → [Open] → [Clip] → [NewSpectrogram] → [Mel] windows → package encoder
//
// # Conventions
//
// Samples are float32, nominally in [-1, 1], one channel (the mean of the
// file's), at [SampleRate]. Time is counted in samples in a Clip and in frames
// in a Spectrogram; a frame is [HopLength] samples, 10 ms. Mel data is row-major
// [bin][frame], upstream's layout.
//
// # Files
//
// The table in sniff.go tells a file's format by its first bytes, never by its name. Every
// format that is read has a Go file of its own; any other is refused with a sentence that
// names it. A container gives packets with positions, a codec decodes them, and a ledger
// keeps what is missing (source.go): interleaved channels at the file's own rate, which the
// Clip mixes and resamples once. Files are streamed: memory is bounded by the window,
// whatever the length, and sizes in a header are never trusted beyond the end of the file.
//
// Files that follow each other in the same bytes, as cat joins them, are all read: what is read
// of one is looked through for the beginning of another (file.go), so one that was cut does
// not swallow the next. Where sound is damaged or lost, silence stands for it, as long as the
// container's clock says, and [Clip.Damaged], [Clip.Truncated] and [Clip.Warnings] tell where:
// what was decoded is what the file promised, or something is said. With [Input].Strict that
// is an error.
//
// # Live sound
//
// [Input.OpenStream] opens files of every format that this package reads while they arrive,
// and [Live] takes the place of a [Spectrogram] for their sound, of unknown length.
//
// # Upstream
//
// The arithmetic follows whisper/audio.py of openai/whisper at c0d2f62 and, for
// [PadAudio], WhisperFeatureExtractor of transformers 5.23, which also wrote the values
// in testdata/golden (tools/reference/audio_goldens.py). A difference beyond the
// tolerance of the tests is a bug here.
package audio
