//go:build !purego

package kernel

// Leaves of CPUID that list caches, one for each value of ECX: of Intel, and of AMD, which
// lays them out likewise.
// Source: Intel SDM, volume 2, "CPUID", leaf 4; AMD APM, volume 3, E.4.15.
const (
	intelCaches = 4
	amdCaches   = 0x8000001d
)

// machineCaches asks the processor. Some virtual machines report nothing; then it asks Linux.
func machineCaches() (c cacheSizes) {
	leaf := uint32(intelCaches)
	_, vendor, _, _ := cpuid(0, 0)
	if vendor == 0x68747541 { // "Auth", of AuthenticAMD
		leaf = amdCaches
		if most, _, _, _ := cpuid(0x80000000, 0); most < amdCaches {
			return systemCaches()
		}
	}
	for i := range uint32(16) {
		eax, ebx, ecx, _ := cpuid(leaf, i)
		kind, level := eax&0x1f, eax>>5&7
		if kind == 0 {
			break
		}
		ways, partitions, line := int(ebx>>22)+1, int(ebx>>12&0x3ff)+1, int(ebx&0xfff)+1
		c.add(int(level), kind == 2, ways*partitions*line*(int(ecx)+1))
	}
	if c == (cacheSizes{}) {
		return systemCaches()
	}
	return c
}
