package bench

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// forget tells the system to drop its cache of files, so that they come from the disk
// again. It reports whether that worked.
func forget(names []string) bool {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return false
		}
		err = unix.Fdatasync(int(f.Fd())) // pages that are not written yet stay
		if err == nil || err == unix.EINVAL {
			err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		}
		f.Close()
		if err != nil {
			return false
		}
	}
	return true
}

// resident returns how much memory this process has, and had at most.
func resident() (now, peak int64, ok bool) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, false
	}
	now, ok1 := kilobytes(b, "VmRSS:")
	peak, ok2 := kilobytes(b, "VmHWM:")
	return now, peak, ok1 && ok2
}

// kilobytes returns the value of a line such as "VmRSS:	  123 kB", in bytes.
func kilobytes(status []byte, name string) (int64, bool) {
	_, rest, ok := bytes.Cut(status, []byte(name))
	fields := bytes.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return n << 10, err == nil
}

// resetPeak sets the peak to the memory resident now, and returns it.
func resetPeak() (now int64, ok bool) {
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		return 0, false
	}
	now, _, ok = resident()
	return now, ok
}
