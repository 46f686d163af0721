package normalize

import (
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
func English(s string) string { return english.apply(s) }

var english = slices.Concat(
	steps{lowerValid}, withoutBrackets,
	subs(`\b(hmm|mm|mhm|mmm|uh|um)\b`, ``, `\s+'`, `'`), subs(contractions...),
	subs(`(\d),(\d)`, `\1\2`, `\.([^0-9]|$)`, ` \1`),
	steps{func(s string) string { return dropSymbolsAndDiacritics(s, ".%$¢€£") }, writeNumbers, americanize},
	subs(`[.$¢€£]([^0-9])`, ` \1`, `([^0-9])%`, `\1 `), singleSpaces)

// contractions are replaced one after another, each in the result of the one before.
var contractions = []string{
	`\bwon't\b`, `will not`, `\bcan't\b`, `can not`, `\blet's\b`, `let us`, `\bain't\b`, `aint`,
	`\by'all\b`, `you all`, `\bwanna\b`, `want to`, `\bgotta\b`, `got to`, `\bgonna\b`, `going to`,
	`\bi'ma\b`, `i am going to`, `\bimma\b`, `i am going to`, `\bwoulda\b`, `would have`,
	`\bcoulda\b`, `could have`, `\bshoulda\b`, `should have`, `\bma'am\b`, `madam`,
	// Titles keep a space of their own after them.
	`\bmr\b`, `mister `, `\bmrs\b`, `missus `, `\bst\b`, `saint `, `\bdr\b`, `doctor `,
	`\bprof\b`, `professor `, `\bcapt\b`, `captain `, `\bgov\b`, `governor `, `\bald\b`, `alderman `,
	`\bgen\b`, `general `, `\bsen\b`, `senator `, `\brep\b`, `representative `, `\bpres\b`, `president `,
	`\brev\b`, `reverend `, `\bhon\b`, `honorable `, `\basst\b`, `assistant `, `\bassoc\b`, `associate `,
	`\blt\b`, `lieutenant `, `\bcol\b`, `colonel `, `\bjr\b`, `junior `, `\bsr\b`, `senior `,
	`\besq\b`, `esquire `,
	// Endings are attached to a word.
	`'d been\b`, ` had been`, `'s been\b`, ` has been`, `'d gone\b`, ` had gone`, `'s gone\b`, ` has gone`,
	`'d done\b`, ` had done`, `'s got\b`, ` has got`, `n't\b`, ` not`, `'re\b`, ` are`, `'s\b`, ` is`,
	`'d\b`, ` would`, `'ll\b`, ` will`, `'t\b`, ` not`, `'ve\b`, ` have`, `'m\b`, ` am`,
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
