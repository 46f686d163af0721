// Package machine describes this machine and this process, for reports.
//
// People read these descriptions, or distinguish machines by them. No result depends on them.
package machine

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// CPU returns the system's name of the processor, or else its architecture.
func CPU() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); { // not the whole file: it is long for many cores
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// Resident returns the memory that this process uses now, and the most that it has used, in bytes;
// ok is false if the system does not provide them.
func Resident() (now, peak int64, ok bool) {
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
