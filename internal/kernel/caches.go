package kernel

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// cacheSizes are the bytes of a core's data caches, or of the part of a cache that it
// shares with other threads of the core alone.
type cacheSizes struct{ First, Second int }

// caches are the sizes that Linux reports. Sizes that are missing, as on other systems, or implausible
// are replaced by those of the smallest of today's processors. Block sizes depend on them; results do not.
var caches = func() cacheSizes {
	c := readCaches("/sys/devices/system/cpu/cpu0/cache")
	if c.First < 8<<10 || c.First > 1<<20 {
		c.First = 32 << 10
	}
	if c.Second < c.First || c.Second > 64<<20 {
		c.Second = max(512<<10, c.First)
	}
	return c
}()

// readCaches reads a directory as Linux has it for each processor.
// Source: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu.
func readCaches(dir string) (c cacheSizes) {
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
		switch {
		case read("type") == "Instruction":
		case level == 1:
			c.First = size << 10
		case level == 2:
			c.Second = size << 10
		}
	}
	return c
}
