//go:build !race

package assistant

const raceDetector = false
