package transcript

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
)

// composer returns the limits of o. The defaults are the usual ones of broadcasters and streaming services.
func (o Subtitles) composer() composer {
	seconds := func(d, otherwise time.Duration) float64 { return max(0, cmp.Or(d, otherwise).Seconds()) }
	c := composer{
		width:  float64(cmp.Or(o.MaxLineWidth, 42)),
		lines:  cmp.Or(o.MaxLineCount, 2),
		cps:    cmp.Or(o.MaxCPS, 17),
		gap:    seconds(o.MinGap, 80*time.Millisecond), // two frames
		closes: seconds(o.CloseGaps, 0),
	}
	least, most := o.Durations()
	c.longest, c.shortest = most.Seconds(), min(least, most).Seconds()
	return c
}

// compose cuts parts into cues that are easy to read: lines of few columns that end with a sentence, a clause
// or a pause where one is near. A cue starts with its first word, or later if the one before it must
// stay, and stays until it can have been read or the next one starts. Only speakers who speak at
// the same time are shown at the same time.
func (c composer) compose(parts []part) (all []cue) {
	free := map[string]float64{} // when the next cue of a speaker may start
	latest, spoken := math.Inf(-1), math.Inf(-1)
	for from, to := 0, 0; from < len(parts); from = to {
		for to = from + 1; to < len(parts) && parts[to].continues(parts[from]); to++ {
		}
		speaker := parts[from].speaker
		at, ok := free[speaker]
		if !ok {
			at = math.Inf(-1)
		}
		if parts[from].start >= spoken { // nobody speaks
			at = latest
		}
		c.words, c.next = parts[from:to], math.Inf(1)
		end := newCue(c.words, from).end
		for _, p := range parts[to:] {
			if p.start >= end || p.fixed {
				c.next = p.start
				break
			}
		}
		all, at = c.composeTurn(all, from, at)
		free[speaker] = at
		latest, spoken = max(latest, at), max(spoken, end)
	}
	byStart(all)
	for i := range len(all) - 1 {
		if next := all[i+1]; next.parts[0].fixed && !all[i].parts[0].fixed && next.start > all[i].start {
			all[i].end = min(all[i].end, next.start)
		}
	}
	return all
}

// continues reports whether p may be in a cue with what is before it.
func (p part) continues(before part) bool {
	return p.speaker == before.speaker && !p.named && (p.segment == before.segment || !p.fixed && !before.fixed)
}

// fix makes the parts of fixed segments last as long as these.
func (t *Transcript) fix(parts []part) {
	for i := range parts {
		p, s := &parts[i], t.Segments[parts[i].segment]
		if p.fixed = s.Fixed; !p.fixed {
			continue
		}
		p.start, p.end = min(max(p.start, s.Start), s.End), min(max(p.end, s.Start), s.End)
		if i == 0 || parts[i-1].segment != p.segment {
			p.start = s.Start
		}
		if i+1 == len(parts) || parts[i+1].segment != p.segment {
			p.end = s.End
		}
	}
}

// composeTurn appends the cues of the words, of which the first is part from. None starts before free; it
// returns when the next may start.
func (c composer) composeTurn(all []cue, from int, free float64) ([]cue, float64) {
	c.columns, c.spaces, c.breaks, c.crossings = nil, nil, nil, nil
	for i, p := range c.words {
		space, text := spaceBefore(p.text)
		if i == 0 {
			text = p.atLineStart()
		}
		c.columns, c.spaces = append(c.columns, columns(text)), append(c.spaces, columns(space))
		c.breaks, c.crossings = append(c.breaks, c.breakCost(i)), append(c.crossings, c.crossingCost(i))
	}
	c.breaks = append(c.breaks, 0)
	first, ends := 0, []int{len(c.words)}
	if !c.words[0].fixed {
		ends = c.cuts()
	}
	for _, to := range ends {
		one := newCue(slices.Clone(c.words[first:to]), from+first)
		if !slices.ContainsFunc(one.parts, func(p part) bool { return p.newline }) {
			for _, line := range c.fold(first, to) {
				one.parts[line-first].newline = true
			}
		}
		text, _, _ := one.text()
		// Whole milliseconds, as they are written, leave the time to read and the gaps intact.
		if one.parts[0].fixed {
			return append(all, one), one.end + c.gap
		}
		spoken, next, read := wholeMS(one.end), wholeMS(c.after(to)), math.Ceil(1000*columns(text)/c.cps)/1000
		one.start = wholeMS(max(one.start, free))
		one.end = max(one.start+c.shortest, one.start+read, spoken)
		one.end = min(one.end, one.start+c.longest, max(one.start+c.shortest, spoken, next-c.gap))
		if next-one.end < c.closes {
			one.end = max(one.end, min(next-c.gap, one.start+c.longest))
		}
		first, free = to, one.end+c.gap
		all = append(all, one)
	}
	return all, free
}

