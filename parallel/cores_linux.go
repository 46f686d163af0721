package parallel

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// systemFastCores counts by the capacities that Linux lists where cores differ, 1024 for the
// fastest. It returns 0 if Linux lists none.
// Source: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu.
func systemFastCores() int { return readFastCores("/sys/devices/system/cpu") }

func readFastCores(dir string) int {
	files, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "cpu_capacity"))
	var capacities []int
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0
		}
		c, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || c < 0 {
			return 0
		}
		capacities = append(capacities, c)
	}
	return countFast(capacities)
}
