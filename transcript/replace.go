package transcript

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
)

// A Replacement is a phrase that a model writes in place of another, such as "cooper netties" for "Kubernetes".
type Replacement struct{ Heard, Written string }

// A Replacer replaces phrases in segments. It finds whole words, whatever their case; words may have any space
// between them. Of several phrases that begin at the same word, the longest counts. A phrase that begins in one
// segment and ends in the next stays as it is. A Replacer is immutable.
type Replacer struct {
	byFirst map[rune][]Replacement // by the first character of Heard in lower case, the longest first
}

// NewReplacer returns a Replacer; nil, which replaces nothing, for an empty list. Heard and Written must hold more
// than space.
func NewReplacer(list []Replacement) *Replacer {
	if len(list) == 0 {
		return nil
	}
	r := &Replacer{map[rune][]Replacement{}}
	for _, p := range list {
		p.Heard, p.Written = strings.Join(strings.Fields(p.Heard), " "), strings.Join(strings.Fields(p.Written), " ")
		first, _ := utf8.DecodeRuneInString(p.Heard)
		r.byFirst[unicode.ToLower(first)] = append(r.byFirst[unicode.ToLower(first)], p)
	}
	for _, same := range r.byFirst {
		slices.SortStableFunc(same, func(a, b Replacement) int { return cmp.Compare(len(b.Heard), len(a.Heard)) })
	}
	return r
}

// An edit replaces bytes from start to end of a text.
type edit struct {
	start, end int
	written    string
}

// edits returns the replacements in a text, from left to right.
func (r *Replacer) edits(text string) (list []edit) {
	before := ' '
	for at := 0; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		if p, n := r.find(text[at:], c, before); n > 0 {
			list = append(list, edit{at, at + n, p.Written})
			at += n
			before, _ = utf8.DecodeLastRuneInString(text[:at])
			continue
		}
		at, before = at+size, c
	}
	return list
}

// find returns the phrase that a text begins with, and its length in the text. c is the first character and before
// the one before it.
func (r *Replacer) find(text string, c, before rune) (p Replacement, length int) {
	for _, p := range r.byFirst[unicode.ToLower(c)] {
		if splitsWord(before, c) {
			continue
		}
		n, whole := matchPhrase(text, p.Heard)
		if !whole {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(text[:n])
		if after, _ := utf8.DecodeRuneInString(text[n:]); n == len(text) || !splitsWord(last, after) {
			return p, n
		}
	}
	return Replacement{}, 0
}

// splitsWord reports whether a cut between two characters would divide a word.
func splitsWord(a, b rune) bool {
	return tokenizer.IsWordRune(a) && tokenizer.IsWordRune(b) && !tokenizer.IsUnspaced(a) && !tokenizer.IsUnspaced(b)
}

// matchPhrase compares the beginning of a text with a phrase, without regard to case and the amount of space. It
// returns how many bytes of the text are the same, and whether they are the whole phrase.
func matchPhrase(text, phrase string) (n int, whole bool) {
	for _, want := range phrase {
		c, size := utf8.DecodeRuneInString(text[n:])
		switch {
		case n == len(text):
			return n, false
		case want == ' ' && unicode.IsSpace(c):
			n += len(text[n:]) - len(strings.TrimLeftFunc(text[n:], unicode.IsSpace))
		case unicode.ToLower(c) == unicode.ToLower(want):
			n += size
		default:
			return n, false
		}
	}
	return n, true
}

// apply returns the text with the edits made.
func apply(text string, edits []edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.start])
		b.WriteString(e.written)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// Segment returns s with phrases replaced in its text and in its words, which keep their times. Its tokens
// stay as they were decoded. It may be called on a nil Replacer.
func (r *Replacer) Segment(s Segment) Segment {
	if r == nil {
		return s
	}
	if s.edits = r.edits(s.Text); len(s.edits) == 0 {
		return s
	}
	s.Words = r.words(s.Words)
	s.Text = apply(s.Text, s.edits)
	return s
}

// Transcript replaces phrases in each segment of t.
func (r *Replacer) Transcript(t *Transcript) {
	if r == nil {
		return
	}
	var text strings.Builder
	for i, s := range t.Segments {
		t.Segments[i] = r.Segment(s)
		text.WriteString(t.Segments[i].Text)
	}
	t.Text = text.String()
}

