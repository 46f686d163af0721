//go:build !purego

package kernel

import (
	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// hasAMX reports whether this process may use the tile unit for int8. Linux lets a
// process use its 8 KiB of registers only on request.
// Source: Linux, Documentation/arch/x86/xstate.rst.
var hasAMX = hasAVX512 && cpu.X86.HasAVX512VNNI && cpu.X86.HasAMXTile && cpu.X86.HasAMXInt8 && askForTiles()

func askForTiles() bool {
	const requestPermission, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
	_, _, err := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return err == 0
}
