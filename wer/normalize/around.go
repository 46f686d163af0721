package normalize

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Steps before and after the reading of numbers.

// writeHalves turns "and a half" into "point five" after a number word.
func writeHalves(s string) string {
	parts := splitHalves(s)
	var out []string
	for i, part := range parts {
		words := strings.FieldsFunc(part, isSpace)
		if len(words) == 0 {
			continue // and the half after it is lost
		}
		out = append(out, part)
		if i == len(parts)-1 {
			break
		}
		switch t := lexicon[words[len(words)-1]]; {
		case t.cardinal(zero), t.cardinal(ones), t.cardinal(tens), t.cardinal(multiplier):
			out = append(out, "point five")
		default:
			out = append(out, "and a half")
		}
	}
	return strings.Join(out, " ")
}

// splitHalves splits s at \band\s+a\s+half\b
func splitHalves(s string) []string {
	var parts []string
	from := 0
	for i := 0; ; {
		at := strings.Index(s[i:], "and")
		if at < 0 {
			return append(parts, s[from:])
		}
		at += i
		end, ok := afterWords(s, at+len("and"), "a", "half")
		if !ok || !boundary(s, at) || !boundary(s, end) {
			i = at + 1
			continue
		}
		parts = append(parts, s[from:at])
		from, i = end, end
	}
}

// afterWords returns the end of words in s, if they occur at i with white space before
// each.
func afterWords(s string, i int, words ...string) (end int, ok bool) {
	for _, w := range words {
		rest := strings.TrimLeftFunc(s[i:], isSpace)
		if len(rest) == len(s)-i || !strings.HasPrefix(rest, w) {
			return 0, false
		}
		i = len(s) - len(rest) + len(w)
	}
	return i, true
}

// separateUnits puts a space between ASCII letters and digits, but removes those before a
// suffix such as "th" or "s".
func separateUnits(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 8)
	before := rune(0)
	for _, r := range s {
		if isASCIILower(before) && isASCIIDigit(r) || isASCIIDigit(before) && isASCIILower(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return attachSuffixes(b.String())
}

// attachSuffixes removes the white space in ([0-9])\s+(st|nd|rd|th|s)\b
func attachSuffixes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		b.WriteByte(s[i])
		i++
		if !isASCIIDigit(rune(s[i-1])) {
			continue
		}
		for _, suffix := range []string{"st", "nd", "rd", "th", "s"} {
			if end, ok := afterWords(s, i, suffix); ok && boundary(s, end) {
				b.WriteString(suffix)
				i = end
				break
			}
		}
	}
	return b.String()
}

// mergeCents writes "$2 and ¢7" and "$2 ¢7" as "$2.07", then "$0.07" as "¢7".
func mergeCents(s string) string {
	return dropZeroUnits(joinCents(s))
}

// joinCents: ([€£$])([0-9]+) (?:and )?¢([0-9]{1,2})\b
func joinCents(s string) string {
	if !strings.Contains(s, "¢") {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		units := size + digitsAt(s[size:])
		rest, spaced := strings.CutPrefix(s[units:], " ")
		rest, cent := strings.CutPrefix(strings.TrimPrefix(rest, "and "), "¢")
		n := digitsAt(rest)
		if !isUnit(r) || units == size || !spaced || !cent || n < 1 || n > 2 || !boundary(rest, n) {
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		b.WriteString(s[:units])
		b.WriteByte('.')
		if n == 1 {
			b.WriteByte('0')
		}
		b.WriteString(rest[:n])
		s = rest[n:]
	}
	return b.String()
}

// dropZeroUnits: [€£$]0.([0-9]{1,2})\b, where the point is any character.
func dropZeroUnits(s string) string {
	if !strings.ContainsAny(s, "€£$") {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		rest, zero := strings.CutPrefix(s[size:], "0")
		point, pointSize := utf8.DecodeRuneInString(rest)
		rest = rest[pointSize:]
		n := digitsAt(rest)
		if !isUnit(r) || !zero || point == '\n' || n < 1 || n > 2 || !boundary(rest, n) {
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		cents, _ := strconv.Atoi(rest[:n])
		b.WriteString("¢" + strconv.Itoa(cents))
		s = rest[n:]
	}
	return b.String()
}

func isUnit(r rune) bool { return r == '€' || r == '£' || r == '$' }

// digitsAt returns how many ASCII digits s begins with.
func digitsAt(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// writeOne writes "one" and "ones" for 1 and 1s: \b1(s?)\b
func writeOne(s string) string {
	var b strings.Builder
	done := 0
	for i := range len(s) {
		if s[i] != '1' || !boundary(s, i) {
			continue
		}
		if end := i + 1; boundary(s, end) || strings.HasPrefix(s[end:], "s") && boundary(s, end+1) {
			b.WriteString(s[done:i])
			b.WriteString("one")
			done = end
		}
	}
	return b.String() + s[done:]
}
