package kernel

// CacheSizes are the bytes of a core's data caches, or of the part of a cache that it
// shares with other threads of the core alone.
type CacheSizes struct{ First, Second int }

// caches is what the machine says of its caches, and where it says nothing, what the
// smallest of today's processors have. Blockings follow from it; results do not.
var caches = cachesOr(CacheSizes{First: 32 << 10, Second: 512 << 10})

// cachesOr returns what the machine says, else d. What cannot be is not believed.
func cachesOr(d CacheSizes) CacheSizes {
	c := machineCaches()
	if c.First < 8<<10 || c.First > 1<<20 {
		c.First = d.First
	}
	if c.Second < c.First || c.Second > 64<<20 {
		c.Second = max(d.Second, c.First)
	}
	return c
}
