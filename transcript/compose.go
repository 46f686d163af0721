package transcript

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"verity/tokenizer"
)

// The usual limits of broadcasters and streaming services.
const (
	composedWidth = 42.0 // columns of a line
	composedLines = 2
	shortestCue   = 1.0      // s
	longestCue    = 7.0      // s
	readingSpeed  = 17.0     // columns a second
	cueGap        = 2 / 25.0 // s between subtitles: two frames
)

// composed cuts the words of t into subtitles that are easy to read: lines of few columns that end with a
// sentence, a clause or a pause where one is near. A subtitle starts with its first word, or later if the
// previous one must stay for a second, and stays until it can have been read or the next one starts.
func (o Subtitles) composed(t *Transcript) []Cue {
	c := composer{width: composedWidth, lines: composedLines}
	if o.MaxLineWidth > 0 {
		c.width = float64(o.MaxLineWidth)
	}
	if o.MaxLineCount > 0 {
		c.lines = o.MaxLineCount
	}
	var all []Cue
	free := math.Inf(-1) // when the next subtitle may start
	for from, to := 0, 0; from < len(t.Segments); from = to {
		for to = from + 1; to < len(t.Segments) && t.Segments[to].Speaker == t.Segments[from].Speaker; to++ {
		}
		c.words, c.next = timedWords(t.Segments[from:to]), math.Inf(1)
		if to < len(t.Segments) {
			c.next = t.Segments[to].Start
		}
		all, free = c.compose(all, free)
	}
	return all
}

// compose appends the subtitles of the words. None starts before free; it returns when the next may start.
func (c composer) compose(all []Cue, free float64) ([]Cue, float64) {
	c.columns, c.spaces = nil, nil
	for _, w := range c.words {
		text := columns(tokenizer.Strip(w.Word))
		c.columns, c.spaces = append(c.columns, text), append(c.spaces, columns(w.Word)-text)
	}
	from := 0
	for _, to := range c.cuts() {
		start := max(c.words[from].Start, free)
		text := c.fold(from, to)
		end := min(start+longestCue, max(c.words[to-1].End, start+columns(text)/readingSpeed))
		end = max(start+shortestCue, min(end, c.after(to)-cueGap))
		from, free = to, end+cueGap
		all = append(all, Cue{start, end, strings.ReplaceAll(text, "-->", "->")})
	}
	return all, free
}

// timedWords returns the words of segments. Where one has no times of words, they share its
// time by their lengths.
func timedWords(segments []Segment) (words []Word) {
	for _, s := range segments {
		if s.Words != nil {
			words = append(words, s.Words...)
			continue
		}
		at, share := s.Start, (s.End-s.Start)/max(1, columns(s.TrimmedText()))
		for _, w := range strings.Fields(s.TrimmedText()) {
			end := min(s.End, at+share*columns(w))
			words = append(words, Word{Word: " " + w, Start: at, End: end})
			at = min(s.End, end+share)
		}
	}
	return words
}

// A composer finds the cheapest way to cut words into subtitles.
type composer struct {
	words   []Word
	columns []float64 // of each word, without the space before it
	spaces  []float64 // columns of that space
	width   float64   // most columns of a line
	lines   int       // most lines
	next    float64   // when the next speaker begins
}

// after returns when the text after the first j words begins.
func (c composer) after(j int) float64 {
	if j < len(c.words) {
		return c.words[j].Start
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
	return c.words[j-1].End-c.words[i].Start <= longestCue && len(c.wrap(i, j, c.width)) <= c.lines
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

// fold returns words i to j in the fewest lines that hold them, of similar width, and ending
// with a clause where one is near.
func (c composer) fold(i, j int) string {
	var lines []string
	for n := len(c.wrap(i, j, c.width)); n > 1; n-- {
		to, least := i+1, math.Inf(1)
		for k := i + 1; k < j && (k == i+1 || c.span(i, k) <= c.width); k++ {
			cost := c.breakCost(k) + 3/c.width*math.Abs(c.span(i, k)-c.span(i, j)/float64(n))
			if cost < least && len(c.wrap(k, j, c.width)) < n {
				to, least = k, cost
			}
		}
		lines = append(lines, tokenizer.Strip(joinWords(c.words[i:to])))
		i = to
	}
	return strings.Join(append(lines, tokenizer.Strip(joinWords(c.words[i:j]))), "\n")
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
	cost := 0.3 + c.breakCost(j)
	for k := i + 1; k < j; k++ {
		switch pause := c.words[k].Start - c.words[k-1].End; {
		case pause > 2:
			cost += 8
		case pause > 0.8 || endsWith(c.words[k-1].Word, sentenceEnds):
			cost++
		}
	}
	room := min(longestCue, c.after(j)-cueGap-c.words[i].Start)
	if room < shortestCue {
		cost += 4 * (shortestCue - room)
	}
	return cost + max(0, min(4, c.span(i, j)/max(room, 0.1)/readingSpeed-1))
}

// Marks that end a sentence or a clause, before closing quotes and brackets.
const (
	sentenceEnds = ".?!…。？！"
	clauseEnds   = ",;:—–、，；："
	closing      = "\"'”’»)]」』"
)

// breakCost returns how bad an end before word j is.
func (c composer) breakCost(j int) float64 {
	if j == len(c.words) {
		return 0
	}
	switch last := c.words[j-1]; {
	case endsWith(last.Word, sentenceEnds):
		return 0
	case endsWith(last.Word, clauseEnds), c.words[j].Start-last.End > 0.5:
		return 0.6
	}
	return 2
}

func endsWith(word, marks string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(tokenizer.Strip(word), closing))
	return last != utf8.RuneError && strings.ContainsRune(marks, last)
}

// columns returns the width of text in a terminal, where a Chinese, Japanese or Korean character
// takes two columns.
func columns(text string) float64 { return float64(uniseg.StringWidth(text)) }
