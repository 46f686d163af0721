package transcribe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"verity/audio"
	"verity/tokenizer"
	"verity/transcript"
)

// A text that is given is timed in three steps. The clip is transcribed as ever, with the text as draft. Its words and
// those of the text are aligned by edit distance; where both are the same for long enough, the word of the text has the
// times of the one that was heard. What is left of the text between two such words is run through the decoder, as word
// times are found everywhere (align.go), in windows of the sound between them. So an error of the text or of
// the model moves no word beside it. docs/ACCURACY.md has the measurements.

const (
	leastFound  = 0.3 // share of the words, below which the text is of another recording
	textContext = 3.0 // s of known words around those that are run through the decoder
	mostSpoken  = 8.0 // words in a second; more do not fit into the sound
	leastAlike  = 0.5 // share of the letters of a word that must be among those heard

	// Words between those that were found were said if the model finds them as likely: words that are written like what was
	// heard, and other words.
	leastLikeHeard = 0.001
	leastOther     = 0.3
)

// WithText returns a Transcriber like t that writes a text that is given, word for word, with the times at which the clip
// has its words. Each cue with times becomes a segment; other cues become one for each line and, if it is long,
// sentence. Transcript.Differences has what the clip and the text do not have in common. A text of another recording is
// an error. WithText is cheap: every clip has its own.
func (t *Transcriber) WithText(cues []transcript.Cue) (*Transcriber, error) {
	var lines, spoken []transcript.Cue
	for _, c := range cues {
		for line := range strings.SplitSeq(c.Text, "\n") {
			if _, err := t.encodeText("text", line); err != nil {
				return nil, err
			}
			if spoken = append(spoken, transcript.Cue{Text: line}); !c.HasTimes() { // which may be wrong
				lines = append(lines, transcript.Cue{Text: line})
			}
		}
		if c.HasTimes() {
			lines = append(lines, c)
		}
	}
	lines = slices.DeleteFunc(lines, func(c transcript.Cue) bool { return tokenizer.Strip(c.Text) == "" })
	switch {
	case len(lines) == 0:
		return nil, errors.New("the text is empty")
	case t.opt.Task == Translate:
		return nil, errors.New("a text is aligned with the words that are spoken: leave out the task translate")
	case t.model.Tokenizer.NoTimestamps == tokenizer.None:
		return nil, errors.New("the vocabulary has no token for timestamps off, which finding words needs")
	}
	n := t.withDraft(spoken)
	n.alignCues, n.replacer, n.warnsUseless, n.opt.WordTimestamps = lines, nil, false, true
	return n, nil
}

// A textWord is a word of the text. Its times are those of the clip.
type textWord struct {
	wordTime
	line   int
	timed  bool // it was said, and its times are known
	forced bool // it was run through the decoder

	heard *wordTime // its times as heard, if they are in doubt
}

func (w textWord) isTimed() bool { return w.timed }

// textWords returns the words of the text, as those of a transcript are, and the lines that they are of. Between them they
// have all bytes of a line, but for white space at its ends. A long line without times is divided at the ends of sentences.
func (t *Transcriber) textWords(language string) (words []textWord, lines []transcript.Cue) {
	const prose = 120 // bytes
	tok := t.model.Tokenizer
	for _, l := range t.alignCues {
		lines = append(lines, l)
		text := tokenizer.Strip(l.Text)
		if r, _ := utf8.DecodeRuneInString(text); !tokenizer.IsUnspaced(r) {
			text = " " + text
		}
		parts, groups := tok.SplitToWords(tok.Encode(strings.ReplaceAll(text, "\n", " ")), language)
		list := make([]wordTime, len(parts))
		for k, part := range parts {
			list[k] = wordTime{word: part, tokens: groups[k]}
		}
		joinPunctuation(list, t.opt.PrependPunctuations, t.opt.AppendPunctuations)
		joinNumbers(list)
		first := len(words)
		for _, w := range list {
			w.word, text = text[:len(w.word)], text[len(w.word):] // with its line breaks
			if last := len(words) - 1; last >= first && (len(unitsOf(w.word)) == 0 || len(unitsOf(words[last].word)) == 0) {
				words[last].word += w.word
				words[last].tokens = slices.Concat(words[last].tokens, w.tokens)
			} else if w.word != "" {
				if last >= first && !l.HasTimes() && len(l.Text) > prose && transcript.EndsSentence(words[last].word, w.word) {
					lines = append(lines, l)
				}
				words = append(words, textWord{wordTime: w, line: len(lines) - 1})
			}
		}
	}
	return words, lines
}

