//go:build race

package testmodel

// Race reports whether the race detector is on, which makes tests ten times as slow.
const Race = true
