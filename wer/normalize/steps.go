package normalize

import (
	"context"
	"strings"
	"unicode/utf8"
)

// The small steps of both normalisers. Upstream writes each as one regular expression,
// given in the comments. The leftmost match is replaced, and the search continues after
// it.

// A step takes time in proportion to its text.
type step func(string) string

// apply applies steps one after the other. Before each it looks at ctx; the error is
// the cause that ended it.
func apply(ctx context.Context, s string, steps []step) (string, error) {
	for _, f := range steps {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		s = f(s)
	}
	return s, nil
}

// lowerValid is lower, with U+FFFD for what is not UTF-8.
func lowerValid(s string) string { return lower(strings.ToValidUTF8(s, "\ufffd")) }

// dropBracketed removes <…> and […], in any pairing: [<\[][^>\]]*[>\]]
func dropBracketed(s string) string {
	var b strings.Builder
	for {
		open := strings.IndexAny(s, "<[")
		if open < 0 {
			break
		}
		length := strings.IndexAny(s[open:], ">]")
		if length < 0 {
			break
		}
		b.WriteString(s[:open])
		s = s[open+length+1:]
	}
	return b.String() + s
}

// dropParenthesised removes (…) unless it is empty: \(([^)]+?)\)
func dropParenthesised(s string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '(')
		if open < 0 {
			break
		}
		length := strings.IndexByte(s[open:], ')')
		if length < 0 {
			break
		}
		if length == 1 {
			b.WriteString(s[:open+1]) // "()" stays
			s = s[open+1:]
			continue
		}
		b.WriteString(s[:open])
		s = s[open+length+1:]
	}
	return b.String() + s
}

// singleSpaces replaces every run of white space by a space: \s+
func singleSpaces(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	inSpace := false
	for _, r := range s {
		space := isSpace(r)
		if !space {
			b.WriteRune(r)
		} else if !inSpace {
			b.WriteByte(' ')
		}
		inSpace = space
	}
	return b.String()
}

// attachApostrophes removes white space before an apostrophe: \s+'
func attachApostrophes(s string) string {
	if !strings.Contains(s, "'") {
		return s
	}
	parts := strings.Split(s, "'")
	for i := range parts[:len(parts)-1] {
		parts[i] = strings.TrimRightFunc(parts[i], isSpace)
	}
	return strings.Join(parts, "'")
}

// A contraction is a piece of text that must end at a word boundary, and begin at
// one too if word is set.
type contraction struct {
	short, long string
	word        bool
}

// expand replaces every occurrence of c.short.
func (c contraction) expand(s string) string {
	var b strings.Builder
	done, from := 0, 0 // s[:done] is written, s[:from] searched
	for {
		i := strings.Index(s[from:], c.short)
		if i < 0 {
			break
		}
		i += from
		end := i + len(c.short)
		if !boundary(s, end) || c.word && !boundary(s, i) {
			from = i + 1
			continue
		}
		b.WriteString(s[done:i])
		b.WriteString(c.long)
		done, from = end, end
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// joinDigits removes a comma between two digits: (\d),(\d). The second digit
// cannot be the first of the next match.
func joinDigits(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, ',')
		if i < 0 {
			break
		}
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, size := utf8.DecodeRuneInString(s[i+1:])
		if isDigit(before) && isDigit(after) {
			b.WriteString(s[:i])
			b.WriteString(s[i+1 : i+1+size])
			s = s[i+1+size:]
		} else {
			b.WriteString(s[:i+1])
			s = s[i+1:]
		}
	}
	return b.String() + s
}

// spaceOut replaces each of symbols by a space unless an ASCII digit follows it:
// [symbols]([^0-9]). The character that follows is part of the match, so of two
// symbols in a row the second stays. At the end of s, atEnd decides.
func spaceOut(s, symbols string, atEnd bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		next, nextSize := utf8.DecodeRuneInString(s[i+size:])
		switch {
		case !strings.ContainsRune(symbols, r), isASCIIDigit(next), nextSize == 0 && !atEnd:
			b.WriteString(s[i : i+size])
			i += size
		default:
			b.WriteByte(' ')
			b.WriteString(s[i+size : i+size+nextSize])
			i += size + nextSize
		}
	}
	return b.String()
}

// spaceOutPercent replaces % by a space unless an ASCII digit precedes it:
// ([^0-9])%. Of two in a row the second stays.
func spaceOutPercent(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		b.WriteString(s[i : i+size])
		i += size
		if !isASCIIDigit(r) && strings.HasPrefix(s[i:], "%") {
			b.WriteByte(' ')
			i++
		}
	}
	return b.String()
}
