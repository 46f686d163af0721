// Package frontend holds the numbers of Whisper's log-mel front end. There is one
// front end for all checkpoints, and audio, model, synth and transcribe must agree
// on it without importing each other.
//
// Source: openai/whisper@c0d2f62 whisper/audio.py.
package frontend

const (
	// SampleRate is in samples per second.
	SampleRate = 16000
	// HopLength is the distance of two frames, in samples.
	HopLength = 160
	// WindowSize is the length of the Fourier transform behind a frame, in samples.
	WindowSize = 400
	// FramesPerSecond is how many frames of mel a second of sound has.
	FramesPerSecond = SampleRate / HopLength
)
