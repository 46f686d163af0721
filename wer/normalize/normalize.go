package normalize

import (
	"fmt"
	"slices"
	"strings"
)

// Version names the upstream release whose results [English] and [Basic] return.
// It belongs in every report of a rate.
const Version = "openai-whisper 20250625"

// A Func normalises a text.
type Func func(string) string

// Names returns what [ByName] knows.
func Names() []string { return []string{"english", "basic", "none"} }

// ByName returns the normaliser called "english", "basic" or "none". The error
// for any other name lists these.
func ByName(name string) (Func, error) {
	switch name {
	case "english":
		return English, nil
	case "basic":
		return Basic, nil
	case "none":
		return func(s string) string { return s }, nil
	}
	return nil, fmt.Errorf("normalizer %q: unknown: want %s", name, strings.Join(Names(), ", "))
}

// Basic is the normaliser for languages other than English: lower case, no text in
// brackets, spaces for marks, symbols and punctuation, single spaces. Since Indic vowel
// signs are marks, it splits such words, as upstream does.
//
// Source: openai/whisper@c0d2f62 whisper/normalizers/basic.py,
// BasicTextNormalizer.
func Basic(s string) string { return basic.apply(s) }

var (
	basic = slices.Concat(steps{lowerValid}, withoutBrackets, steps{dropSymbols, lower}, singleSpaces)

	withoutBrackets = subs(`[<\[][^>\]]*[>\]]`, ``, `\(([^)]+?)\)`, ``)
	singleSpaces    = subs(`\s+`, ` `)
)
