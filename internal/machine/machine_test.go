package machine

import (
	"os"
	"runtime"
	"testing"
)

func TestCPU(t *testing.T) {
	if CPU() == "" {
		t.Error("the processor has no name")
	}
}

// TestResident: memory that is written to is counted.
func TestResident(t *testing.T) {
	before, _, ok := Resident()
	if !ok {
		if runtime.GOOS == "linux" {
			t.Fatal("Linux does not say how much memory is in use")
		}
		t.Skip("needs Linux: this system does not say how much memory is in use")
	}
	x := make([]byte, 64<<20)
	for i := range x {
		x[i] = byte(i)
	}
	now, peak, _ := Resident()
	if now < before+60<<20 || peak < now-1<<20 || now%int64(os.Getpagesize()) != 0 {
		t.Errorf("%d bytes before, %d after 64 MiB more, at most %d", before, now, peak)
	}
	runtime.KeepAlive(x)
}

func TestKilobytes(t *testing.T) {
	status := []byte("VmPeak:\t  9 kB\nVmRSS:\t  123 kB\nVmBad:\t x kB\nVmEnd:")
	for name, want := range map[string]int64{"VmRSS:": 123 << 10, "VmPeak:": 9 << 10} {
		if n, ok := kilobytes(status, name); n != want || !ok {
			t.Errorf("%s %d, %v, want %d", name, n, ok, want)
		}
	}
	for _, name := range []string{"VmHWM:", "VmBad:", "VmEnd:"} {
		if n, ok := kilobytes(status, name); ok {
			t.Errorf("%s %d, want none", name, n)
		}
	}
}
