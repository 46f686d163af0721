package transcribe

import (
	"sync"
	"time"
)

// A timer measures the wall time in which some window is decoded and none is
// encoded: what decoding takes when several windows share its passes. The sum of
// their own times would count a shared pass once for each of them.
type timer struct {
	mu                 sync.Mutex
	encoding, decoding int
	since              time.Time
	total              time.Duration
}

// encode adds n to the windows that are being encoded.
func (t *timer) encode(n int) { t.change(&t.encoding, n) }

// decode adds n to the windows that are being decoded.
func (t *timer) decode(n int) { t.change(&t.decoding, n) }

func (t *timer) change(count *int, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance()
	*count += n
}

// advance adds the time up to now. t.mu is held.
func (t *timer) advance() {
	now := time.Now()
	if t.decoding > 0 && t.encoding == 0 {
		t.total += now.Sub(t.since)
	}
	t.since = now
}

func (t *timer) read() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance()
	return t.total
}
