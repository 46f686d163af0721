//go:build !amd64 || purego

package kernel

func machineCaches() CacheSizes { return systemCaches() }
