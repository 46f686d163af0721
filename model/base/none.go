//go:build nomodel

package base

import "io/fs"

// Base returns the checkpoint; nil in a program that was built without.
func Base() fs.FS { return nil }
