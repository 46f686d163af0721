package tokenizer

import (
	"slices"
	"strings"
	"unicode"
)

// SplitToWords splits tokens into words for word times. In languages written
// without spaces (zh ja th lo my yue, as lang) every character is a word;
// elsewhere a word begins at a space, a punctuation mark or a special token.
//
//	words  the text of each word, specials and timestamps spelled out
//	groups the tokens of each; together they are tokens
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, split_to_word_tokens.
func (t *Tokenizer) SplitToWords(tokens []Token, lang string) (words []string, groups [][]Token) {
	words, groups = t.splitOnUnicode(tokens)
	switch lang {
	case "zh", "ja", "th", "lo", "my", "yue":
		return words, groups
	}
	return t.joinSubwords(words, groups)
}

// splitOnUnicode splits tokens after each one that completes a character. A U+FFFD counts
// as an incomplete character, unless the text of all tokens together has one at that
// place too.
func (t *Tokenizer) splitOnUnicode(tokens []Token) (words []string, groups [][]Token) {
	full := []rune(t.DecodeWithTimestamps(tokens))
	offset, begin := 0, 0 // in characters of full; in tokens
	for i := range tokens {
		group := tokens[begin : i+1 : i+1]
		text := t.DecodeWithTimestamps(group)
		runes := []rune(text)
		if bad := slices.Index(runes, unicode.ReplacementChar); bad >= 0 {
			if at := offset + bad; at >= len(full) || full[at] != unicode.ReplacementChar {
				continue
			}
		}
		words, groups = append(words, text), append(groups, group)
		offset, begin = offset+len(runes), i+1
	}
	return words, groups
}

// joinSubwords joins subwords to the word they continue.
func (t *Tokenizer) joinSubwords(subwords []string, parts [][]Token) (words []string, groups [][]Token) {
	for i, sub := range subwords {
		last := len(words) - 1
		if last < 0 || parts[i][0] >= t.EOT || strings.HasPrefix(sub, " ") || isPunctuation(sub) {
			words, groups = append(words, sub), append(groups, parts[i])
			continue
		}
		words[last] += sub
		groups[last] = append(groups[last], parts[i]...)
	}
	return words, groups
}

// isPunctuation reports whether sub, without the white space around it, is part of
// Python's string.punctuation: one ASCII sign, a few in that order, or nothing.
func isPunctuation(sub string) bool {
	const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	return strings.Contains(punctuation, Strip(sub))
}

// Strip removes white space from both ends of s, as Python's str.strip does: its
// white space is Unicode's and the separators U+001C … U+001F.
func Strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
	})
}

// IsSentenceEnd reports whether r is a mark that ends sentences, in any script.
func IsSentenceEnd(r rune) bool { return r == '…' || unicode.Is(unicode.STerm, r) }

// IsWordRune reports whether r is a letter, a digit or a mark on one.
func IsWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// IsUnspaced reports whether r is of a script that does not separate words by spaces.
func IsUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}
