//go:build nomodel

package whisper

import "io/fs"

// Base returns the checkpoint; nil in a program that was built without.
func Base() fs.FS { return nil }
