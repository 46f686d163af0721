package transcribe

import (
	"math"

	"verity/audio"
)

// seconds returns the time of a frame.
func seconds(frame int) float64 { return float64(frame) / audio.FramesPerSecond }

// frameCount returns the frames in a time, rounded as Python's round does.
func frameCount(seconds float64) int { return int(math.RoundToEven(seconds * audio.FramesPerSecond)) }

// A frameSpan is a part of a clip in frames, end not included.
type frameSpan struct{ start, end int }

// totalFrames returns how many frames spans have in all.
func totalFrames(spans []frameSpan) (n int) {
	for _, s := range spans {
		n += s.end - s.start
	}
	return n
}

// frameSpans turns spans in seconds into frames of a clip that has total of them.
// Spans end with the clip at the latest. Upstream does not limit them and then loops for ever. With
// roundEnds an end is rounded to the nearest frame, as upstream does; else no frame reaches beyond it.
func frameSpans(spans []Span, total int, roundEnds bool) []frameSpan {
	round := func(seconds float64) float64 { return math.RoundToEven(seconds * audio.FramesPerSecond) }
	list := make([]frameSpan, len(spans))
	for i, s := range spans {
		start, end := round(s.Start), round(s.End)
		if !roundEnds && end/audio.FramesPerSecond > s.End {
			end--
		}
		list[i] = frameSpan{int(min(start, float64(total))), int(min(max(start, end), float64(total)))}
	}
	return list
}

// A cursor is a position in a list of spans. It may lie before or after the next span.
type cursor struct {
	todo []frameSpan
	seek int
	stop int // windows begin before this frame; 0 means anywhere
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
