//go:build !unix

package store

import "io/fs"

// mine is true: on Windows the temporary directory itself is the user's own.
func mine(fs.FileInfo) bool { return true }
