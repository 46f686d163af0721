package assistant

import (
	"testing"
	"time"
)

// TestTextPolicy checks that drafts are long in good text and short where rows are expensive. In a
// text that is never right there are none, except for a trial now and then.
func TestTextPolicy(t *testing.T) {
	run := func(right bool, row time.Duration) (p *TextPolicy, last int) {
		p = &TextPolicy{Streams: func() int { return 1 }}
		in := 0
		for range 200 {
			n := p.length(in)
			r := Round{Drafted: n, Kept: 1, Verify: 10*time.Millisecond + time.Duration(n)*row}
			if right {
				r.Accepted, r.Kept = n, n+1
			}
			in = p.observe(r, in, 0)
		}
		return p, p.length(in)
	}
	_, cheap := run(true, 100*time.Microsecond)
	_, dear := run(true, 5*time.Millisecond)
	p, none := run(false, time.Millisecond)
	if cheap < 20 || dear >= cheap || none != 0 {
		t.Errorf("lengths %d, %d, %d: want long, shorter, none", cheap, dear, none)
	}
	tried := 0
	for range 320 {
		n := p.length(0)
		tried += n
		p.observe(Round{Drafted: n, Kept: 1, Verify: 10 * time.Millisecond}, 0, 0)
	}
	if tried == 0 || tried > 30 {
		t.Errorf("%d tokens tried in 320 rounds, want a few", tried)
	}
}
