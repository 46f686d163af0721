package transcript

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"verity/tokenizer"
)

// A part is text that stays on one line: usually a word.
type part struct {
	text       string  // with the white space before it
	start, end float64 // s
	speaker    string
	segment    int // index of its segment
	word       int // index of its first word among all of the transcript, in wordParts; of which it has words
	words      int
	fixed      bool   // its segment is one cue, as it is
	named      bool   // begins a cue with the name of its speaker
	newline    bool   // begins a line, but not the first one of its cue; at first, where its segment has a line break
	dash       string // begins the line of one of two speakers in a cue
}

// segmentParts returns one part for each segment with text.
func (t *Transcript) segmentParts() (parts []part) {
	for i, s := range t.Segments {
		if text := inOneLine(s.TrimmedText()); text != "" {
			parts = append(parts, part{text: text, start: s.Start, end: s.End, speaker: inOneLine(s.Speaker), segment: i})
		}
	}
	return parts
}

// atLineStart returns the text of p at the start of a line.
func (p part) atLineStart() string {
	text := tokenizer.Strip(p.text)
	if p.named {
		text = p.speaker + ": " + text
	}
	return text
}

// A measure returns the width of text.
type measure func(text string) float64

// wordParts returns the words of t, with those that must not be separated joined. Where a segment has no
// times of words, its words share its time by their lengths. A part that is wider than width is cut where a
// line may break; 0 means no limit.
func (t *Transcript) wordParts(size measure, width float64) (parts []part) {
	before := 0 // words of the segments before
	for i, s := range t.Segments {
		words := s.Words
		if tokenizer.Strip(JoinWords(words)) == "" {
			words = estimatedWords(s)
		}
		space := "" // white space at the end of a word precedes the next one
		n, bytes := 0, 0
		for _, w := range joined(words, separable) {
			first := n
			for bytes += len(w.Word); n < len(words) && bytes > 0; n++ {
				bytes -= len(words[n].Word)
			}
			text := space + w.Word
			lead, _ := spaceBefore(text)
			text = inOneLine(text)
			core := strings.TrimRightFunc(text, unicode.IsSpace)
			if space = text[len(core):]; core == "" {
				continue
			}
			p := part{text: core, start: w.Start, end: w.End, speaker: inOneLine(s.Speaker), segment: i, word: before + first, words: n - first,
				newline: s.Fixed && strings.Contains(lead, "\n")}
			parts = append(parts, p.cut(size, width)...)
		}
		before += len(words)
	}
	return parts
}

// estimatedWords returns the words of a segment without times of words.
func estimatedWords(s Segment) (words []Word) {
	text := s.TrimmedText()
	at, share := s.Start, (s.End-s.Start)/max(1, columns(text))
	for i, field := range strings.Fields(text) {
		for k, w := range atBreaks(field, func(before, after rune) bool { return dense(before) || dense(after) }) {
			end := min(s.End, at+share*columns(w))
			if k == 0 && (i > 0 || text != s.Text || !wide(w)) {
				w = " " + w
			}
			words = append(words, Word{Word: w, Start: at, End: end})
			at = end
		}
		at = min(s.End, at+share)
	}
	return words
}

// cut cuts a part wider than width, unless that is 0, where lines may break. Its pieces share its time.
func (p part) cut(size measure, width float64) []part {
	text := tokenizer.Strip(p.text)
	if width == 0 || size(text) <= width {
		return []part{p}
	}
	var texts []string
	for _, piece := range atBreaks(text, func(rune, rune) bool { return true }) {
		if last := len(texts) - 1; last >= 0 && size(texts[last]+piece) <= width {
			texts[last] += piece
		} else {
			texts = append(texts, piece)
		}
	}
	pieces := make([]part, len(texts))
	share := (p.end - p.start) / max(1, size(text))
	start := p.start
	space, _ := spaceBefore(p.text)
	for i, text := range texts {
		core := strings.TrimRightFunc(text, unicode.IsSpace)
		pieces[i] = p
		pieces[i].text, pieces[i].start, pieces[i].end = space+core, start, min(p.end, start+share*size(text))
		start, space = pieces[i].end, text[len(core):]
	}
	pieces[len(pieces)-1].end = p.end
	return pieces
}

// joined joins each word to the one before it unless apart(before, word). A joined word is as probable as its least
// probable part.
func joined(words []Word, apart func(before, after string) bool) []Word {
	if words == nil {
		return nil
	}
	all := make([]Word, 0, len(words))
	for _, w := range words {
		last := len(all) - 1
		if last < 0 || apart(all[last].Word, w.Word) {
			all = append(all, w)
			continue
		}
		before := &all[last]
		before.Word, before.End = before.Word+w.Word, max(before.End, w.End)
		before.Probability = min(before.Probability, w.Probability)
	}
	return all
}

