//go:build race

package schedule

// raceDetector is whether tests run under it; it makes allocations of its own.
const raceDetector = true
