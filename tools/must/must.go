// Package must ends a tool at its first error: nothing that a tool measures or builds is worth having without the rest.
package must

import (
	"fmt"
	"os"
	"path/filepath"
)

// Do ends the program unless err is nil.
func Do(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

// Get returns v, or ends the program.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}
