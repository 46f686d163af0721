// Package audio turns sound files into the log-mel features Whisper reads.
//
// It is the first step of the pipeline:
//
//	file → [Open] → [Clip] → [NewSpectrogram] → [Mel] windows → package encoder
//
// # Conventions
//
// Samples are float32, nominally in [-1, 1], one channel (the mean of the file's), at [SampleRate]. Time is
// counted in samples in a Clip and in frames in a Spectrogram; a frame is [HopLength] samples, 10 ms. Mel data
// is row-major [bin][frame], upstream's layout.
//
// # Files
//
// The first bytes of a file tell its format, never its name. WAV, MP3, FLAC, Ogg Opus and WebM are read here; an
// installed ffmpeg reads the others. Files are streamed: memory use depends on the window, not on the length of
// the file. A size in a header counts only up to the end of the file. Chained Ogg files, and MP3 files that were
// joined, are read to the end.
//
// Sound that is damaged or lost is skipped, and [Clip.Damaged], [Clip.Truncated] and [Clip.Warnings] report it.
// Where the container's clock tells how long the loss is, silence of that length replaces it. With
// [Input].Strict a loss is an error.
//
// # Live sound
//
// [Input.OpenStream] opens files of every format that is read here while they arrive. For sound of unknown
// length, [Live] replaces [Spectrogram].
//
// # Upstream
//
// The arithmetic follows whisper/audio.py of openai/whisper at c0d2f62 and, for [PadAudio],
// WhisperFeatureExtractor of transformers 5.23, which also wrote the values in testdata/golden
// (tools/reference/audio_goldens.py). A difference beyond the tolerance of the tests is a bug here.
package audio
