package transcribe

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"verity/tokenizer"
	"verity/transcript"
)

// merge joins the segments of two chunks. The right chunk begins at the time cut, at a quiet place.
// The left one ends later, at leftEnd, and both have transcribed the time between. The text changes
// from left to right within a run of words that both have at about the same time, or else at the
// cut. A segment in which it changes is divided.
func (r *transcription) merge(
	left, right []transcript.Segment, cut, leftEnd float64,
) (newLeft, newRight []transcript.Segment) {
	const least = 0.1 // s; a shorter overlap repeats no words
	if leftEnd-cut >= least {
		a, b := r.overlapWords(left, cut-sameTime, math.Inf(1)), r.overlapWords(right, 0, leftEnd+sameTime)
		if len(a) > 0 && len(b) > 0 {
			keep, drop := findChange(a, b, cut, leftEnd)
			left, right = r.endAfter(left, a, keep), r.beginAfter(right, b, drop)
		}
	}
	removeOverlap(left, right)
	return left, right
}

// sameTime is how far apart two chunks may time the same word, in seconds. Without
// word timestamps, times come from positions in the text (timeAt), which is inaccurate because the
// speed of speech varies.
const sameTime = 2

// An overlapWord is a word of a segment, with the punctuation after it.
type overlapWord struct {
	letters    string  // its letters and digits, in lower case
	middle     float64 // of its time
	start, end float64
	segment    int
	from, to   int // its tokens, among those of text
}

// overlapWords returns the words of the segments that overlap the time from begin to end.
func (r *transcription) overlapWords(segments []transcript.Segment, begin, end float64) (list []overlapWord) {
	for n, s := range segments {
		if s.End > begin && s.Start < end {
			list = append(list, r.wordsOfSegment(n, s)...)
		}
	}
	return list
}

// wordsOfSegment returns the words of s, which is segment n of its chunk.
func (r *transcription) wordsOfSegment(n int, s transcript.Segment) (list []overlapWord) {
	tok := r.t.model.Tokenizer
	text := textOf(tok, s.Tokens)
	words, groups := tok.SplitToWords(append(text, tok.EOT), cmp.Or(s.Language, r.clipLanguage.Code))
	size := byteLength(tok, text)
	from, at := 0, 0
	for i, g := range groups[:max(len(groups)-1, 0)] {
		begin := timeAt(s, at, size)
		at += byteLength(tok, g)
		to, end, spoken := from+len(g), timeAt(s, at, size), strings.Map(letterOrDigit, words[i])
		if last := len(list) - 1; spoken == "" && last >= 0 {
			list[last].to, list[last].end = to, end
		} else {
			list = append(list, overlapWord{spoken, (begin + end) / 2, begin, end, n, from, to})
		}
		from = to
	}
	return list
}

// byteLength returns the length of the bytes of tokens.
func byteLength(t *tokenizer.Tokenizer, tokens []tokenizer.Token) (n int) {
	for _, tok := range tokens {
		n += len(t.Bytes(tok))
	}
	return n
}

// letterOrDigit maps letters and digits to lower case, and drops other characters.
func letterOrDigit(c rune) rune {
	if tokenizer.IsWordRune(c) {
		return unicode.ToLower(c)
	}
	return -1
}

// timeAt returns the time of byte n of a segment's text, of size bytes: by the words around it if
// words are timed, else by its share of the text.
func timeAt(s transcript.Segment, n, size int) float64 {
	for _, w := range s.Words {
		if size := len(w.Word); n > size {
			n -= size
		} else if size > 0 {
			return w.Start + (w.End-w.Start)*float64(n)/float64(size)
		}
	}
	if len(s.Words) > 0 {
		return s.End
	}
	return s.Start + (s.End-s.Start)*float64(n)/float64(max(size, 1))
}

