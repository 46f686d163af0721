//go:build !purego && !linux

package kernel

// hasAMX is false on systems where the way to request the tile unit is not known.
const hasAMX = false
