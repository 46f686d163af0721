//go:build !nomodel

package base

import (
	"embed"
	"io/fs"
	"unsafe"

	"verity/model"
)

func init() { model.Embed("base", model.Embedded{Files: Base()}) }

//go:embed base
var inside embed.FS

// The same file again takes no room: the compiler keeps equal strings once.
//
//go:embed base/model.safetensors
var weights string

// Base returns the checkpoint; nil in a program that was built without.
func Base() fs.FS {
	f, err := fs.Sub(inside, "base")
	if err != nil {
		panic("whisper: the checkpoint is not embedded")
	}
	return files{f}
}

// files has the weights where they lie in the program.
type files struct{ fs.FS }

// Bytes returns the content of the weights without a copy: model.OpenFS asks for it.
// They must not be changed.
func (files) Bytes(name string) ([]byte, bool) {
	return unsafe.Slice(unsafe.StringData(weights), len(weights)), name == "model.safetensors"
}
