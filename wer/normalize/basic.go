package normalize

import (
	"context"
	"slices"
)

// Basic is the normaliser for languages other than English: lower case, no text in
// brackets, spaces for marks, symbols and punctuation, single spaces. Since Indic vowel
// signs are marks, it splits such words, as upstream does.
//
// Source: openai/whisper@c0d2f62 whisper/normalizers/basic.py,
// BasicTextNormalizer.
func Basic(s string) string {
	s, _ = basic(context.Background(), s)
	return s
}

// basic is Basic; the error is the cause that ended ctx.
func basic(ctx context.Context, s string) (string, error) { return apply(ctx, s, basicSteps) }

var (
	basicSteps = slices.Concat([]step{lowerValid}, withoutBrackets, []step{dropSymbols, lower}, singleSpaces)

	withoutBrackets = subs(`[<\[][^>\]]*[>\]]`, ``, `\(([^)]+?)\)`, ``)
	singleSpaces    = subs(`\s+`, ` `)
)
