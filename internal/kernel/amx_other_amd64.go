//go:build !purego && !linux

package kernel

// hasAMX is false where we do not know how a process gets the tile unit.
const hasAMX = false
