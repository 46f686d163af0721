//go:build !amd64 || purego

package kernel

func widenHalfArch() []impl[widenHalfFunc] { return nil }
