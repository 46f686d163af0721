package transcribe

import (
	"math"
	"slices"

	"verity/audio"
	"verity/tokenizer"
)

// A tokenSpan is a run of a window's tokens with its times, in seconds from the start of the window.
type tokenSpan struct {
	tokens     []tokenizer.Token
	start, end float64
}

// framesPerStep is the number of mel frames in a timestamp step of 0.02 s.
const framesPerStep = 2

// splitAtTimestamps divides a window's tokens into segments where two timestamps stand side by
// side: the end of one segment and the start of the next. size is the number of frames with
// sound; advance is how many of them the segments cover.
//
//	<|0.00|> a <|1.00|><|1.20|> b <|2.00|><|2.40|> c    → a, b; advance to 2.00: c is decoded again
//	<|0.00|> a <|1.00|><|1.20|> b <|2.00|>              → a, b; advance by size, nothing follows
//	<|0.00|> a <|1.00|>, or no timestamps               → a; advance by size
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "timestamp_tokens" and after.
func splitAtTimestamps(t *tokenizer.Tokenizer, tokens []tokenizer.Token, size int) (pieces []tokenSpan, advance int) {
	ends := boundaries(t, tokens)
	if len(ends) == 0 {
		return wholeWindow(t, tokens, size), size
	}
	complete := endsInSingle(t, tokens)
	if complete {
		ends = append(ends, len(tokens))
	}
	begin, before := 0, 0.0
	for _, end := range ends {
		p := tokens[begin:end]
		first, last := t.Seconds(p[0]), t.Seconds(p[len(p)-1])
		if math.IsNaN(first) {
			// The first token is text, which the rules forbid with timestamps on.
			// Upstream reads it as a time far before the start.
			first = before
		}
		pieces = append(pieces, tokenSpan{p, first, last})
		begin, before = end, last
	}
	if complete {
		return pieces, size
	}
	return pieces, framesPerStep * int(tokens[begin-1]-t.TimestampBegin)
}

// wholeWindow returns all tokens of a window as one span. It ends at the last timestamp, or with
// the frames if there is none but the first.
func wholeWindow(t *tokenizer.Tokenizer, tokens []tokenizer.Token, size int) []tokenSpan {
	end := seconds(size)
	for _, tok := range slices.Backward(tokens) {
		if t.IsTimestamp(tok) {
			if tok != t.TimestampBegin {
				end = t.Seconds(tok)
			}
			break
		}
	}
	return []tokenSpan{{tokens, 0, end}}
}

// boundaries returns the places between two timestamps side by side.
func boundaries(t *tokenizer.Tokenizer, tokens []tokenizer.Token) (places []int) {
	for i := 1; i < len(tokens); i++ {
		if t.IsTimestamp(tokens[i-1]) && t.IsTimestamp(tokens[i]) {
			places = append(places, i)
		}
	}
	return places
}

// endsInSingle reports whether the tokens end in text and one timestamp, which
// means that no speech follows it.
func endsInSingle(t *tokenizer.Tokenizer, tokens []tokenizer.Token) bool {
	n := len(tokens)
	return n >= 2 && !t.IsTimestamp(tokens[n-2]) && t.IsTimestamp(tokens[n-1])
}

// seconds returns the time of a frame.
func seconds(frame int) float64 { return float64(frame) / audio.FramesPerSecond }

// frameCount returns the frames in a time, rounded as Python's round does.
func frameCount(seconds float64) int { return int(math.RoundToEven(seconds * audio.FramesPerSecond)) }

// A frameSpan is a part of a clip in frames, end not included.
type frameSpan struct{ start, end int }

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
