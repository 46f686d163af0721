// Package assembly has a mistake in the assembly for amd64 and, with the tag odd, one in
// Go.
package assembly

// Add returns a + b.
func Add(a, b int64) int64
