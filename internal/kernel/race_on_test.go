//go:build race

package kernel

// raceEnabled: sync.Pool drops some of what it is given, so counting allocations is pointless.
const raceEnabled = true
