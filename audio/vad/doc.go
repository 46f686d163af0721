// Package vad finds the parts of a sound that hold speech.
//
//	samples → [Network] → a probability for every 32 ms → [Detect] → spans of samples
//
// The network is Silero VAD 6.2.0 at 16 kHz (Silero Team, MIT: LICENSE.silero). Its weights are embedded:
// silero.f32, 243,585 float32, SHA-256 2ff111bb…470f, written by tools/reference/vad_goldens.py from the Python
// package silero-vad. Its probabilities are within 1e-4 of onnxruntime's on the same network.
//
// The rules from probabilities to spans, and the names and defaults of the options, follow
// get_speech_timestamps in faster_whisper/vad.py of faster-whisper 1.2.1.
package vad
