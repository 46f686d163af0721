package transcribe

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
	"verity/transcript"
)

// Punctuation that upstream joins to the word after it and to the word before it.
const (
	defaultPrepend = "\"'“¿([{-"
	defaultAppend  = "\"'.。,，!！?？:：”)]}、"
)

const sentenceEnds = ".。!！?？"

// timeWords adds timed words to the segments of a window, drops likely hallucinations, and lets the next window begin
// after the last word.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "if word_timestamps".
func (r *transcription) timeWords(ctx context.Context, w *window) error {
	if !r.t.opt.WordTimestamps {
		return nil
	}
	began := time.Now()
	var text []tokenizer.Token
	for _, s := range w.segments {
		text = append(text, textOf(r.t.model.Tokenizer, s.Tokens)...)
	}
	letters := r.t.opt.Strategy != Upstream && r.t.pass == (Pass{}) // live passes find by times what is new
	times, err := w.encoded.words(ctx, r.t.languageAndTask(w.language.Language), text, w.language.Code, w.size, letters)
	if err != nil {
		return err
	}
	r.stats.Seconds.Words += time.Since(began).Seconds()
	r.t.addWords(w.segments, times, r.lastWord)
	if r.t.opt.Strategy != Upstream {
		endWithSound(w.segments, w.begin(), w.end())
	}
	next := r.nextAfterWords(w)
	if next <= w.seek {
		next = w.seek + r.skipWindow(w)
	}
	w.advance = next - w.seek
	if err := r.startWithSpeech(ctx, w); err != nil {
		return err
	}
	if end, ok := lastWordEnd(w.segments); ok {
		r.lastWord = end
	}
	return nil
}

// nextAfterWords returns the frame after the last word of a window, whose likely hallucinations it drops.
func (r *transcription) nextAfterWords(w *window) int {
	next, limit := w.seek+w.advance, r.t.opt.HallucinationSilence
	end, ok := lastWordEnd(w.segments)
	if !endsInSingle(r.t.model.Tokenizer, w.attempt.tokens) && ok && end > w.begin() {
		next = frameCount(end)
		if limit > 0 && !(seconds(w.seek+r.frames)-end > limit) {
			next = w.seek + w.size
		}
	}
	if limit > 0 {
		bounds := windowTimes{
			seek: w.seek, begin: w.begin(), end: seconds(w.seek + r.frames), soundEnd: w.begin() + seconds(w.size),
			lastSpeech: r.lastWord, clip: seconds(r.src.Frames()),
		}
		keep, at, whole := skipSilence(w.segments, bounds, limit, r.src.Frames())
		if at >= 0 {
			r.log.Debug("silence before a likely hallucination is skipped", "seek", w.seek, "next", at,
				"segments", len(w.segments)-keep)
			w.segments, next, w.dropped = w.segments[:keep], at, whole
		}
	}
	return next
}

// joinPunctuation joins marks to the words beside them. A word that was joined to
// another is left empty. (The empty string counts as punctuation, as it does upstream.)
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, merge_punctuations.
func joinPunctuation(words []wordTime, prepend, appended string) {
	for i, j := len(words)-2, len(words)-1; i >= 0; i-- {
		previous, following := &words[i], &words[j]
		if strings.HasPrefix(previous.word, " ") && strings.Contains(prepend, tokenizer.Strip(previous.word)) {
			following.word = previous.word + following.word
			following.tokens = slices.Concat(previous.tokens, following.tokens)
			previous.word, previous.tokens = "", nil
		} else {
			j = i
		}
	}
	for i, j := 0, 1; j < len(words); j++ {
		previous, following := &words[i], &words[j]
		if !strings.HasSuffix(previous.word, " ") && strings.Contains(appended, following.word) {
			previous.word += following.word
			previous.tokens = slices.Concat(previous.tokens, following.tokens)
			following.word, following.tokens = "", nil
		} else {
			i = j
		}
	}
}

// joinNumbers joins the parts of a number that its separators divide: "$43" and ",000." A word that was
// joined to another is left empty.
func joinNumbers(words []wordTime) {
	last := -1 // the last word that is not empty
	for i := range words {
		w := &words[i]
		if w.word == "" {
			continue
		}
		if last >= 0 && continuesNumber(words[last].word, w.word) {
			n := &words[last]
			all := float64(len(n.tokens) + len(w.tokens))
			n.probability = (n.probability*float64(len(n.tokens)) + w.probability*float64(len(w.tokens))) / all
			n.word, n.end = n.word+w.word, w.end
			n.tokens = slices.Concat(n.tokens, w.tokens)
			w.word, w.tokens = "", nil
			continue
		}
		last = i
	}
}

// continuesNumber reports whether two words are parts of one number: digits, a separator, digits.
func continuesNumber(before, after string) bool {
	const separators = ".,:/'’"
	end := strings.TrimRight(before, separators)
	start := strings.TrimLeft(after, separators)
	r, _ := utf8.DecodeLastRuneInString(end)
	first, _ := utf8.DecodeRuneInString(start)
	divided := len(end) < len(before) || len(start) < len(after)
	return divided && unicode.IsDigit(r) && unicode.IsDigit(first)
}

