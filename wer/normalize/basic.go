package normalize

import (
	"context"
	"strings"

	"github.com/rivo/uniseg"
)

// Basic is the normaliser for languages other than English: lower case, no text in
// brackets, spaces for marks, symbols and punctuation, single spaces. Since Indic vowel
// signs are marks, it splits such words, as upstream does.
//
// Source: openai/whisper@c0d2f62 whisper/normalizers/basic.py,
// BasicTextNormalizer.
func Basic(s string) string { return BasicOptions{}.Normalize(s) }

// basic is Basic; the error is the cause that ended ctx.
func basic(ctx context.Context, s string) (string, error) {
	return apply(ctx, s, BasicOptions{}.steps())
}

// BasicOptions are the choices of upstream's BasicTextNormalizer. The zero value
// is [Basic].
type BasicOptions struct {
	// DropDiacritics writes é as e, ø as o and ß as ss.
	DropDiacritics bool

	// SplitLetters puts a space between all letters (grapheme clusters), for
	// languages without spaces between words; word errors are then letter errors.
	SplitLetters bool
}

// Normalize returns s normalised.
func (o BasicOptions) Normalize(s string) string {
	s, _ = apply(context.Background(), s, o.steps())
	return s
}

func (o BasicOptions) steps() []step {
	list := append([]step{lowerValid}, withoutBrackets...)
	if o.DropDiacritics {
		list = append(list, func(s string) string { return dropSymbolsAndDiacritics(s, "") })
	} else {
		list = append(list, dropSymbols)
	}
	list = append(list, lower)
	if o.SplitLetters {
		list = append(list, splitLetters)
	}
	return append(list, singleSpaces...)
}

var (
	withoutBrackets = subs(`[<\[][^>\]]*[>\]]`, ``, `\(([^)]+?)\)`, ``)
	singleSpaces    = subs(`\s+`, ` `)
)

func splitLetters(s string) string {
	var b strings.Builder
	for letters := uniseg.NewGraphemes(s); letters.Next(); {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(letters.Str())
	}
	return b.String()
}
