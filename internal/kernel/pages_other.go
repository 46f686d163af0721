//go:build !linux

package kernel

func preferHugePages([]byte) {}
