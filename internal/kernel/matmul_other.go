//go:build !amd64 || purego

package kernel

func tileArch() []impl[tileKernels] { return nil }

func fetchRows(*byte, int, int) {}

func int8Arch() []impl[int8Kernels] { return nil }
