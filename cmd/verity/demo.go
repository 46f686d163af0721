package main

import (
	"io/fs"

	"verity/models/demo"
)

// demoTarget returns the checkpoint inside this program.
func demoTarget() fs.FS { return demo.Target() }
