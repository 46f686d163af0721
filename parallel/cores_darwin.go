package parallel

import "golang.org/x/sys/unix"

// systemFastCores returns the number of performance cores; 0 on Intel's Macs, which have one kind.
func systemFastCores() int {
	n, err := unix.SysctlUint32("hw.perflevel0.logicalcpu")
	if err != nil {
		return 0
	}
	return int(n)
}
