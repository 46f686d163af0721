package transcribe

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTimer: the time in which any window is decoded and none encoded, once for all.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(timer)
		for _, step := range []struct {
			count func(int)
			n     int
			total time.Duration // a second later
		}{
			{c.encode, 1, 0}, {c.encode, -1, 0},
			{c.decode, 1, 1}, {c.decode, 1, 2},
			{c.encode, 1, 2}, {c.decode, -1, 2}, {c.encode, -1, 3},
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
