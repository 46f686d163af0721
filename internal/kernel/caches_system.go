package kernel

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// add notes a cache. One of instructions is of no interest at any level.
func (c *CacheSizes) add(level int, instructions bool, size int) {
	switch {
	case instructions:
	case level == 1:
		c.First = size
	case level == 2:
		c.Second = size
	}
}

// systemCaches returns what Linux says; other systems have no such files.
func systemCaches() CacheSizes { return readCaches("/sys/devices/system/cpu/cpu0/cache") }

// readCaches reads a directory as Linux has it for each processor.
// Source: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu.
func readCaches(dir string) (c CacheSizes) {
	for i := range 16 {
		read := func(name string) string {
			b, err := os.ReadFile(fmt.Sprintf("%s/index%d/%s", dir, i, name))
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(b))
		}
		level, err := strconv.Atoi(read("level"))
		if err != nil {
			break
		}
		text := read("size")
		size, err := strconv.Atoi(strings.TrimSuffix(text, "K"))
		if err != nil || !strings.HasSuffix(text, "K") || size > 1<<30 {
			continue
		}
		c.add(level, read("type") == "Instruction", size<<10)
	}
	return c
}