// writeText replaces the words of a transcript of the clip by those of the text. Unless speakers are to be named, it
// reports the segments.
func (t *Transcriber) writeText(ctx context.Context, clip *audio.Clip, tr *transcript.Transcript, report Callbacks) error {
	var heard []transcript.Word
	for _, s := range tr.Segments {
		heard = append(heard, s.Words...)
	}
	words, lines := t.textWords(tr.Language)
	m, err := matchText(ctx, words, heard, tr.Duration)
	if err == nil {
		err = t.timeGaps(ctx, clip, tr, m)
	}
	if err != nil {
		return err
	}
	for _, g := range m.gaps {
		if d := m.judge(g); d.Text+d.Heard != "" {
			tr.Differences = append(tr.Differences, d)
		}
	}
	tr.Segments = m.segments(lines, tr.Segments, tr.Duration)
	tr.Text = ""
	for _, s := range tr.Segments {
		if tr.Text += s.Text; report.Segment != nil && t.opt.Speakers == nil {
			report.Segment(s)
		}
	}
	return nil
}

// timeGaps finds the times of the words in gaps, by the sound there.
func (t *Transcriber) timeGaps(ctx context.Context, clip *audio.Clip, tr *transcript.Transcript, m *textMatch) error {
	byFirst := map[int]textGap{} // by the first word
	for _, g := range m.gaps {
		if g.from < g.to {
			byFirst[g.from] = g
		}
	}
	if len(byFirst) == 0 {
		return nil
	}
	if err := clip.Rewind(); err != nil {
		return err
	}
	began := time.Now()
	s, err := audio.NewSpectrogram(ctx, clip, t.melOptions())
	if err != nil {
		return err
	}
	r := t.newTranscription(tr.Name, soundFile{s}, Callbacks{})
	language, _ := t.model.Tokenizer.Language(tr.Language)
	room := t.model.Dims.TextPositions - len(t.languageAndTask(language)) - 2 // for <|notimestamps|> and <|endoftext|>
	for at := 0; at < len(m.words); at++ {
		g, ok := byFirst[at]
		if length := g.end - g.start; !ok || length > seconds(r.frames)-textContext || float64(g.to-g.from) > mostSpoken*(length+1) {
			continue
		}
		span := m.window(g, byFirst, seconds(r.frames), room)
		if at = max(at, span.to-1); span.to == span.from {
			continue
		}
		if err := r.timeSpan(ctx, m, span, language); err != nil {
			return err
		}
	}
	tr.Stats.Seconds.Words += time.Since(began).Seconds()
	return nil
}

// window returns the words around a gap, and those of further gaps, that are run through the decoder together: as many as
// fit into a window of so many seconds and tokens.
func (m *textMatch) window(g textGap, byFirst map[int]textGap, length float64, tokens int) textGap {
	span, last := g, g.end // end of the last gap
	for span.from > 0 && m.words[span.from-1].timed && m.words[span.from-1].start > g.start-textContext {
		span.from--
		span.start = m.words[span.from].start
	}
	for _, w := range m.words[span.from:span.to] {
		tokens -= len(w.tokens)
	}
	if tokens < 0 {
		return textGap{from: g.from, to: g.from}
	}
	for span.to < len(m.words) {
		next := textGap{to: span.to + 1, end: m.words[span.to].end}
		if n, ok := byFirst[span.to]; ok {
			next = n
			last = max(last, n.end)
		}
		for _, w := range m.words[span.to:next.to] {
			tokens -= len(w.tokens)
		}
		if tokens < 0 || next.end > span.start+length || m.words[span.to].timed && m.words[span.to].start > last+textContext {
			break
		}
		span.to, span.end = next.to, max(span.end, next.end)
	}
	return span
}

