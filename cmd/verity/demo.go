package main

import (
	"io/fs"
	"testing/fstest"
)

// demoTarget returns the checkpoint inside this program.
func demoTarget() fs.FS { return fstest.MapFS{} }