// dialogues joins two cues of different speakers, each of one line, where one is shown too late or too shortly to be read.
func (c composer) dialogues(cues []cue, dash string) (all []cue) {
	byStart(cues)
	fits := func(one cue) bool {
		text, _, _ := one.text()
		return one.speaker != "" && !strings.Contains(text, "\n") && columns(dash+text) <= c.width
	}
	hurried := func(one cue) bool {
		text, _, _ := one.text()
		return one.end-one.start < max(c.shortest, columns(text)/c.cps)-1e-3 || one.start > one.parts[0].start+0.05
	}
	for i := 0; i < len(cues); i++ {
		a := cues[i]
		if i+1 < len(cues) && c.lines > 1 && fits(a) {
			b, next := cues[i+1], math.Inf(1)
			if i+2 < len(cues) {
				next = cues[i+2].start - c.gap
			}
			end := max(a.end, b.end)
			if a.speaker != b.speaker && fits(b) && b.start < a.end+1 && end <= a.start+c.longest && (hurried(a) || hurried(b)) {
				a.parts = slices.Concat(a.parts, b.parts)
				a.parts[0].dash, a.parts[len(a.parts)-len(b.parts)].dash, a.speaker = dash, dash, ""
				text, _, _ := a.text()
				a.end = max(end, wholeMS(min(next, a.start+c.longest, a.start+columns(text)/c.cps)))
				i++
			}
		}
		all = append(all, a)
	}
	return all
}

func wholeMS(seconds float64) float64 { return math.RoundToEven(1000*seconds) / 1000 }

// A composer finds the cheapest way to cut words into subtitles.
type composer struct {
	words   []part
	columns []float64 // of each word, without the space before it
	spaces  []float64 // columns of that space
	breaks  []float64 // how bad an end before each word is, and after the last

	crossings []float64 // how bad each word is amid a subtitle
	width     float64   // most columns of a line
	lines     int       // most lines
	next      float64   // when the next speaker begins
	cps       float64   // most columns a second
	gap       float64   // s between cues
	closes    float64   // s before the next cue that are closed to gap

	shortest, longest float64 // s that a cue stays
}

// after returns when the text after the first j words begins.
func (c composer) after(j int) float64 {
	if j < len(c.words) {
		return c.words[j].start
	}
	return c.next
}

// cuts returns the word after each subtitle, for the least sum of costs. It is found by dynamic
// programming over the words.
func (c composer) cuts() (ends []int) {
	best := make([]float64, len(c.words)+1) // cost of the words before
	from := make([]int, len(c.words)+1)     // where the last subtitle of these starts
	for j := 1; j <= len(c.words); j++ {
		best[j] = math.Inf(1)
		for i := j - 1; i >= 0 && (i == j-1 || c.fits(i, j)); i-- {
			if cost := best[i] + c.cost(i, j); cost < best[j] {
				best[j], from[j] = cost, i
			}
		}
	}
	for j := len(c.words); j > 0; j = from[j] {
		ends = append(ends, j)
	}
	slices.Reverse(ends)
	return ends
}

// fits reports whether words i to j can be one subtitle.
func (c composer) fits(i, j int) bool {
	return float64(j-i) <= c.width*float64(c.lines) && c.words[j-1].end-c.words[i].start <= c.longest &&
		len(c.wrap(i, j, c.width)) <= c.lines
}

// wrap returns where the lines of words i to j start, if they have at most width columns; a
// wider word has a line of its own.
func (c composer) wrap(i, j int, width float64) (starts []int) {
	used := math.Inf(1)
	for k := i; k < j; k++ {
		if used += c.spaces[k] + c.columns[k]; used > width {
			starts, used = append(starts, k), c.columns[k]
		}
	}
	return starts
}

// fold returns where lines after the first start if words i to j are in the fewest lines that hold them, of similar
// width, and ending with a clause where one is near.
func (c composer) fold(i, j int) (starts []int) {
	for n := len(c.wrap(i, j, c.width)); n > 1; n-- {
		to, least := i+1, math.Inf(1)
		for k := i + 1; k < j && (k == i+1 || c.span(i, k) <= c.width); k++ {
			cost := c.breaks[k] + 3/c.width*math.Abs(c.span(i, k)-c.span(i, j)/float64(n))
			if cost < least && len(c.wrap(k, j, c.width)) < n {
				to, least = k, cost
			}
		}
		starts, i = append(starts, to), to
	}
	return starts
}

// span returns the columns of words i to j in one line.
func (c composer) span(i, j int) (sum float64) {
	for k := i; k < j; k++ {
		sum += c.spaces[k] + c.columns[k]
	}
	return sum - c.spaces[i]
}

