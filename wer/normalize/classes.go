package normalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The character classes of Python's re and str, which are Unicode's; Go's regexp has
// ASCII classes only.

// isWord is \w: letters, numbers of any kind and the underscore. Combining marks are not
// word characters.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }

// isSpace is \s and what str.split splits at: White_Space and the four ASCII
// separators.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// digitValue returns 0 to 9 for a decimal digit. Unicode encodes decimal digits
// in runs of ten from zero to nine.
func digitValue(r rune) (n rune) {
	for unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return n % 10
}

// boundary is \b at byte i: one side is a word character and the other is not.
func boundary(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return (i > 0 && isWord(before)) != (i < len(s) && isWord(after))
}

// lower is str.lower: the simple mappings and two more: I with dot above, and the sigma
// that ends a word.
func lower(s string) string {
	if !strings.ContainsAny(s, "İΣ") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		switch r {
		case 'İ':
			b.WriteString("i\u0307")
		case 'Σ':
			if finalSigma(s[:i], s[i+len("Σ"):]) {
				b.WriteRune('ς')
			} else {
				b.WriteRune('σ')
			}
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// finalSigma is Unicode's condition Final_Sigma: a cased letter before and none after,
// where case-ignorable characters are skipped.
//
// Source: The Unicode Standard 15.0, section 3.13, table 3-17.
func finalSigma(before, after string) bool {
	before = strings.TrimRightFunc(before, caseIgnorable)
	after = strings.TrimLeftFunc(after, caseIgnorable)
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return before != "" && cased(last) && (after == "" || !cased(next))
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable is Case_Ignorable. The literals are Word_Break's MidLetter,
// MidNumLet and Single_Quote.
func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune("'.:·\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r)
}

// spelledOut holds letters that NFKD keeps whole but upstream splits. It maps Þ to lower
// case, as upstream does.
var spelledOut = map[rune]string{
	'œ': "oe", 'Œ': "OE", 'ø': "o", 'Ø': "O", 'æ': "ae", 'Æ': "AE", 'ß': "ss", 'ẞ': "SS",
	'đ': "d", 'Đ': "D", 'ð': "d", 'Ð': "D", 'þ': "th", 'Þ': "th", 'ł': "l", 'Ł': "L",
}

// dropSymbolsAndDiacritics decomposes s, drops nonspacing marks and replaces every
// other mark, symbol and punctuation character by a space, except those in keep.
func dropSymbolsAndDiacritics(s, keep string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case spelledOut[r] != "":
			b.WriteString(spelledOut[r])
		case unicode.Is(unicode.Mn, r):
		case isSymbol(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// dropSymbols composes s and replaces every mark, symbol and punctuation
// character by a space.
func dropSymbols(s string) string {
	return strings.Map(func(r rune) rune {
		if isSymbol(r) {
			return ' '
		}
		return r
	}, norm.NFKC.String(s))
}

// isSymbol reports whether r is in one of the categories M, S and P.
func isSymbol(r rune) bool { return unicode.In(r, unicode.M, unicode.S, unicode.P) }
