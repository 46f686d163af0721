package transcript

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A cue is what a subtitle shows, and when.
type cue struct {
	start, end float64 // s
	speaker    string
	parts      []part
	from       int  // index of the first part among those of the transcript
	marked     int  // index within parts of the underlined one; -1 for none
	filler     bool // between underlined words; left out where there is no time for it
}

// newCue returns a cue that lasts as long as its parts.
func newCue(parts []part, from int) cue {
	c := cue{start: parts[0].start, speaker: parts[0].speaker, parts: parts, from: from, marked: -1}
	for _, p := range parts {
		c.start, c.end = min(c.start, p.start), max(c.end, p.end)
	}
	return c
}

// text returns the text before the underlined part, that part, and the text after it.
func (c cue) text() (before, marked, after string) {
	var texts [3]strings.Builder
	for i, p := range c.parts {
		lead, word := spaceBefore(p.text)
		switch {
		case i == 0 && p.named:
			lead = p.speaker + ": "
		case i == 0 && p.dash != "":
			lead = p.dash
		case p.dash != "":
			lead = "\n" + p.dash
		case i == 0:
			lead = ""
		case p.newline:
			lead = "\n"
		}
		switch {
		case c.marked < 0 || i < c.marked:
			texts[0].WriteString(lead + word)
		case i == c.marked:
			texts[0].WriteString(lead)
			texts[1].WriteString(word)
		default:
			texts[2].WriteString(lead + word)
		}
	}
	return withoutArrow(texts[0].String()), withoutArrow(texts[1].String()), withoutArrow(texts[2].String())
}

func spaceBefore(text string) (space, rest string) {
	rest = strings.TrimLeftFunc(text, unicode.IsSpace)
	return text[:len(text)-len(rest)], rest
}

var arrow = regexp.MustCompile(`--+>`)

// withoutArrow shortens arrows, which subtitles have only between their times.
func withoutArrow(text string) string { return arrow.ReplaceAllString(text, "->") }

// cues returns the subtitles of t in order. Each has text and lasts for at least one unit of time, of which
// a second has perSecond; none ends after the sound, or before its last word does unless the sound ends.
// Every word is in exactly one, or underlined in exactly one. With names, a cue begins with the speaker's name when the
// speaker changes.
func (o Subtitles) cues(t *Transcript, names bool, perSecond float64) []cue {
	timed := slices.ContainsFunc(t.Segments, func(s Segment) bool { return len(s.Words) > 0 })
	parts, cut := t.segmentParts(), o.split
	switch {
	case o.Composed:
		c := o.composer()
		parts, cut = t.wordParts(columns, c.width), c.compose
		t.fix(parts)
	case timed || o.MaxLineWidth > 0 || o.MaxWordsPerLine > 0:
		parts = t.wordParts(characters, float64(o.MaxLineWidth))
		t.fix(parts)
	}
	all, names := cut(parts), names && o.Dash == "" && !o.Unnamed
	for names && nameSpeakers(all, parts) {
		all = cut(parts)
	}
	if o.Composed && o.Dash != "" {
		all = o.composer().dialogues(all, o.Dash)
	}
	if o.HighlightWords && timed {
		all = highlighted(all)
	}
	return settle(all, t.Duration, perSecond)
}

// nameSpeakers sorts cues by their starts, and names the speaker of those that follow another speaker's, at most
// one in each turn: names need room, so that the cues behind it in the turn may change. It reports whether one had
// no name; the cues must then be cut anew.
func nameSpeakers(cues []cue, parts []part) (changed bool) {
	turn := make([]int, len(parts))
	for i := 1; i < len(parts); i++ {
		if turn[i] = turn[i-1]; parts[i].named || parts[i].speaker != parts[i-1].speaker {
			turn[i]++
		}
	}
	byStart(cues)
	last, done := "", map[int]bool{}
	for _, c := range cues {
		p := &parts[c.from]
		if c.speaker != last && c.speaker != "" && !p.named && !done[turn[c.from]] {
			p.named, done[turn[c.from]], changed = true, true, true
		}
		last = c.speaker
	}
	return changed
}

func byStart(cues []cue) {
	slices.SortStableFunc(cues, func(a, b cue) int { return cmp.Compare(a.start, b.start) })
}

// wordsUnlimited is upstream's value for no limit.
const wordsUnlimited = 1000

// split cuts parts into cues with line breaks, as upstream does.
//
// Source: openai/whisper@c0d2f62 whisper/utils.py, SubtitlesWriter.iterate_result.
func (o Subtitles) split(parts []part) []cue {
	s := splitter{
		keepSegments: o.MaxLineCount == 0 || o.MaxLineWidth == 0,
		width:        float64(cmp.Or(o.MaxLineWidth, math.MaxInt32)), lines: o.MaxLineCount, line: 1,
	}
	segment, words := -1, 0
	for i, p := range parts {
		if p.segment != segment {
			segment, words = p.segment, 0
		}
		s.add(p, i, words%cmp.Or(o.MaxWordsPerLine, wordsUnlimited) == 0)
		words++
	}
	s.end()
	return s.cues
}

