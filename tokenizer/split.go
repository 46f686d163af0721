package tokenizer

import (
	"sync"
	"unicode/utf8"
)

// A class is what the pattern of pre-tokenization distinguishes among characters.
type class uint8

const (
	other  class = iota // [^\s\p{L}\p{N}]
	space               // \s
	letter              // \p{L}
	number              // \p{N}
)

// A span is a range of characters, both ends included.
type span struct{ lo, hi rune }

// A classTable holds the class of every character.
type classTable struct {
	pages [(utf8.MaxRune + 1) >> pageBits]*[1 << pageBits]class // nil: all other
}

const pageBits = 8

// classes returns the table of classes, built from the spans of classes.go when
// first needed.
var classes = sync.OnceValue(func() *classTable {
	t := new(classTable)
	t.set(space, spaceSpans)
	t.set(letter, letterSpans)
	t.set(number, numberSpans)
	return t
})

func (t *classTable) set(c class, spans []span) {
	for _, s := range spans {
		for r := s.lo; r <= s.hi; r++ {
			page := &t.pages[r>>pageBits]
			if *page == nil {
				*page = new([1 << pageBits]class)
			}
			(*page)[r&(1<<pageBits-1)] = c
		}
	}
}

// next returns the class and width of the character s begins with. A byte that
// is not UTF-8 is a character by itself, of class other. s must not be empty.
func (t *classTable) next(s string) (class, int) {
	r, n := rune(s[0]), 1
	if r >= utf8.RuneSelf {
		r, n = utf8.DecodeRuneInString(s)
	}
	if page := t.pages[r>>pageBits]; page != nil {
		return page[r&(1<<pageBits-1)], n
	}
	return other, n
}

// piece returns the length of the first piece of s. Merges do not cross from one piece to
// another. A piece is the first alternative that matches of
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// so white space before a word is a piece of its own, except for one final space, which
// belongs to the word. s must not be empty.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, pat_str in get_encoding.
func (t *classTable) piece(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	c, n := t.next(s)
	if s[0] == ' ' && len(s) > 1 {
		if after, m := t.next(s[1:]); after != space {
			c, n = after, 1+m
		}
	}
	last := n // width of the last character of the run
	for n < len(s) {
		after, m := t.next(s[n:])
		if after != c {
			break
		}
		n, last = n+m, m
	}
	if c == space && n < len(s) && last < n {
		return n - last
	}
	return n
}

// contraction returns the length of the English ending s begins with, or 0.
func contraction(s string) int {
	if s[0] != '\'' || len(s) < 2 {
		return 0
	}
	switch s[1] {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) > 2 {
		switch s[1:3] {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}
