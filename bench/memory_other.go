//go:build !linux

package bench

// forget cannot be asked of this system.
func forget([]string) bool { return false }

// resident and resetPeak count nothing on this system.
func resident() (now, peak int64, ok bool) { return 0, 0, false }

func resetPeak() (now int64, ok bool) { return 0, false }
