package assistant

import "time"

// A Round is what one round did.
type Round struct {
	First                   bool // of its window: the pass runs the prompt too
	Drafted, Accepted, Kept int
	Draft, Verify           time.Duration
}
