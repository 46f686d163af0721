//go:build !linux

package bench

// forget does nothing on this system.
func forget([]string) bool { return false }

// resident and resetPeak return nothing on this system.
func resident() (now, peak int64, ok bool) { return 0, 0, false }

func resetPeak() (now int64, ok bool) { return 0, false }