// timeSpan runs words through the decoder and sets the times of those that have none.
func (r *transcription) timeSpan(ctx context.Context, m *textMatch, span textGap, language tokenizer.Language) error {
	var text []tokenizer.Token
	for _, w := range m.words[span.from:span.to] {
		text = append(text, w.tokens...)
	}
	seek := int(span.start * audio.FramesPerSecond)
	w := &window{seek: seek, size: min(frameCount(span.end), r.src.Frames(), seek+r.frames) - seek}
	w.frames = r.encodedFrames(w.size)
	defer w.close()
	if err := r.encode(ctx, w); err != nil {
		return err
	}
	times, err := w.encoded.words(ctx, r.t.languageAndTask(language), text, language.Code, w.size, r.t.opt.Strategy != Upstream)
	if err != nil {
		return err
	}
	at := span.from
	have := 0 // tokens of the word
	for _, part := range times {
		for ; at < span.to && have >= len(m.words[at].tokens); at++ {
			have = 0
		}
		word := &m.words[at]
		start, end := w.begin()+part.start, w.begin()+part.end
		if !word.timed {
			if have == 0 {
				word.start, word.end = start, end
			} else if len(unitsOf(part.word)) > 0 {
				word.end = end
			}
			word.probability += part.probability * float64(len(part.tokens)) / float64(len(word.tokens))
		}
		have += len(part.tokens)
	}
	for i := span.from; i < span.to; i++ {
		m.words[i].forced = true
	}
	return nil
}

// segments returns the lines as segments. old are those that were heard.
func (m *textMatch) segments(lines []transcript.Cue, old []transcript.Segment, duration float64) (all []transcript.Segment) {
	said := m.saidFrom(duration)
	moved := said[0] // how far the times of lines were off
	if i := slices.IndexFunc(m.words, textWord.isTimed); i >= 0 {
		moved -= lines[m.words[i].line].Start
	}
	ended, o := 0., transcript.Segment{}
	for from, to := 0, 0; from < len(m.words); from = to {
		l, at := lines[m.words[from].line], ended
		for to = from; to < len(m.words) && m.words[to].line == m.words[from].line; to++ {
		}
		words := m.words[from:to]
		if start := said[from]; slices.ContainsFunc(words, textWord.isTimed) {
			at, moved = start, start-l.Start // of the words that were not said, which have no time of their own
			for i := range words {
				if w := &words[i]; !w.timed {
					w.start, w.end = at, at
				}
				at = words[i].end
			}
		} else {
			if l.HasTimes() { // it moves with the line before it
				at = min(max(l.Start+moved, ended), start)
			}
			length := max(0, min(l.End-l.Start, start-at)) / float64(len(words))
			for i := range words {
				words[i].start, words[i].end = at+length*float64(i), at+length*float64(i+1)
			}
		}
		for len(old) > 0 && (o.Tokens == nil || old[0].Start <= words[0].start) {
			o, old = old[0], old[1:]
		}
		s := segmentWith(words, o)
		s.ID, s.Fixed = len(all), l.HasTimes()
		if ended = s.End; s.Fixed { // it stays as long as it did, if the next one leaves room
			s.End = max(s.End, min(s.Start+l.End-l.Start, said[to], duration))
		}
		all = append(all, s)
	}
	return all
}

// saidFrom returns for each word, and for the end of the text, when the first word from there on that was said begins;
// end without one.
func (m *textMatch) saidFrom(end float64) []float64 {
	starts := make([]float64, len(m.words)+1)
	starts[len(m.words)] = end
	for i, w := range slices.Backward(m.words) {
		if starts[i] = starts[i+1]; w.timed {
			starts[i] = w.start
		}
	}
	return starts
}

// segmentWith returns words as a segment, with the figures of one that was heard.
func segmentWith(words []textWord, heard transcript.Segment) transcript.Segment {
	s := transcript.Segment{
		Start: round2(words[0].start), End: round2(words[len(words)-1].end), Seek: heard.Seek,
		Language: heard.Language, LanguageProbability: heard.LanguageProbability, Temperature: heard.Temperature,
		AvgLogProb: heard.AvgLogProb, CompressionRatio: heard.CompressionRatio, NoSpeechProb: heard.NoSpeechProb,
	}
	for _, w := range words {
		s.Text += w.word
		s.Tokens = append(s.Tokens, w.tokens...)
		s.Words = append(s.Words, transcript.Word{Word: w.word, Start: round2(w.start), End: round2(w.end), Probability: w.probability})
	}
	return s
}
