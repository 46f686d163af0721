//go:build !purego

package kernel

func tileArch() []impl[tileKernels] { return nil }
