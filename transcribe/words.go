package transcribe

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/decoder"
	"verity/tokenizer"
	"verity/transcript"
)

// Punctuation that upstream joins to the word after it and to the word before it.
const (
	defaultPrepend = "\"'“¿([{-"
	defaultAppend  = "\"'.。,，!！?？:：”)]}、"
)

const sentenceEnds = ".。!！?？"

// A wordQuery asks a window for the times of a text's words.
type wordQuery struct {
	start    []tokenizer.Token // of the sequence: start-of-transcript, language, task
	text     []tokenizer.Token
	language string
	heads    []decoder.Head
	frames   int // of the window that count
}

// findWords gives the segments of a window their words. It returns the segments to keep
// and how far to move on; dropped says that the window is to be decoded again from
// there, and nothing kept.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "if word_timestamps".
func (r *transcription) findWords(
	ctx context.Context, w window, segments []transcript.Segment, a attempt, size, advance int,
) (kept []transcript.Segment, move int, dropped bool, err error) {
	began := time.Now()
	var text []tokenizer.Token
	for _, s := range segments {
		text = append(text, textOf(r.t.model.Tokenizer, s.Tokens)...)
	}
	times, err := w.words(ctx, wordQuery{
		start: r.t.startOf(r.here.language), text: text, language: r.here.language.Code,
		heads: r.t.heads, frames: size,
	})
	if err != nil {
		return nil, 0, false, err
	}
	r.stats.Seconds.Words += time.Since(began).Seconds()
	r.t.addWords(segments, times, r.lastWord)

	seek, begin := r.at.seek, seconds(r.at.seek)
	next := seek + advance
	end, any := lastWordEnd(segments)
	if limit := r.t.opt.HallucinationSilence; !endsInSingle(r.t.model.Tokenizer, a.tokens) && any && end > begin {
		next = frameCount(end)
		if limit > 0 && !(seconds(seek+r.frames)-end > limit) {
			next = seek + size
		}
	}
	if r.t.opt.HallucinationSilence > 0 {
		keep, at, whole := skipSilence(segments, r.windowTimes(size), r.t.opt.HallucinationSilence, r.src.Frames())
		if at >= 0 {
			r.log.Debug("silence before a likely hallucination is skipped", "seek", seek, "next", at,
				"segments", len(segments)-keep)
			segments, next, dropped = segments[:keep], at, whole
		}
	}
	if next <= seek {
		next = seek + r.stuck(size)
	}
	if end, any := lastWordEnd(segments); any {
		r.lastWord = end
	}
	return segments, next - seek, dropped, nil
}

// windowTimes describes the window at the cursor.
func (r *transcription) windowTimes(size int) windowTimes {
	return windowTimes{
		seek: r.at.seek, begin: seconds(r.at.seek),
		end:        seconds(r.at.seek + r.frames),
		soundEnd:   seconds(r.at.seek) + seconds(size),
		lastSpeech: r.lastWord, clip: seconds(r.src.Frames()),
	}
}

// joinPunctuation joins marks to the words beside them. A word that was joined to
// another is left empty. (As upstream, the empty string counts as punctuation.)
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

// addWords gives segments of one window their words, and times that fit these. last is
// where speech ended before the window.
//
// Source: openai/whisper@c0d2f62 whisper/timing.py, add_word_timestamps.
func (t *Transcriber) addWords(segments []transcript.Segment, times []wordTime, last float64) {
	typical := typicalDuration(times)
	if hasDuration(times) {
		limitSentenceEnds(times, 2*typical)
	}
	joinPunctuation(times, t.opt.PrependPunctuations, t.opt.AppendPunctuations)
	next := 0
	for i := range segments {
		s := &segments[i]
		text, taken := countText(t.model.Tokenizer, s.Tokens), 0
		s.Words = []transcript.Word{}
		for next < len(times) && taken < text {
			w := times[next]
			if w.word != "" {
				offset := seconds(s.Seek)
				s.Words = append(s.Words, transcript.Word{
					Word: w.word, Start: round2(offset + w.start), End: round2(offset + w.end),
					Probability: w.probability,
				})
			}
			taken += len(w.tokens)
			next++
		}
		if len(s.Words) > 0 {
			limitFirst(s.Words, last, typical)
			fitEnds(s, typical)
			last = s.End
		}
	}
}

func hasDuration(words []wordTime) bool {
	return slices.ContainsFunc(words, func(w wordTime) bool { return w.end != w.start })
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

// fitEnds makes the times of a segment those of its words, or the other way round
// where a word at its end is too long.
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

// textOf returns the tokens of text, without timestamps and other special tokens.
func textOf(t *tokenizer.Tokenizer, tokens []tokenizer.Token) (text []tokenizer.Token) {
	for _, tok := range tokens {
		if tok < t.EOT {
			text = append(text, tok)
		}
	}
	return text
}

func countText(t *tokenizer.Tokenizer, tokens []tokenizer.Token) int { return len(textOf(t, tokens)) }

// round2 rounds to hundredths as Python's round does: by the exact value.
func round2(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 2, 64), 64)
	if err != nil {
		return x // cannot happen: it was just formatted
	}
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
