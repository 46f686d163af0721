// Package show spells numbers and names for people: one way for each kind, in
// tables, reports and messages.
//
// # Conventions
//
// Sizes are decimal (1 MB is 10⁶ bytes), as disks and bandwidths have them. Numbers
// keep three digits. Text from outside (names of files, ids, references, output of a
// model) goes through [Name] or [Text] before it reaches a terminal: it may hold
// control characters, which a terminal executes.
package show

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes spells a size: 6.30 MB.
func Bytes(n int64) string {
	x := float64(n)
	switch {
	case n < 1000:
		return Some(int(n), "byte")
	case x < 999.5e3:
		return Digits(x/1e3) + " kB"
	case x < 999.5e6:
		return Digits(x/1e6) + " MB"
	}
	return Digits(x/1e9) + " GB"
}

// Count spells a number with its digits in groups: 1,234,567.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Rounded spells a large number in words: 3.10 million.
func Rounded(n int64) string {
	switch {
	case n >= 999_500_000:
		return Digits(float64(n)/1e9) + " billion"
	case n >= 1e6:
		return Digits(float64(n)/1e6) + " million"
	}
	return Count(int(n))
}

// Some returns a number with its noun: 1 word, 2,000 words.
func Some(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Seconds spells a time: 820 µs, 4.56 ms, 12.3 s, 1 min 40 s, 2 h 05 min.
func Seconds(s float64) string {
	switch {
	case s == 0:
		return "0 s"
	case s < 999.5e-6:
		return Digits(s*1e6) + " µs"
	case s < 0.9995:
		return Digits(s*1e3) + " ms"
	case s < 99.95:
		return Digits(s) + " s"
	case s < 7200:
		return fmt.Sprintf("%.0f min %02.0f s", math.Floor(s/60), math.Floor(math.Mod(s, 60)))
	}
	return fmt.Sprintf("%.0f h %02.0f min", math.Floor(s/3600), math.Floor(math.Mod(s, 3600)/60))
}

// JoinOr spells a choice: a, b or c.
func JoinOr(values []string) string {
	last := len(values) - 1
	if last < 1 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// Times spells a factor: 2.31×.
func Times(v float64) string { return Digits(v) + "×" }

// Percent spells a share: 4.35 %. NaN, a share of nothing, is empty.
func Percent[Share ~float64](share Share) string {
	if share != share {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100*share)
}

// Digits spells a number with three digits, or with all digits before the point if there are more.
func Digits(x float64) string {
	switch a := math.Abs(x); {
	case a >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Name spells a name on one line: unchanged, or quoted with escapes if it is empty or a terminal would
// interpret a part of it.
func Name(s string) string {
	if s == "" || strings.ContainsFunc(s, unsafe) || strings.ToValidUTF8(s, "") != s {
		return strconv.Quote(s)
	}
	return s
}

// Value is [Name] of what somebody gave for an option, cut if it is long.
func Value(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return Name(s)
}

// Text spells text that may have several lines: each control character but newline
// and tab is escaped, as \x1b.
func Text(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsFunc(s, func(r rune) bool { return unsafe(r) && r != '\n' && r != '\t' }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafe(r) && r != '\n' && r != '\t' {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Line spells text on one line: [Text] with its newlines escaped, too.
func Line(s string) string { return strings.ReplaceAll(Text(s), "\n", `\n`) }

// Short leaves out the middle of a very long text: a value in a message may have a megabyte.
func Short(s string) string {
	const head, tail = 2000, 800 // bytes: a path, and what to do about it
	if len(s) <= head+tail+100 {
		return s
	}
	from, to := s[:head], s[len(s)-tail:]
	from, to = strings.ToValidUTF8(from, ""), strings.ToValidUTF8(to, "")
	return fmt.Sprintf("%s … (%s) … %s", from, Bytes(int64(len(s)-head-tail)), to)
}

// unsafe reports whether a terminal interprets r as a command: control characters, and
// those that override the direction of writing or end a line.
func unsafe(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// Fold breaks text into lines of at most width characters. A newline stays one, with the
// indentation after it.
func Fold(text string, width int) (lines []string) {
	for part := range strings.SplitSeq(text, "\n") {
		indent := part[:len(part)-len(strings.TrimLeft(part, " "))]
		line := ""
		for word := range strings.FieldsSeq(part) {
			switch {
			case line == "":
				line = indent + word
			case len([]rune(line))+1+len([]rune(word)) > width:
				lines = append(lines, line)
				line = indent + word
			default:
				line += " " + word
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// Busy returns a sentence if the same thing, measured several times, varied so much that other work must have slowed
// it; empty otherwise. spread is the largest value over the smallest.
func Busy(spread float64) string {
	const noisy = 1.3
	if spread > noisy {
		return fmt.Sprintf("The machine was busy (what it can do varied by %.2g×): measure again later.", spread)
	}
	return ""
}
