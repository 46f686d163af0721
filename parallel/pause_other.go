//go:build purego || !(amd64 || arm64)

package parallel

func pause() {}
