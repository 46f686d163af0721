//go:build !unix

package cli

import "os"

// wasClosed reports whether f was closed when the program began.
func wasClosed(f *os.File) bool {
	_, err := f.Stat()
	return err != nil
}
