//go:build !linux

package bench

// forget does nothing on this system.
func forget([]string) bool { return false }

// resetPeak does nothing on this system.
func resetPeak() (now int64, ok bool) { return 0, false }
