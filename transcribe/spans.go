package transcribe

import (
	"math"

	"verity/audio"
)

// seconds returns the time of a frame.
func seconds(frame int) float64 { return float64(frame) / audio.FramesPerSecond }

// frameCount returns the frames in so many seconds, rounded as Python's round does.
func frameCount(seconds float64) int { return int(math.RoundToEven(seconds * audio.FramesPerSecond)) }

// A frameSpan is a part of a clip in frames, end not included.
type frameSpan struct{ start, end int }

// frameSpans turns spans in seconds into frames of a clip that has total of them.
// Upstream lets a span reach beyond the end of the clip, and then never ends.
func frameSpans(spans []Span, total int) []frameSpan {
	list := make([]frameSpan, len(spans))
	for i, s := range spans {
		list[i] = frameSpan{frameAt(s.Start, total), frameAt(s.End, total)}
	}
	return list
}

// frameAt rounds as Python's round does: halves to even.
func frameAt(seconds float64, total int) int {
	return int(min(math.RoundToEven(seconds*audio.FramesPerSecond), float64(total)))
}

// A cursor is a place in a list of spans. Seek may lie before the span that comes
// next, or behind it.
type cursor struct {
	todo []frameSpan
	seek int
	stop int // no window begins from this frame on; 0 means that any may
}

// next moves the cursor to the next window and returns how many frames of it are
// inside the span, at most limit. It returns 0 at the end.
func (c *cursor) next(limit int) int {
	for len(c.todo) > 0 {
		c.seek = max(c.seek, c.todo[0].start)
		if c.stop > 0 && c.seek >= c.stop {
			return 0
		}
		if n := c.todo[0].end - c.seek; n > 0 {
			return min(n, limit)
		}
		if c.todo = c.todo[1:]; len(c.todo) > 0 {
			c.seek = c.todo[0].start
		}
	}
	return 0
}
