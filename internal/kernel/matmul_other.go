//go:build !amd64 || purego

package kernel

func tileArch() []impl[tileKernels] { return nil }