// findChange returns how many words of left to keep and how many of right to drop. A common run
// must end after the cut, since the right chunk has no sound before it.
func findChange(left, right []overlapWord, cut, leftEnd float64) (keep, drop int) {
	middle := (cut + leftEnd) / 2
	i, n, run := commonRun(left, right, cut-sameTime, leftEnd+sameTime)
	if run > 1 && left[i+run-1].middle > cut {
		best := 0
		for k := range run {
			if math.Abs(left[i+k].middle-middle) < math.Abs(left[i+best].middle-middle) {
				best = k
			}
		}
		return i + best + 1, n + best + 1
	}
	last, first := left[len(left)-1], right[0]
	if last.letters == first.letters && last.middle > cut && first.middle-last.middle <= sameTime {
		return len(left), 1 // they share a single word
	}
	// The left chunk may have words that the right one lacks at its start.
	cut = min(max(cut, right[0].start), leftEnd)
	for keep < len(left) && left[keep].middle < cut {
		keep++
	}
	return keep, 0
}

// commonRun returns the index and length of the best run of equal words in left and right, at about the same
// time, between begin and end. A word counts less the further apart its two times are.
func commonRun(left, right []overlapWord, begin, end float64) (l, r, length int) {
	best := 0.0
	for i := range left {
		for k := range right {
			n, score := 0, 0.0
			for i+n < len(left) && k+n < len(right) {
				a, b := left[i+n], right[k+n]
				d := math.Abs(a.middle - b.middle)
				if a.letters != b.letters || !(d <= sameTime) || a.middle < begin || b.middle > end {
					break
				}
				n, score = n+1, score+1-d/sameTime
			}
			if score > best {
				l, r, length, best = i, k, n, score
			}
		}
	}
	return l, r, length
}

// endAfter returns the segments up to the first keep of words, which are the last of the segments.
func (r *transcription) endAfter(segments []transcript.Segment, words []overlapWord, keep int) []transcript.Segment {
	if keep == len(words) {
		return segments
	}
	if keep == 0 || words[keep-1].segment != words[keep].segment {
		return segments[:words[keep].segment]
	}
	w := words[keep-1]
	segments = slices.Clone(segments[:w.segment+1])
	s := &segments[w.segment]
	r.selectTokens(s, 0, r.textIndex(*s, w.to))
	s.End = max(s.Start, w.end)
	return segments
}

// beginAfter returns the segments without the first drop of words, which are the first of the segments.
func (r *transcription) beginAfter(segments []transcript.Segment, words []overlapWord, drop int) []transcript.Segment {
	if drop == 0 {
		return segments
	}
	if drop == len(words) {
		return segments[words[drop-1].segment+1:]
	}
	w := words[drop]
	segments = slices.Clone(segments[w.segment:])
	if w.from > 0 {
		s := &segments[0]
		r.selectTokens(s, r.textIndex(*s, w.from), len(s.Tokens))
		s.Start = min(w.start, s.End)
	}
	return segments
}

// textIndex returns the index in a segment's tokens of the n-th text token.
func (r *transcription) textIndex(s transcript.Segment, n int) int {
	for i, t := range s.Tokens {
		if isTimed(r.t.model.Tokenizer, t) {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return len(s.Tokens)
}

// selectTokens reduces a segment to its tokens from first to last, and to their words.
func (r *transcription) selectTokens(s *transcript.Segment, first, last int) {
	tok := r.t.model.Tokenizer
	before, text := len(tok.Decode(s.Tokens[:first])), tok.Decode(s.Tokens[first:last])
	s.Tokens, s.Text = s.Tokens[first:last], text
	if len(s.LogProbs) > 0 {
		s.LogProbs = s.LogProbs[first:last]
	}
	if len(s.Origins) > 0 {
		s.Origins = s.Origins[first:last]
	}
	if s.Words == nil {
		return
	}
	words := []transcript.Word{}
	for _, w := range s.Words {
		if middle := len(w.Word) / 2; before <= middle && middle < before+len(text) {
			words = append(words, w)
		}
		before -= len(w.Word)
	}
	s.Words = words
}

// removeOverlap delays what is right of a cut until what is left of it has ended.
func removeOverlap(left, right []transcript.Segment) {
	if len(left) == 0 {
		return
	}
	end := left[len(left)-1].End
	for i := range right {
		s := &right[i]
		if s.Start >= end {
			return
		}
		s.Start, s.End = end, max(s.End, end)
		for k := range s.Words {
			w := &s.Words[k]
			w.Start, w.End = max(w.Start, end), max(w.End, end)
		}
	}
}
