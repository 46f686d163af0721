//go:build !amd64 || purego

package kernel

func attendInt8Arch() []impl[attendInt8Ops] { return nil }
