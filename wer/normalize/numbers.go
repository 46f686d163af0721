package normalize

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeNumbers rewrites numbers in words as digits, with currency signs before and
// percent signs after them, and joins the words with single spaces.
//
// Source: openai/whisper@c0d2f62 whisper/normalizers/english.py,
// EnglishNumberNormalizer.
func writeNumbers(s string) string {
	r := reader{words: strings.FieldsFunc(aroundUnits.apply(writeHalves(s)), isSpace)}
	for ; r.at < len(r.words); r.at++ {
		r.readWord(r.words[r.at])
	}
	r.flush()
	return cents.apply(strings.Join(r.out, " "))
}

var (
	halves = sub(`\band\s+a\s+half\b`, "\xff") // no byte of UTF-8

	// A space between letters and digits, but none before a suffix of a number.
	aroundUnits = subs(`([a-z])([0-9])`, `\1 \2`, `([0-9])([a-z])`, `\1 \2`,
		`([0-9])\s+(st|nd|rd|th|s)\b`, `\1\2`)

	// "$2 and ¢7" and "$2 ¢7" as "$2.07", then "$0.07" as "¢7": upstream's {1,2} in two
	// expressions, and its int() as a zero that is left out; last, 1 in words.
	cents = subs(
		`([€£$])([0-9]+) (?:and )?¢([0-9]{2})\b`, `\1\2.\3`, `([€£$])([0-9]+) (?:and )?¢([0-9])\b`, `\1\2.0\3`,
		`[€£$]0.0([0-9])\b`, `¢\1`, `[€£$]0.([1-9][0-9]|[0-9])\b`, `¢\1`, `\b1(s?)\b`, `one\1`)
)

// writeHalves turns "and a half" into "point five" after a number word.
func writeHalves(s string) string {
	parts := strings.Split(halves.apply(s), "\xff")
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

// A reader reads words and assembles numbers. Between words it holds at most one
// unfinished number.
type reader struct {
	words []string
	at    int
	out   []string

	n    number
	sign string // written before the next word or number
}

// write writes word in place of the unfinished number.
func (r *reader) write(word string) {
	r.out = append(r.out, r.sign+word)
	r.n, r.sign = number{}, ""
}

// flush writes the unfinished number if there is one.
func (r *reader) flush() {
	if r.n.some() {
		r.write(r.n.String())
	}
}

// prev and next return the lexicon's entries of the neighbours of the current word; the
// zero term stands for an unknown word or none.
func (r *reader) prev() term { return r.term(r.at - 1) }
func (r *reader) next() term { return r.term(r.at + 1) }

func (r *reader) term(i int) term {
	if i < 0 || i >= len(r.words) {
		return term{}
	}
	return lexicon[r.words[i]]
}

func (r *reader) nextIsDigits() bool { return r.at+1 < len(r.words) && isDigits(r.words[r.at+1]) }

// readWord processes the current word.
func (r *reader) readWord(word string) {
	sign, digits := cutSign(word)
	if isDigits(digits) {
		r.readDigits(word, sign, digits)
		return
	}
	t := lexicon[word]
	switch t.kind {
	case unknown:
		r.flush()
		r.write(word)
	case zero:
		r.n = r.n.then("0")
	case ones:
		r.n = r.n.addOnes(t.value, r.prev())
		r.finish(t.suffix)
	case tens:
		r.n = r.n.addTens(t.value)
		r.finish(t.suffix)
	case multiplier:
		r.multiply(t)
	case plusMinus:
		r.flush()
		if r.next().kind == unknown && !r.nextIsDigits() {
			r.write(word)
		} else {
			r.sign = t.suffix
		}
	case currency:
		if !r.n.some() {
			r.write(word)
		} else {
			r.sign = t.suffix
			r.flush()
		}
	case percent:
		r.readPercent(word)
	case joint:
		r.readJoint(word)
	}
}

// readDigits reads a number in digits, with the currency sign it may begin with.
func (r *reader) readDigits(word, sign, digits string) {
	if r.n.isText && bytes.HasSuffix(r.n.s, []byte{'.'}) {
		r.n = r.n.then(word) // decimals, or the parts of an address
		return
	}
	r.flush()
	if sign != "" {
		r.sign = sign
	}
	r.n = parse(digits)
}

// finish writes the number with a suffix that ends it, as in "th"; an empty suffix does
// nothing.
func (r *reader) finish(suffix string) {
	if suffix != "" {
		r.write(r.n.String() + suffix)
	}
}

// multiply reads "hundred", "million" and so on.
func (r *reader) multiply(t term) {
	product, ok := r.n.times(t.power)
	if !ok {
		r.flush()
		product = whole(t.power)
	}
	r.n = product
	r.finish(t.suffix)
}

// readPercent reads "percent", and "per" that may be followed by "cent".
func (r *reader) readPercent(word string) {
	switch {
	case !r.n.some():
		r.write(word)
	case word == "percent":
		r.write(r.n.String() + "%")
	case r.at+1 < len(r.words) && r.words[r.at+1] == "cent":
		r.write(r.n.String() + "%")
		r.at++
	default:
		r.flush()
		r.write(word)
	}
}

// readJoint reads words that have a meaning only before another number: "and", "double",
// "triple" and "point".
func (r *reader) readJoint(word string) {
	next := r.next()
	switch {
	case next.kind == unknown && !r.nextIsDigits():
		r.flush()
		r.write(word)
	case word == "and":
		if prev := r.prev(); prev.kind != multiplier || prev.suffix != "" {
			r.flush()
			r.write(word)
		}
	case word == "point":
		if r.nextIsDigits() || next.cardinal(zero) || next.cardinal(ones) || next.cardinal(tens) {
			r.n = r.n.then(".")
		}
	case next.cardinal(zero) || next.cardinal(ones):
		times := map[string]int{"double": 2, "triple": 3}[word]
		r.n = r.n.then(strings.Repeat(strconv.FormatInt(next.value, 10), times))
		r.at++
	default:
		r.flush()
		r.write(word)
	}
}

// cutSign splits a currency sign off word.
func cutSign(word string) (sign, rest string) {
	r, size := utf8.DecodeRuneInString(word)
	if strings.ContainsRune("£€$¢", r) {
		return word[:size], word[size:]
	}
	return "", word
}

// isDigits matches a whole word: ^\d+(\.\d+)?$
func isDigits(word string) bool {
	before, after, point := strings.Cut(word, ".")
	all := func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
	}
	return all(before) && (!point || all(after))
}