// A splitter collects parts into lines and lines into cues.
type splitter struct {
	keepSegments bool
	width        float64 // most characters of a line
	lines        int     // most lines of a cue; 0 means no limit

	parts  []part  // of the cue so far
	from   int     // index of the first of them
	length float64 // of its last line
	line   int     // number of its last line
	cues   []cue
}

// add adds a part. first means that it begins its segment or a chunk of MaxWordsPerLine words.
func (s *splitter) add(p part, i int, first bool) {
	pause, breaks := false, false
	if last := len(s.parts) - 1; last >= 0 {
		pause = !s.keepSegments && p.start-s.parts[last].start > 3
		breaks = first && s.keepSegments || p.named || p.speaker != s.parts[last].speaker
	}
	if n := characters(p.text); s.length > 0 && s.length+n <= s.width && !pause && !breaks && !p.newline {
		s.length += n
	} else {
		if len(s.parts) > 0 && s.lines > 0 && (pause || s.line >= s.lines) || breaks {
			s.end()
		} else if s.length > 0 {
			s.line++
			p.newline = true
		}
		s.length = characters(p.atLineStart())
	}
	if len(s.parts) == 0 {
		s.from = i
	}
	s.parts = append(s.parts, p)
}

// end ends a cue.
func (s *splitter) end() {
	if len(s.parts) > 0 {
		s.cues = append(s.cues, newCue(s.parts, s.from))
	}
	s.parts, s.line = nil, 1
}

// highlighted returns a cue for each word of cues, which is underlined, and for the time between words.
func highlighted(cues []cue) (all []cue) {
	for _, c := range cues {
		one := func(start, end float64, marked int) {
			word := c
			word.start, word.end, word.marked, word.filler = start, end, marked, marked < 0
			all = append(all, word)
		}
		last := c.start
		for i, p := range c.parts {
			start := min(max(p.start, last), max(c.end, last))
			if start > last {
				one(last, start, -1)
			}
			last = min(max(p.end, start), max(c.end, start))
			one(start, last, i)
		}
		if c.end > last {
			one(last, c.end, -1)
		}
	}
	return all
}

// shortest is the time that a cue or word gets, in seconds, if the model gave it none: one step of the model's
// timestamps.
const shortest = 0.02

// settle rounds times to units of which a second has perSecond, and returns the cues by their starts: none
// before 0, without duration, or after the end of the sound, whose duration is 0 if it is unknown. A cue
// gets the time that it needs from those of its speaker around it.
func settle(cues []cue, duration, perSecond float64) (settled []cue) {
	bySpeaker := map[string][]cue{}
	var speakers []string
	for _, c := range cues {
		if bySpeaker[c.speaker] == nil {
			speakers = append(speakers, c.speaker)
		}
		bySpeaker[c.speaker] = append(bySpeaker[c.speaker], c)
	}
	limit := math.Inf(1)
	if duration > 0 {
		limit = max(1, math.Floor(duration*perSecond+1e-6))
	}
	for _, name := range speakers {
		list := bySpeaker[name]
		byStart(list)
		for i := range list {
			list[i].start = max(0, math.RoundToEven(list[i].start*perSecond))
			list[i].end = math.RoundToEven(list[i].end * perSecond)
		}
		settled = append(settled, separate(list, max(1, shortest*perSecond), limit)...)
	}
	for i := range settled {
		settled[i].start, settled[i].end = settled[i].start/perSecond, settled[i].end/perSecond
	}
	byStart(settled)
	return settled
}

// separate moves cues without duration apart, to at least least units each, and then those that end after
// limit forward.
func separate(list []cue, least, limit float64) []cue {
	free := 0.0 // end of the last cue that was made longer
	kept := list[:0]
	for _, c := range list {
		if c.start = max(c.start, free); c.end <= c.start {
			if c.filler {
				continue
			}
			c.end = c.start + least
			free = c.end
		}
		kept = append(kept, c)
	}
	last := limit
	for i, c := range slices.Backward(kept) {
		if c.end = min(c.end, last); c.end <= c.start {
			c.start = max(0, c.end-least)
			c.end = max(1, c.end)
			last = c.start
		} else {
			last = limit
		}
		kept[i] = c
	}
	return kept
}

// JoinWords returns the text of words.
func JoinWords(words []Word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.Word)
	}
	return b.String()
}

// rows returns the segments with text as cues, for formats with a row for each.
func (t *Transcript) rows(perSecond float64) []cue {
	var all []cue
	for i, p := range t.segmentParts() {
		all = append(all, newCue([]part{p}, i))
	}
	return settle(all, t.Duration, perSecond)
}
