//go:build purego || !amd64

package kernel

func vectorArch() []impl[vectorOps] { return nil }
