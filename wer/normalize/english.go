package normalize

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// English is the normaliser for English: as [Basic] without diacritics, and
// contractions written out, numbers in digits, spelling American.
//
// Source: openai/whisper@c0d2f62 whisper/normalizers/english.py,
// EnglishTextNormalizer.
func English(s string) string {
	s, _ = english(context.Background(), s)
	return s
}

// english is English; the error is the cause that ended ctx.
func english(ctx context.Context, s string) (string, error) {
	s, err := apply(ctx, s, beforeNumbers)
	if err == nil {
		s, err = writeNumbers(ctx, s)
	}
	if err == nil {
		s, err = apply(ctx, s, afterNumbers)
	}
	return s, err
}

// The steps of [English] before and after its numbers are written in digits.
var (
	beforeNumbers = slices.Concat(
		[]step{lowerValid, dropBracketed, dropParenthesised, dropFillers, attachApostrophes},
		expansions(),
		[]step{
			joinDigits,
			func(s string) string { return spaceOut(s, ".", true) },
			func(s string) string { return dropSymbolsAndDiacritics(s, ".%$¢€£") },
		},
	)
	afterNumbers = []step{
		americanize,
		func(s string) string { return spaceOut(s, ".$¢€£", false) },
		spaceOutPercent, singleSpaces,
	}
)

// expansions returns a step for each contraction.
func expansions() (list []step) {
	for _, c := range contractions {
		list = append(list, c.expand)
	}
	return list
}

var fillers = []string{"hmm", "mm", "mhm", "mmm", "uh", "um"}

// dropFillers removes words that are only noise: \b(hmm|mm|mhm|mmm|uh|um)\b
func dropFillers(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		end := strings.IndexFunc(s, isWord)
		if end < 0 {
			break
		}
		b.WriteString(s[:end])
		s = s[end:]
		end = strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
		if end < 0 {
			end = len(s)
		}
		if !slices.Contains(fillers, s[:end]) {
			b.WriteString(s[:end])
		}
		s = s[end:]
	}
	return b.String() + s
}

// contractions are replaced one after another, each in the result of the one before.
var contractions = slices.Concat(
	words("won't", "will not", "can't", "can not", "let's", "let us", "ain't", "aint", "y'all", "you all",
		"wanna", "want to", "gotta", "got to", "gonna", "going to", "i'ma", "i am going to", "imma", "i am going to",
		"woulda", "would have", "coulda", "could have", "shoulda", "should have", "ma'am", "madam"),
	// Titles keep a space of their own after them.
	words("mr", "mister ", "mrs", "missus ", "st", "saint ", "dr", "doctor ", "prof", "professor ", "capt", "captain ",
		"gov", "governor ", "ald", "alderman ", "gen", "general ", "sen", "senator ", "rep", "representative ",
		"pres", "president ", "rev", "reverend ", "hon", "honorable ", "asst", "assistant ", "assoc", "associate ",
		"lt", "lieutenant ", "col", "colonel ", "jr", "junior ", "sr", "senior ", "esq", "esquire "),
	endings("'d been", " had been", "'s been", " has been", "'d gone", " had gone", "'s gone", " has gone",
		"'d done", " had done", "'s got", " has got"),
	endings("n't", " not", "'re", " are", "'s", " is", "'d", " would", "'ll", " will", "'t", " not",
		"'ve", " have", "'m", " am"),
)

// words returns contractions that are whole words, given as short, long, ….
func words(pairs ...string) []contraction { return pair(true, pairs) }

// endings returns contractions that are attached to a word.
func endings(pairs ...string) []contraction { return pair(false, pairs) }

func pair(word bool, pairs []string) []contraction {
	var c []contraction
	for p := range slices.Chunk(pairs, 2) {
		c = append(c, contraction{p[0], p[1], word})
	}
	return c
}

//go:embed english.json
var spellingJSON []byte

// spelling maps British spellings to American ones.
var spelling = sync.OnceValue(func() map[string]string {
	var m map[string]string
	if err := json.Unmarshal(spellingJSON, &m); err != nil {
		panic("normalize: english.json: " + err.Error())
	}
	return m
})

// americanize rewrites British spellings and joins the words with single spaces.
func americanize(s string) string {
	m := spelling()
	var b strings.Builder
	b.Grow(len(s))
	for word := range strings.FieldsFuncSeq(s, isSpace) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if american, ok := m[word]; ok {
			word = american
		}
		b.WriteString(word)
	}
	return b.String()
}
