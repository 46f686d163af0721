//go:build !amd64 || purego

package kernel

func ceilingArch() []impl[ceilingKernels] { return nil }
