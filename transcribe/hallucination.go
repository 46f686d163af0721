package transcribe

import (
	"math"
	"strings"

	"verity/audio"
	"verity/transcript"
)

// anomaly scores a word by how unlike speech it is: unlikely, very short or very long.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, word_anomaly_score.
func anomaly(w transcript.Word) (score float64) {
	if w.Probability < 0.15 {
		score++
	}
	d := w.End - w.Start
	if d < 0.133 {
		score += (0.133 - d) * 15
	}
	if d > 2 {
		score += d - 2
	}
	return score
}

// isAnomaly reports whether a segment looks like a hallucination by its first eight
// words that are not punctuation; nil does not.
func isAnomaly(s *transcript.Segment) bool {
	if s == nil || len(s.Words) == 0 {
		return false
	}
	words, score := 0, 0.0
	for _, w := range s.Words {
		if words == 8 {
			break
		}
		if !strings.Contains(marks, w.Word) {
			words++
			score += anomaly(w)
		}
	}
	return score >= 3 || score+0.01 >= float64(words)
}

// nextWithWords returns the first segment that has words; nil without any.
func nextWithWords(segments []transcript.Segment) *transcript.Segment {
	for i := range segments {
		if len(segments[i].Words) > 0 {
			return &segments[i]
		}
	}
	return nil
}

// A windowTimes holds the times of a window that the rule against hallucinations needs, in
// seconds.
type windowTimes struct {
	seek                 int     // frame of the window
	begin, end, soundEnd float64 // of the window, and the end of its frames
	lastSpeech           float64 // end of the last word before the window
	clip                 float64 // length of the clip
}

// marks are the punctuation that isAnomaly does not count as words.
const marks = defaultPrepend + defaultAppend

// skipSilence looks for a hallucination surrounded by silence and skips it; the audio
// behind it is decoded again. It returns how many of the segments to keep, and the
// frame to continue at, which is negative if nothing was found. whole is true if all
// segments are dropped because the window begins with silence.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, from "if first segment might be
// a hallucination" on.
func skipSilence(
	segments []transcript.Segment, p windowTimes, threshold float64, clipFrames int,
) (keep, seek int, whole bool) {
	if first := nextWithWords(segments); isAnomaly(first) {
		if gap := first.Start - p.begin; gap > threshold {
			return 0, p.seek + frameCount(gap), true
		}
	}
	last := p.lastSpeech
	for i := range segments {
		s := &segments[i]
		if len(s.Words) == 0 {
			continue
		}
		if isAnomaly(s) && p.alone(s, nextWithWords(segments[i+1:]), last, threshold) {
			if p.clip-s.End < threshold {
				return i, clipFrames, false
			}
			return i, frameCount(max(p.begin+1, s.Start)), false
		}
		last = s.End
	}
	return len(segments), -1, false
}

// alone reports whether there is silence, or another hallucination, on both sides of s.
func (p windowTimes) alone(s, next *transcript.Segment, last, threshold float64) bool {
	after := p.soundEnd
	if next != nil {
		after = next.Words[0].Start
	}
	before := s.Start-last > threshold || s.Start < threshold || s.Start-p.begin < 2
	return before && (after-s.End > threshold || isAnomaly(next) || p.end-s.End < 2)
}

// frameCount returns the frames in so many seconds, rounded as Python's round does.
func frameCount(seconds float64) int { return int(math.RoundToEven(seconds * audio.FramesPerSecond)) }
