package safetensors

import "verity/internal/weights"

// Open opens a file; see [Parse].
func Open(path string) (*weights.File, error) { return weights.Open(path, Parse) }

// FromBytes reads a file that is already in memory; see [weights.FromBytes].
func FromBytes(name string, b []byte) (*weights.File, error) {
	return weights.FromBytes(name, b, Parse)
}
