package normalize

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

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
		case isASCIILower(r) || r == ' ' || strings.ContainsRune(keep, r):
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
func isSymbol(r rune) bool {
	return r != ' ' && !unicode.IsLetter(r) && unicode.In(r, unicode.M, unicode.S, unicode.P)
}
