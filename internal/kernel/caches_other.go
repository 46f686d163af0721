//go:build !amd64 || purego

package kernel

func machineCaches() cacheSizes { return systemCaches() }
