package normalize

import (
	"context"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// A step takes time in proportion to its text.
type step func(string) string

// apply applies steps one after the other. Before each it looks at ctx; the error is
// the cause that ended it.
func apply(ctx context.Context, s string, steps []step) (string, error) {
	for _, f := range steps {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		s = f(s)
	}
	return s, nil
}

// lowerValid is lower, with U+FFFD for what is not UTF-8.
func lowerValid(s string) string { return lower(strings.ToValidUTF8(s, "\ufffd")) }

// A rule is a call of Python's re.sub: what its expression matches is replaced.
type rule struct {
	re          *regexp.Regexp
	with        string
	left, right bool   // it begins or ends at a word boundary
	begins      string // what every match begins with
	needs       string // characters of which every match has one; empty if unknown
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
		left, right, "", ""}
	r.re.Longest()
	r.begins, _ = r.re.LiteralPrefix()
	parsed, _ := syntax.Parse(r.re.String(), syntax.Perl) // compiled already
	r.needs = needs(parsed)
	return r
}

// needs returns a few characters of which every match has one; empty if it sees none.
// Most texts lack those of most expressions, and are then left at once.
func needs(e *syntax.Regexp) (some string) {
	switch e.Op {
	case syntax.OpLiteral:
		return string(e.Rune[:1])
	case syntax.OpCharClass:
		for i := 0; i < len(e.Rune); i += 2 {
			for r := e.Rune[i]; r <= e.Rune[i+1]; r++ {
				if some += string(r); len(some) > len("0123456789") {
					return ""
				}
			}
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, part := range e.Sub {
			if n := needs(part); some == "" || n != "" && len(n) < len(some) {
				some = n
			}
		}
	}
	return some
}

// subs returns the steps of expressions, each followed by its replacement.
func subs(pairs ...string) (list []step) {
	for p := range slices.Chunk(pairs, 2) {
		list = append(list, sub(p[0], p[1]).apply)
	}
	return list
}

func (r rule) apply(s string) string {
	if !strings.Contains(s, r.begins) || r.needs != "" && !strings.ContainsAny(s, r.needs) {
		return s
	}
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