// wholeCharacters reports whether no character, as people see it, is partly in before and partly in after,
// such as a Thai mark or the skin of an emoji.
//
// Source: Unicode 15, annex 29 (grapheme clusters), by rivo/uniseg.
func wholeCharacters(before, after string) bool {
	if plain(before, after) {
		return true
	}
	left, right := lastCluster(before), firstClusters(after)
	return characters(left+right) == characters(left)+characters(right)
}

// separable reports whether a line may break between two words. It may not within a character, after an
// opening bracket, before a mark that closes or ends something, or within a number. Between words of letters it
// always may, although Unicode breaks Thai, say, only between words of a dictionary.
//
// Source: Unicode 15, annex 14 (line breaks), by rivo/uniseg.
func separable(before, after string) bool {
	if plain(before, after) {
		return true
	}
	left, right := lastCluster(before), firstClusters(after)
	if left == "" || right == "" {
		return true
	}
	if !wholeCharacters(before, after) {
		return false
	}
	l, _ := utf8.DecodeRuneInString(left)
	r, _ := utf8.DecodeRuneInString(right)
	if leads(l) || unicode.IsDigit(l) && unicode.IsDigit(r) {
		return false
	}
	if (unicode.IsLetter(l) || unicode.IsDigit(l)) && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !wide(string(r)) {
		return true
	}
	both := left + right
	at := len(both) - len(strings.TrimLeftFunc(right, unicode.IsSpace)) // after the space between the words
	return at == len(both) || slices.Contains(lineBreaks(both), at)
}

// plain reports whether two words are of the usual kind, with a space between letters or marks of ASCII. It saves
// time.
func plain(before, after string) bool {
	if len(before) == 0 || len(after) < 2 || after[0] != ' ' {
		return false
	}
	last, first := before[len(before)-1], after[1]
	return last > ' ' && last < utf8.RuneSelf && !strings.ContainsRune("([{", rune(last)) &&
		(first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z' || first >= '0' && first <= '9')
}

func lastCluster(text string) (last string) {
	for state := -1; text != ""; {
		last, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
	}
	return last
}

// firstClusters returns the white space at the start of text and the character after it.
func firstClusters(text string) string {
	space := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	first, _, _, _ := uniseg.FirstGraphemeClusterInString(text[space:], -1)
	return text[:space+len(first)]
}

// lineBreaks returns where a line may break in text.
func lineBreaks(text string) (ends []int) {
	rest := text
	for state := -1; rest != ""; {
		_, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
		ends = append(ends, len(text)-len(rest))
	}
	return ends
}

// atBreaks cuts text where a line may break: by Unicode's rules, and between characters of scripts that it
// breaks only by a dictionary. may chooses among these places by the characters around them.
func atBreaks(text string, may func(before, after rune) bool) (pieces []string) {
	breaks := map[int]bool{}
	for _, end := range lineBreaks(text) {
		breaks[end] = true
	}
	from, before := 0, rune(0)
	rest, cluster := text, ""
	for state := -1; rest != ""; {
		at := len(text) - len(rest)
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		r, _ := utf8.DecodeRuneInString(cluster)
		if at > from && (breaks[at] || dictionary(before) && dictionary(r) && !leads(before)) && may(before, r) {
			pieces, from = append(pieces, text[from:at]), at
		}
		before = r
	}
	return append(pieces, text[from:])
}

// dictionary reports whether r is of a script without spaces whose words only a dictionary tells.
func dictionary(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// leads reports whether r is a vowel that is written before its consonant, as in Thai and Lao.
func leads(r rune) bool { return unicode.Is(unicode.Logical_Order_Exception, r) }

// dense reports whether r is of a script without spaces.
func dense(r rune) bool { return dictionary(r) || wide(string(r)) }

// wide reports whether text begins with a character of two columns.
func wide(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return columns(string(r)) > 1
}

// inOneLine replaces line breaks, which would break a cue, a row or a line of a file, by spaces.
func inOneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\v', '\f', '\x1c', '\x1d', '\x1e', '\u0085', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, text)
}

// characters returns the number of characters as people count them.
func characters(text string) float64 { return float64(uniseg.GraphemeClusterCount(text)) }

// columns returns the width of text in a terminal, where a Chinese, Japanese or Korean character
// takes two columns.
func columns(text string) float64 { return float64(uniseg.StringWidth(text)) }
