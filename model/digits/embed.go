// Package digits holds a model for tests: a small Whisper that knows spoken English
// digits, an assistant that shares its encoder, and a recording to try them on.
//
//	[Target], [Assistant] → model.OpenFS; [Sample] → audio.Input.OpenReader
//
// Both are checkpoints in Hugging Face layout, as transformers loads them.
// README.md beside this file is the model card: what they were trained on, how
// well they do, and how to train them again. The architecture is Whisper's own.
package digits

import (
	"embed"
	"io/fs"
)

//go:embed target assistant
var files embed.FS

//go:embed digits.wav
var sample []byte

// Target returns the checkpoint of the model.
func Target() fs.FS { return sub("target") }

// Assistant returns the checkpoint of its assistant, which has no encoder.
func Assistant() fs.FS { return sub("assistant") }

// Sample returns a WAV file of spoken digits; digits.txt beside it says which. It
// must not be changed.
func Sample() []byte { return sample }

func sub(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic("digits: a checkpoint is not embedded")
	}
	return f
}