// cost returns how bad a subtitle of words i to j is. Ending inside a clause instead of with it
// costs about 1.
func (c composer) cost(i, j int) float64 {
	cost := 0.3 + c.breaks[j]
	for k := i + 1; k < j; k++ {
		cost += c.crossings[k]
	}
	room := min(c.longest, c.after(j)-c.gap-c.words[i].start)
	if room < c.shortest {
		cost += 4 * (c.shortest - room)
	}
	return cost + max(0, min(4, c.span(i, j)/max(room, 0.1)/c.cps-1))
}

// crossingCost returns how bad it is that a subtitle goes on with word k after a pause, or another sentence.
func (c composer) crossingCost(k int) float64 {
	if k == 0 {
		return 0
	}
	switch pause := c.words[k].start - c.words[k-1].end; {
	case pause > 2:
		return 8
	case pause > 0.8 || EndsSentence(c.words[k-1].text, c.words[k].text):
		return 1
	}
	return 0
}

// breakCost returns how bad an end before word j is.
func (c composer) breakCost(j int) float64 {
	if j == 0 {
		return 0
	}
	switch last := c.words[j-1]; {
	case EndsSentence(last.text, c.words[j].text):
		return 0
	case endsClause(last.text), c.words[j].start-last.end > 0.5:
		return 0.6
	}
	switch {
	case titles.MatchString(tokenizer.Strip(c.words[j-1].text)):
		return 50 // only if nothing else fits
	case bound.MatchString(c.words[j-1].text):
		return 3.5
	case joins.MatchString(c.words[j].text):
		return 1.5
	}
	return 2
}

// bound matches words that belong to the next, as titles do: articles, prepositions, conjunctions, and others, in English, German and Dutch.
var bound = regexp.MustCompile(`(?i)^ ?(an?|the|this|that|these|those|some|such|no|not|my|your|his|her|its|our|their|of|to|in|on|at|by|` +
	`for|from|with|into|than|as|and|or|but|if|which|who|whose|when|where|is|are|was|were|be|been|has|have|had|will|would|can|could|` +
	`der|die|das|den|dem|des|ein|eine[mnrs]?|kein|keine|zu|zum|zur|im|am|von|vom|mit|für|auf|aus|bei|nach|und|oder|aber|dass|wenn|` +
	`de|het|een|geen|van|te|op|met|voor|naar|en|of|maar|dat|als)$`)

// joins matches words that begin a clause or continue a list, in the same languages.
var joins = regexp.MustCompile(`(?i)^ ?(and|or|but|that|which|who|whom|whose|when|where|while|because|if|` +
	`und|oder|aber|dass|weil|wenn|en|maar|dat|omdat)$`)

// Words whose full stop ends no sentence: titles, initials and abbreviations; and those that number what follows. "I." is no
// initial, and "No." may be an answer.
var (
	titles  = regexp.MustCompile(`^\PL*(Mrs?|Ms|Dr|Prof|St|Sr|Jr|vs|Dhr|[Mm]evr|Mme|Mlle|Mgr|Sra|Srta|Nr|[Cc]a|[Bb]zw|[Bb]ijv|usw|[^\P{Lu}I]|\pL(\.\pL)+)\.$`)
	numbers = regexp.MustCompile(`^\PL*No\.$`)
	ordinal = regexp.MustCompile(`^[^\pL\d]*\d{1,2}\.$`) // the 3rd, as several languages write it
)

// EndsSentence reports whether a word ends a sentence, if next follows it. "Mr." does not.
func EndsSentence(word, next string) bool {
	word, last := lastMark(word)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(next, unicode.IsSpace))
	return tokenizer.IsSentenceEnd(last) && !titles.MatchString(word) && !(numbers.MatchString(word) && unicode.IsDigit(first)) &&
		!(ordinal.MatchString(word) && (unicode.IsLetter(first) || unicode.IsDigit(first)))
}

// endsClause reports whether a word ends a clause, but not its sentence: with a comma, a semicolon or a dash.
func endsClause(word string) bool {
	_, last := lastMark(word)
	return last == '–' || last == '—' || unicode.Is(unicode.Terminal_Punctuation, last) && !tokenizer.IsSentenceEnd(last)
}

// lastMark returns a word without closing quotes and brackets, and its last character. In German, “ closes.
func lastMark(word string) (string, rune) {
	word = strings.TrimRightFunc(tokenizer.Strip(word), func(r rune) bool {
		return r == '"' || r == '\'' || unicode.In(r, unicode.Pe, unicode.Pf, unicode.Pi)
	})
	last, _ := utf8.DecodeLastRuneInString(word)
	return word, last
}
