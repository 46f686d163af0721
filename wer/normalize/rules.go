package normalize

import (
	"regexp"
	"slices"
	"strings"
)

// Steps are applied one after the other. Each takes time in proportion to its text.
type steps []func(string) string

func (list steps) apply(s string) string {
	for _, step := range list {
		s = step(s)
	}
	return s
}

// lowerValid is lower, with U+FFFD for what is not UTF-8.
func lowerValid(s string) string { return lower(strings.ToValidUTF8(s, "\ufffd")) }

// A rule is a call of Python's re.sub: what its expression matches is replaced.
type rule struct {
	re          *regexp.Regexp
	with        string
	left, right bool // it begins or ends at a word boundary
}

// python translates the classes of Python's re, which are Unicode's.
var python = strings.NewReplacer(`\s`, `[\t-\r\x1c-\x20\x{85}\p{Z}]`, `\d`, `\p{Nd}`)

// sub returns the rule of an expression and its replacement, both as upstream writes
// them. \b may stand at the ends of the expression, beside ASCII word characters: then
// the longest match is the only one that can end at a boundary.
func sub(expression, with string) rule {
	e, left := strings.CutPrefix(expression, `\b`)
	e, right := strings.CutSuffix(e, `\b`)
	r := rule{regexp.MustCompile(python.Replace(e)), regexp.MustCompile(`\\(\d)`).ReplaceAllString(with, "$${$1}"),
		left, right}
	r.re.Longest()
	return r
}

// subs returns the steps of expressions, each followed by its replacement.
func subs(pairs ...string) (list steps) {
	for p := range slices.Chunk(pairs, 2) {
		list = append(list, sub(p[0], p[1]).apply)
	}
	return list
}

func (r rule) apply(s string) string {
	var b []byte
	done := 0 // s[:done] is in b
	for from := 0; ; {
		m := r.re.FindStringSubmatchIndex(s[from:])
		if m == nil {
			break
		}
		at, end := from+m[0], from+m[1]
		if r.left && !boundary(s, at) || r.right && !boundary(s, end) {
			from = at + 1
			continue
		}
		b = r.re.ExpandString(append(b, s[done:at]...), r.with, s[from:], m)
		done, from = end, end
	}
	if done == 0 {
		return s
	}
	return string(append(b, s[done:]...))
}
