//go:build !linux && !darwin

package parallel

func systemFastCores() int { return 0 }
