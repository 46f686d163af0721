package transcribe

import (
	"sync"
	"time"
)

// A clock measures the time in which windows are decoded and none is encoded: what
// decoding takes when several windows share it. Their own times, added up, would
// count a pass for each of them.
type clock struct {
	mu                sync.Mutex
	hearing, decoding int
	since             time.Time
	total             time.Duration
}

// hear counts windows that are being encoded.
func (c *clock) hear(n int) { c.change(&c.hearing, n) }

// decode counts windows that are being decoded.
func (c *clock) decode(n int) { c.change(&c.decoding, n) }

func (c *clock) change(count *int, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	*count += n
}

// tick takes the time up to now in. c.mu is held.
func (c *clock) tick() {
	now := time.Now()
	if c.decoding > 0 && c.hearing == 0 {
		c.total += now.Sub(c.since)
	}
	c.since = now
}

func (c *clock) read() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	return c.total
}

// Decoding returns how long any window was being decoded and none encoded, by the
// clock on the wall, since m was made. It panics if Load did not make m.
func (m *Model) Decoding() time.Duration {
	return m.engine("Decoding").clock.read()
}
