package transcript

// A Cue is a stretch of text with its times, as in subtitles: one subtitle, one segment, or
// a whole text.
type Cue struct {
	Start, End float64 // seconds from the start of the clip; both 0 where the text has no times
	Text       string
}

// HasTimes reports whether the times of the cue are known.
func (c Cue) HasTimes() bool { return c.End > c.Start }
