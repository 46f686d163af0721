package transcribe

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
)

// refine moves the edges of words by a second look at the attention, while the decoder spells the words letter by letter:
// letters follow the speech more closely than tokens do (arXiv 2509.09987).
//
//	edges   the audio positions at which words begin, in and out
//	words   of the text, end-of-text last; groups has the tokens of each
//
// A text too long for the decoder is spelled in parts, with the tokens of the other words around them.
func (w *modelWindow) refine(
	ctx context.Context, edges []float64, start []tokenizer.Token, words []string, groups [][]tokenizer.Token, positions int,
) error {
	// Speech may go on after the text, and letters must not spread over it.
	const after = 25
	positions = min(positions, int(edges[len(edges)-1])+after)
	words = append(slices.Clone(words[:len(words)-1]), "") // end-of-text is not spelled
	for from := 0; from < len(groups); {
		text, begins := w.spell(words, groups, from, w.Dims.TextPositions-len(start)-1)
		if len(begins) == 0 {
			from++ // longer than the decoder's context: the token counts
			continue
		}
		at, _, err := w.force(ctx, start, text, false, positions)
		if err != nil {
			return err
		}
		for _, i := range begins {
			edges[from] = edge(words[from], edges[from], at[i:])
			from++
		}
	}
	for i := 1; i < len(edges); i++ {
		edges[i] = max(edges[i], edges[i-1])
	}
	return nil
}

// spell returns the tokens of a text. Words from a number on are spelled, as many as there is room for; begins has the offset of
// each of them.
func (m *Model) spell(words []string, groups [][]tokenizer.Token, from, room int) (text []tokenizer.Token, begins []int) {
	text = slices.Concat(groups[:from]...)
	rest := slices.Concat(groups[from:]...)
	for i, word := range words[from:] {
		g := groups[from+i]
		letters := g
		if word != "" {
			letters = m.letters(word)
		}
		if len(text)+len(letters)+len(rest)-len(g) > room {
			break
		}
		begins, text, rest = append(begins, len(text)), append(text, letters...), rest[len(g):]
	}
	return append(text, rest...), begins
}

// letters returns the tokens of a word, one or more for each character.
func (m *Model) letters(word string) (tokens []tokenizer.Token) {
	for i := range word {
		_, n := utf8.DecodeRuneInString(word[i:])
		tokens = append(tokens, m.Tokenizer.Encode(word[i:i+n])...)
	}
	return tokens
}

// edge returns the position at which a word begins, from those of its first token and of its letters. Tokens are early by about
// as much as letters are late, so it is halfway between the token and the letters, whose position is the mean of the space and the
// first letter. A word without letters, such as a mark or end-of-text, begins where it is spelled, since its token would end
// the word before a pause too early. Letters that strayed from the token do not count.
func edge(word string, token float64, letters []int) float64 {
	const mostEarly, mostLate = 15, 20 // positions before and after the token
	isSpoken := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	at := strings.IndexFunc(word, isSpoken)
	before, letter := float64(letters[0]), float64(letters[0])
	if at > 0 { // after a space, and perhaps marks
		letter = float64(letters[min(utf8.RuneCountInString(word[:at]), len(letters)-1)])
	}
	switch off := (before+letter)/2 - token; {
	case off < -mostEarly || off > mostLate:
		return token
	case at < 0:
		return before
	default:
		return token + off/2
	}
}