// typicalDuration returns the median of the durations that are not 0, at most 0.7 s.
func typicalDuration(words []wordTime) float64 {
	var all []float64
	for _, w := range words {
		if d := w.end - w.start; d != 0 {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	n := len(all)
	return min(0.7, (all[(n-1)/2]+all[n/2])/2)
}

// limitSentenceEnds shortens words at the ends of sentences to most seconds.
func limitSentenceEnds(words []wordTime, most float64) {
	for i := 1; i < len(words); i++ {
		if words[i].end-words[i].start <= most {
			continue
		}
		if strings.Contains(sentenceEnds, words[i].word) {
			words[i].end = words[i].start + most
		} else if strings.Contains(sentenceEnds, words[i-1].word) {
			words[i].start = words[i].end - most
		}
	}
}

// addWords adds the words to the segments of one window and fits the segments' times to them.
// last is the time at which speech ended before the window.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, add_word_timestamps.
func (t *Transcriber) addWords(segments []transcript.Segment, times []wordTime, last float64) {
	typical := typicalDuration(times)
	limitSentenceEnds(times, 2*typical)
	joinPunctuation(times, t.opt.PrependPunctuations, t.opt.AppendPunctuations)
	if t.opt.Strategy != Upstream {
		joinNumbers(times)
	}
	next := 0
	for i := range segments {
		s := &segments[i]
		text, used := len(textOf(t.model.Tokenizer, s.Tokens)), 0
		s.Words = []transcript.Word{}
		for next < len(times) && used < text {
			w := times[next]
			if w.word != "" {
				offset := seconds(s.Seek)
				s.Words = append(s.Words, transcript.Word{
					Word: w.word, Start: round2(offset + w.start), End: round2(offset + w.end),
					Probability: w.probability,
				})
			}
			used += len(w.tokens)
			next++
		}
		if len(s.Words) > 0 {
			limitFirst(s.Words, last, typical)
			fitEnds(s, typical)
			last = s.End
		}
	}
}

// limitFirst shortens the first two words after a pause if they are too long for speech.
func limitFirst(words []transcript.Word, last, typical float64) {
	most, first := 2*typical, &words[0]
	long := first.End-first.Start > most || len(words) > 1 && words[1].End-first.Start > 2*most
	if !(first.End-last > 4*typical) || !long {
		return
	}
	if len(words) > 1 && words[1].End-words[1].Start > most {
		boundary := max(words[1].End/2, words[1].End-most)
		first.End, words[1].Start = boundary, boundary
	}
	first.Start = max(0, first.End-most)
}

// fitEnds sets the start and the end of a segment to those of its first and last words. A first word
// that overlaps the segment but begins over 0.5 s before it is fitted to the segment instead, and so is
// a last word that ends over 0.5 s after it.
func fitEnds(s *transcript.Segment, typical float64) {
	first, last := &s.Words[0], &s.Words[len(s.Words)-1]
	if s.Start < first.End && s.Start-0.5 > first.Start {
		first.Start = max(0, min(first.End-typical, s.Start))
	} else {
		s.Start = first.Start
	}
	if s.End > last.Start && s.End+0.5 < last.End {
		last.End = max(last.Start+typical, s.End)
	} else {
		s.End = last.End
	}
}

// textOf returns the tokens that words are made of, without timestamps and other specials.
func textOf(t *tokenizer.Tokenizer, tokens []tokenizer.Token) (text []tokenizer.Token) {
	for _, tok := range tokens {
		if isTimed(t, tok) {
			text = append(text, tok)
		}
	}
	return text
}

// isTimed reports whether words are made of tok: a text token below end-of-text, since
// alignment has probabilities for no others.
func isTimed(t *tokenizer.Tokenizer, tok tokenizer.Token) bool { return tok < t.EOT && t.IsText(tok) }

// round2 rounds to hundredths as Python's round does: by the exact value.
func round2(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 2, 64), 64)
	return v
}

// lastWordEnd returns the end of the last word of segments, or of the last segment if
// there are no words; false without any segment.
//
// Source: openai/whisper@c0d2f62 whisper/utils.py, get_end.
func lastWordEnd(segments []transcript.Segment) (float64, bool) {
	for _, s := range slices.Backward(segments) {
		if n := len(s.Words); n > 0 {
			return s.Words[n-1].End, true
		}
	}
	if n := len(segments); n > 0 {
		return segments[n-1].End, true
	}
	return 0, false
}

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

// isAnomaly reports whether the first eight words of a segment, not counting punctuation, look like
// a hallucination. It is false for nil.
func isAnomaly(s *transcript.Segment) bool {
	if s == nil || len(s.Words) == 0 {
		return false
	}
	words, score := 0, 0.0
	for _, w := range s.Words {
		if words == 8 {
			break
		}
		if !strings.Contains(punctuation, w.Word) {
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

// A windowTimes holds the times of a window that the rule against hallucinations needs, in seconds.
type windowTimes struct {
	seek                 int     // frame of the window
	begin, end, soundEnd float64 // of the window, and the end of its frames
	lastSpeech           float64 // end of the last word before the window
	clip                 float64 // length of the clip
}

// punctuation holds the marks that isAnomaly does not count as words.
const punctuation = defaultPrepend + defaultAppend

// skipSilence finds the first hallucination surrounded by silence, so that the audio after it is decoded
// again. It returns how many segments to keep and the frame to continue at, which is negative if there is no
// hallucination. whole is true if all segments are dropped because the window begins with silence.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "if first segment might be a hallucination"
// and after.
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
		if isAnomaly(s) && p.isIsolated(s, nextWithWords(segments[i+1:]), last, threshold) {
			if p.clip-s.End < threshold {
				return i, clipFrames, false
			}
			return i, frameCount(max(p.begin+1, s.Start)), false
		}
		last = s.End
	}
	return len(segments), -1, false
}

// isIsolated reports whether there is silence, or another hallucination, on both sides of s.
func (p windowTimes) isIsolated(s, next *transcript.Segment, last, threshold float64) bool {
	after := p.soundEnd
	if next != nil {
		after = next.Words[0].Start
	}
	before := s.Start-last > threshold || s.Start < threshold || s.Start-p.begin < 2
	return before && (after-s.End > threshold || isAnomaly(next) || p.end-s.End < 2)
}
