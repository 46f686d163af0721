// Package frontend defines the constants of Whisper's log-mel front end and its mel
// filters. All checkpoints share one front end, and audio, model, synth and transcribe
// must agree on it without importing each other.
//
// Source: openai/whisper@c0d2f62 whisper/audio.py.
package frontend

const (
	// SampleRate is in samples per second.
	SampleRate = 16000
	// HopLength is the distance between frames, in samples.
	HopLength = 160
	// WindowSize is the length of a frame's Fourier transform, in samples.
	WindowSize = 400
	// FramesPerSecond is the number of mel frames per second.
	FramesPerSecond = SampleRate / HopLength
)
