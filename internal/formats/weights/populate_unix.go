//go:build unix && !linux

package weights

// populate reports that this system cannot wait for pages of a file.
func populate([]byte) bool { return false }
