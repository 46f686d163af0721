package tokenizer

import (
	"unicode"
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

// unicode16 lists the letters and numbers of Unicode 16.0, which upstream uses, that Go's tables
// of 15.0 lack.
var unicode16 = []struct {
	lo, hi rune
	class  class
}{
	{0x1c89, 0x1c8a, letter}, {0xa7cb, 0xa7cd, letter}, {0xa7da, 0xa7dc, letter}, {0x105c0, 0x105f3, letter},
	{0x10d40, 0x10d49, number}, {0x10d4a, 0x10d65, letter}, {0x10d6f, 0x10d85, letter}, {0x10ec2, 0x10ec4, letter},
	{0x11380, 0x11389, letter}, {0x1138b, 0x1138b, letter}, {0x1138e, 0x1138e, letter}, {0x11390, 0x113b5, letter},
	{0x113b7, 0x113b7, letter}, {0x113d1, 0x113d1, letter}, {0x113d3, 0x113d3, letter}, {0x116d0, 0x116e3, number},
	{0x11bc0, 0x11be0, letter}, {0x11bf0, 0x11bf9, number}, {0x13460, 0x143fa, letter}, {0x16100, 0x1611d, letter},
	{0x16130, 0x16139, number}, {0x16d40, 0x16d6c, letter}, {0x16d70, 0x16d79, number}, {0x18cff, 0x18cff, letter},
	{0x1ccf0, 0x1ccf9, number}, {0x1e5d0, 0x1e5ed, letter}, {0x1e5f0, 0x1e5f0, letter}, {0x1e5f1, 0x1e5fa, number},
	{0x2ebf0, 0x2ee5d, letter},
}

// firstClass returns the class and width of the first character of s, which must not be empty. A
// byte that is not UTF-8 is a character by itself, of class other.
func firstClass(s string) (class, int) {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsLetter(r):
		return letter, n
	case unicode.IsSpace(r):
		return space, n
	case unicode.IsNumber(r):
		return number, n
	case r >= unicode16[0].lo:
		for _, c := range unicode16 {
			if c.lo <= r && r <= c.hi {
				return c.class, n
			}
		}
	}
	return other, n
}

// pieceLength returns the length of the first piece of s, which must not be empty. Merges do not
// cross pieces. A piece is the first alternative that matches of
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// so white space before a word is a piece of its own, but for its last space, which belongs to
// the word.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, pat_str in get_encoding.
func pieceLength(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	c, n := firstClass(s)
	if s[0] == ' ' && len(s) > 1 {
		if after, m := firstClass(s[1:]); after != space {
			c, n = after, 1+m
		}
	}
	last := n // width of the last character of the run
	for n < len(s) {
		after, m := firstClass(s[n:])
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
