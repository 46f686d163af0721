package normalize

import (
	"math/big"
	"strings"
)

// A kind is the role of a word in a number.
type kind uint8

const (
	unknown    kind = iota
	zero            // zero, oh
	ones            // one to nineteen
	tens            // twenty to ninety
	multiplier      // hundred and the powers of a thousand
	plusMinus       // minus, plus: before a number
	currency        // dollars: after a number
	percent         // percent, per cent: after a number
	joint           // and, double, triple, point: between numbers
)

// A term is the lexicon's entry of a word.
type term struct {
	kind   kind
	value  int64    // of zero, ones and tens
	power  *big.Int // of a multiplier; not to be changed
	suffix string   // "st", "th", "s"; the sign of plusMinus and currency
}

// cardinal reports whether t is a plain number word of kind k, as "two" is and
// "second" and "twos" are not.
func (t term) cardinal(k kind) bool { return t.kind == k && t.suffix == "" }

var lexicon = makeLexicon()

func makeLexicon() map[string]term {
	m := map[string]term{
		"o": {kind: zero}, "oh": {kind: zero}, "zero": {kind: zero},
		"zeroth": {kind: ones, suffix: "th"},
		"minus":  {kind: plusMinus, suffix: "-"}, "negative": {kind: plusMinus, suffix: "-"},
		"plus": {kind: plusMinus, suffix: "+"}, "positive": {kind: plusMinus, suffix: "+"},
		"pound": {kind: currency, suffix: "£"}, "pounds": {kind: currency, suffix: "£"},
		"euro": {kind: currency, suffix: "€"}, "euros": {kind: currency, suffix: "€"},
		"dollar": {kind: currency, suffix: "$"}, "dollars": {kind: currency, suffix: "$"},
		"cent": {kind: currency, suffix: "¢"}, "cents": {kind: currency, suffix: "¢"},
		"per": {kind: percent}, "percent": {kind: percent},
		"and": {kind: joint}, "double": {kind: joint}, "triple": {kind: joint}, "point": {kind: joint},
	}
	addOnes(m)
	addTens(m)
	addMultipliers(m)
	return m
}

// addOnes adds one to nineteen, their plurals and ordinals. The ordinals that do
// not just add "th" or "h" are upstream's: it has no "ninth", but "nineth".
func addOnes(m map[string]term) {
	ordinals := map[int]string{1: "first", 2: "second", 3: "third", 5: "fifth", 12: "twelfth"}
	suffixes := map[int]string{1: "st", 2: "nd", 3: "rd"}
	names := strings.Fields(`one two three four five six seven eight nine ten eleven twelve thirteen
		fourteen fifteen sixteen seventeen eighteen nineteen`)
	for i, name := range names {
		n := i + 1
		plural, ordinal, suffix := name+"s", name+"th", "th"
		if name == "six" {
			plural = "sixes"
		}
		if strings.HasSuffix(name, "t") {
			ordinal = name + "h"
		}
		if o, ok := ordinals[n]; ok {
			ordinal = o
		}
		if s, ok := suffixes[n]; ok {
			suffix = s
		}
		m[name] = term{kind: ones, value: int64(n)}
		m[plural] = term{kind: ones, value: int64(n), suffix: "s"}
		m[ordinal] = term{kind: ones, value: int64(n), suffix: suffix}
	}
}

func addTens(m map[string]term) {
	for i, name := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		n, stem := int64(10*(i+2)), strings.TrimSuffix(name, "y")
		m[name] = term{kind: tens, value: n}
		m[stem+"ies"] = term{kind: tens, value: n, suffix: "s"}
		m[stem+"ieth"] = term{kind: tens, value: n, suffix: "th"}
	}
}

// addMultipliers adds hundred = 10² and thousand = 10³ to decillion = 10³³.
func addMultipliers(m map[string]term) {
	exponent := int64(2)
	for _, name := range strings.Fields(`hundred thousand million billion trillion quadrillion quintillion
		sextillion septillion octillion nonillion decillion`) {
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(exponent), nil)
		m[name] = term{kind: multiplier, power: power}
		m[name+"s"] = term{kind: multiplier, power: power, suffix: "s"}
		m[name+"th"] = term{kind: multiplier, power: power, suffix: "th"}
		exponent = exponent/3*3 + 3
	}
}
