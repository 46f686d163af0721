package transcribe

import "math"

// A stretch is a part of a clip in frames, end not included.
type stretch struct{ start, end int }

// framesPerSecond is audio.SampleRate / audio.HopLength.
const framesPerSecond = 100

// stretches turns spans of seconds into frames of a clip that has total of them.
// Upstream lets a span reach beyond the end of the clip, and then loops for ever.
func stretches(spans []Span, total int) []stretch {
	list := make([]stretch, len(spans))
	for i, s := range spans {
		list[i] = stretch{frameAt(s.Start, total), frameAt(s.End, total)}
	}
	return list
}

// frameAt rounds as Python's round does: halves to even.
func frameAt(seconds float64, total int) int {
	return int(min(math.RoundToEven(seconds*framesPerSecond), float64(total)))
}

// A cursor is a place in a list of stretches. Seek may stand before the stretch
// it is to read next, or behind it.
type cursor struct {
	todo []stretch
	seek int
}

// next moves the cursor to the next window and returns how many of its frames
// are to be read, at most limit. It returns 0 at the end.
func (c *cursor) next(limit int) int {
	for len(c.todo) > 0 {
		c.seek = max(c.seek, c.todo[0].start)
		if n := c.todo[0].end - c.seek; n > 0 {
			return min(n, limit)
		}
		if c.todo = c.todo[1:]; len(c.todo) > 0 {
			c.seek = c.todo[0].start
		}
	}
	return 0
}
