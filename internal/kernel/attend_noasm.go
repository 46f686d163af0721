//go:build purego || !amd64

package kernel

func attendArch() []impl[attendOps] { return nil }