// words returns words with phrases replaced. If a phrase is replaced by as many words as it had, each has the times
// of the word that it replaces; else they share the time of the phrase by their lengths.
func (r *Replacer) words(words []Word) []Word {
	text := JoinWords(words)
	list, at, next := make([]Word, 0, len(words)), 0, 0 // at: where word next begins in text
	edits := r.edits(text)
	for len(edits) > 0 {
		for at+len(words[next].Word) <= edits[0].start {
			at += len(words[next].Word)
			list = append(list, words[next])
			next++
		}
		// The words from next to last hold the phrase, and perhaps further ones.
		last, end, here := next, at+len(words[next].Word), 0
		for here < len(edits) && edits[here].start < end {
			for end < edits[here].end {
				last++
				end += len(words[last].Word)
			}
			here++
		}
		var inside []edit
		for _, e := range edits[:here] {
			inside = append(inside, edit{e.start - at, e.end - at, e.written})
		}
		written := retime(words[next:last+1], apply(text[at:end], inside))
		for i := range written {
			written[i].replaced, written[i].heard = true, ""
		}
		written[0].heard = text[at:end]
		list = append(list, written...)
		edits, next, at = edits[here:], last+1, end
	}
	return append(list, words[next:]...)
}

// retime returns the words of a text that replaces words.
func retime(words []Word, text string) []Word {
	var list []Word
	letters, from := 0, 0
	for i, c := range text {
		if c == ' ' && strings.TrimSpace(text[from:i]) != "" {
			list, from = append(list, Word{Word: text[from:i]}), i
		}
		letters++
	}
	list = append(list, Word{Word: text[from:]})
	if len(list) == len(words) {
		for i, w := range words {
			w.Word = list[i].Word
			list[i] = w
		}
		return list
	}
	first, last, mean := words[0], words[len(words)-1], 0.0
	for _, w := range words {
		mean += w.Probability / float64(len(words))
	}
	start, share := first.Start, (last.End-first.Start)/float64(letters)
	for i := range list {
		w := &list[i]
		w.Start, w.End = start, math.Round(100*(start+share*float64(utf8.RuneCountInString(w.Word))))/100
		w.Probability, w.Speaker = mean, first.Speaker
		start = w.End
	}
	list[len(list)-1].End = last.End
	return list
}

// Unfinished returns how many of the last words may be the beginning of a phrase that later words complete. Words that
// replaced a phrase count as what they replaced, since that may begin a longer phrase. Unfinished may be called on a
// nil Replacer.
func (r *Replacer) Unfinished(words []Word) int {
	if r == nil {
		return 0
	}
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.original())
	}
	text, before := b.String(), ' '
	for i, w := range words {
		for range utf8.RuneCountInString(w.original()) {
			c, size := utf8.DecodeRuneInString(text)
			if !splitsWord(before, c) && r.isBeginning(text, c) {
				return len(words) - i
			}
			text, before = text[size:], c
		}
	}
	return 0
}

// original returns what the model wrote: for a word that replaced a phrase, all of the phrase or, after its first
// word, nothing.
func (w Word) original() string {
	if w.replaced {
		return w.heard
	}
	return w.Word
}

// isBeginning reports whether a text, whose first character is c, is the beginning of a phrase and not all of it.
func (r *Replacer) isBeginning(text string, c rune) bool {
	return slices.ContainsFunc(r.byFirst[unicode.ToLower(c)], func(p Replacement) bool {
		n, whole := matchPhrase(text, p.Heard)
		return !whole && n == len(text)
	})
}

// editRuns makes edits in a text that consists of runs. What replaces a phrase belongs to the run in which it began.
func editRuns(runs []TextRun, edits []edit) []TextRun {
	if len(edits) == 0 {
		return runs
	}
	at := 0 // where the run begins in the text
	for i := range runs {
		text := runs[i].Text
		var b strings.Builder
		from := 0
		for _, e := range edits {
			start, end := max(e.start-at, from), min(e.end-at, len(text))
			if start >= len(text) || end <= from && e.end-at <= from {
				continue
			}
			b.WriteString(text[from:start])
			if e.start >= at {
				b.WriteString(e.written)
			}
			from = end
		}
		runs[i].Text = b.String() + text[from:]
		at += len(text)
	}
	return slices.DeleteFunc(runs, func(p TextRun) bool { return p.Text == "" && p.Refused == "" })
}
