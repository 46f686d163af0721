package normalize

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A number is none, a whole number, or text such as "1.5", "007" or "1.": digits joined
// by concatenation. It is used once: making another of it may reuse its bytes.
type number struct {
	n      *big.Int // not to be changed
	s      []byte
	isText bool
}

func text(s []byte) number    { return number{s: s, isText: true} }
func whole(n *big.Int) number { return number{n: n} }

func (v number) some() bool { return v.isText || v.n != nil }

// String returns the digits.
func (v number) String() string {
	if v.isText {
		return string(v.s)
	}
	return v.n.String()
}

// then appends digits to v. None and a whole zero leave no trace.
func (v number) then(digits string) number {
	if !v.isText && (v.n == nil || v.n.Sign() == 0) {
		return text([]byte(digits))
	}
	return v.withDigits(digits)
}

func (v number) withDigits(digits string) number {
	if !v.isText {
		v = text(v.n.Append(nil, 10))
	}
	return text(append(v.s, digits...))
}

// maxDigits is how many digits a number may have that is computed with, as in
// Python. It keeps the time linear in the length of a text.
const maxDigits = 4300

// maxBits is the bits that maxDigits digits need at most.
const maxBits = maxDigits*33220/10000 + 1

// parse returns the number that an isDigits word stands for: whole if its
// fraction is zero and it is not too long, else the text as it is.
func parse(digits string) number {
	if utf8.RuneCountInString(digits) > maxDigits {
		return text([]byte(digits))
	}
	if v, _ := fraction(digits); v.IsInt() {
		return whole(v.Num())
	}
	return text([]byte(digits))
}

// addOnes appends 1 to 19, spoken after prev: seventy-two is 72, seven two is 72 by
// concatenation, seventy twelve is 7012.
func (v number) addOnes(n int64, prev term) number {
	switch {
	case !v.some():
		return whole(big.NewInt(n))
	case v.isText && prev.cardinal(tens) && n < 10:
		return text(strconv.AppendInt(bytes.TrimSuffix(v.s, []byte{'0'}), n, 10))
	case v.isText || prev.cardinal(ones):
		return v.withDigits(strconv.FormatInt(n, 10))
	case n < 10:
		return v.fit(n, 10)
	}
	return v.fit(n, 100)
}

// addTens appends 20, 30, … 90.
func (v number) addTens(n int64) number {
	switch {
	case !v.some():
		return whole(big.NewInt(n))
	case v.isText:
		return v.withDigits(strconv.FormatInt(n, 10))
	}
	return v.fit(n, 100)
}

// fit adds n to a whole number that ends in enough zeros, else it appends n.
func (v number) fit(n, zeros int64) number {
	if new(big.Int).Rem(v.n, big.NewInt(zeros)).Sign() != 0 {
		return v.withDigits(strconv.FormatInt(n, 10))
	}
	return whole(new(big.Int).Add(v.n, big.NewInt(n)))
}

// times multiplies by a power of ten: the last three digits of a whole number, so that
// "two thousand three hundred" is 2300, and all of a text if the product is whole. No
// number counts as one. It reports false for a number that is too long, and for a text
// that is not a number or has too many decimals.
func (v number) times(power *big.Int) (number, bool) {
	if !v.some() {
		return whole(power), true
	}
	if v.isText && utf8.RuneCount(v.s) > maxDigits || !v.isText && v.n.BitLen() > maxBits {
		return number{}, false
	}
	if v.isText {
		f, ok := fraction(string(v.s))
		if !ok {
			return number{}, false
		}
		f.Mul(f, new(big.Rat).SetInt(power))
		return whole(f.Num()), f.IsInt()
	}
	rest := new(big.Int)
	before, _ := new(big.Int).QuoRem(v.n, big.NewInt(1000), rest)
	before.Mul(before, big.NewInt(1000))
	return whole(before.Add(before, rest.Mul(rest, power))), true
}

// fraction reads \d*(\.\d*)? with at least one digit.
func fraction(s string) (*big.Rat, bool) {
	return new(big.Rat).SetString(strings.Map(func(r rune) rune {
		switch {
		case r == '.':
			return r
		case unicode.IsDigit(r):
			return '0' + digitValue(r)
		}
		return '?' // no part of a number
	}, s))
}
