//go:build !purego

package kernel

func attendArch() []impl[attendOps] { return nil }
