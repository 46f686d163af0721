//go:build !purego

package kernel

func vectorArch() []impl[vectorOps] { return nil }
