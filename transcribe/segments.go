package transcribe

import (
	"math"
	"slices"

	"verity/tokenizer"
	"verity/transcript"
)

// A tokenSpan is a run of a window's tokens with its times, in seconds from the start of the window.
type tokenSpan struct {
	tokens     []tokenizer.Token
	start, end float64
}

// framesPerStep is the number of mel frames in a timestamp step of 0.02 s.
const framesPerStep = 2

// divide makes segments of a window's tokens, and says where the next window begins.
func (r *transcription) divide(w *window) {
	tok := r.t.model.Tokenizer
	pieces, advance := splitAtTimestamps(tok, w.attempt.tokens, w.size)
	if advance <= 0 {
		// Upstream would decode the same window for ever.
		pieces, advance = wholeWindow(tok, w.attempt.tokens, w.size), r.skipWindow(w)
	}
	// A vocabulary may have timestamps beyond the end of a short window.
	w.advance = min(advance, r.frames)
	w.segments = r.segmentsOf(w, pieces)
	if r.t.opt.Strategy != Upstream {
		w.advance = min(w.advance, w.size)
		endWithSound(w.segments, w.begin(), w.end())
	}
}

// skipWindow counts a window whose timestamps do not advance. The next one begins where it ends.
func (r *transcription) skipWindow(w *window) (advance int) {
	r.stats.Stuck++
	r.log.Warn("timestamps do not advance: keeping the window as one segment", "seek", w.seek)
	return w.size
}

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

// segmentsOf makes segments of the pieces of a window's tokens.
func (r *transcription) segmentsOf(w *window, pieces []tokenSpan) []transcript.Segment {
	offset, a := w.begin(), w.attempt
	var here detection
	if r.t.opt.Multilingual || w.language.Code != r.clipLanguage.Code {
		here = w.language
	}
	segments := make([]transcript.Segment, len(pieces))
	marks, logProbs := a.Marks, a.logProbs
	if !r.t.opt.TokenOrigins {
		marks = nil
	}
	for i, p := range pieces {
		s := transcript.Segment{
			Seek: w.seek, Start: offset + p.start, End: offset + p.end,
			Text: r.t.model.Tokenizer.Decode(p.tokens), Tokens: p.tokens,
			Temperature: a.temperature, AvgLogProb: a.logProb,
			CompressionRatio: a.compression, NoSpeechProb: a.noSpeech,
			Language: here.Code, LanguageProbability: here.probability,
		}
		s.LogProbs, logProbs = logProbs[:len(p.tokens)], logProbs[len(p.tokens):]
		if len(marks) > 0 {
			s.Origins, marks = marks[:len(p.tokens)], marks[len(p.tokens):]
		}
		segments[i] = s
	}
	return segments
}

// numberSegments numbers new segments. One without duration or text stays, but loses its tokens and words.
func (r *transcription) numberSegments(segments []transcript.Segment) {
	for i := range segments {
		s := &segments[i]
		s.ID = len(r.segments) + i
		if s.Start == s.End || s.TrimmedText() == "" {
			s.Text, s.Tokens, s.LogProbs, s.Origins = "", []tokenizer.Token{}, nil, nil
			if s.Words != nil {
				s.Words = []transcript.Word{}
			}
		}
	}
}

// endWithSound moves times that lie after limit, the end of a window's sound, since a model may write
// timestamps there. begin is the start of the window. Segments that begin after limit share the time of the
// last one that begins before it, by the lengths of their texts. Both are in seconds.
func endWithSound(segments []transcript.Segment, begin, limit float64) {
	if !slices.ContainsFunc(segments, func(s transcript.Segment) bool { return s.End > limit }) {
		return
	}
	late := len(segments)
	for late > 0 && segments[late-1].Start >= limit {
		late--
	}
	if shared := segments[max(0, late-1):]; late < len(segments) && len(shared) > 0 {
		at, size := min(max(begin, shared[0].Start), limit), 0
		if late == 0 {
			at = begin
		}
		for _, s := range shared {
			size += max(1, len(s.Text))
		}
		share := (limit - at) / float64(size)
		for i := range shared {
			s := &shared[i]
			s.Start = at
			at += share * float64(max(1, len(s.Text)))
			s.End = at
		}
	}
	for i := range segments {
		s := &segments[i]
		s.End = min(s.End, limit)
		for k := range s.Words {
			w := &s.Words[k]
			w.End = min(w.End, limit)
			w.Start = min(w.Start, w.End)
		}
	}
}
