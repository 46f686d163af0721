package transcribe

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClock: the time in which any window is decoded and none encoded, once for all.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(clock)
		for _, step := range []struct {
			count func(int)
			n     int
			total time.Duration // a second later
		}{
			{c.hear, 1, 0}, {c.hear, -1, 0},
			{c.decode, 1, 1}, {c.decode, 1, 2},
			{c.hear, 1, 2}, {c.decode, -1, 2}, {c.hear, -1, 3},
			{c.decode, -1, 3},
		} {
			step.count(step.n)
			time.Sleep(time.Second)
			if got := c.read(); got != step.total*time.Second {
				t.Errorf("%v, want %d s", got, step.total)
			}
		}
	})
}
