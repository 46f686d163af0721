package assistant

import "time"

// A Round is the counts and times of one round.
type Round struct {
	First                   bool // of its window: the pass runs the prompt too
	Drafted, Accepted, Kept int
	Draft, Verify           time.Duration
	Opening                 time.Duration // of Draft, to prepare for the window
}
