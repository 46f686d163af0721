// Package audio turns sound files into the log-mel features Whisper reads.
//
// It is the first room of the pipeline:
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
// A file's format is told by its first bytes, never by its name: WAV (RIFF,
// RF64, BW64; integer, float, A-law and mu-law samples, WAVE_FORMAT_EXTENSIBLE)
// and FLAC. Every other format is refused with a sentence that names it. Files
// are streamed: memory is bounded by the window, whatever the length, and sizes
// a header claims are never believed beyond the end of the file.
//
// # Upstream
//
// The arithmetic follows whisper/audio.py of openai/whisper at c0d2f62 and, for
// [PadAudio], WhisperFeatureExtractor of transformers 5.23, which also wrote the
// values in testdata/golden (tools/reference/audio_goldens.py). Where ours
// differ by more than the test's tolerance, it is a bug here.
package audio
