package live

import (
	"math"
	"slices"
	"strings"

	"verity/transcript"
)

// An agreement implements LocalAgreement-2: a word is confirmed when two successive
// passes agree on it.
type agreement struct {
	last  []transcript.Word // unconfirmed words of the previous pass
	heard []transcript.Word // confirmed words in the sound that passes still see
	end   float64           // end of the last confirmed word
}

// add takes the words of a pass and returns those that it confirms.
func (a *agreement) add(words []transcript.Word) []transcript.Word {
	words = a.fresh(words)
	n := 0
	for n < len(words) && n < len(a.last) && words[n].Word == a.last[n].Word {
		n++
	}
	a.last = words[n:]
	return a.confirm(words[:n])
}

// finish takes the words of the last pass and confirms all of them.
func (a *agreement) finish(words []transcript.Word) []transcript.Word {
	a.last, words = nil, a.fresh(words)
	return a.confirm(words)
}

// past is how many words at the beginning end by a given time.
func past(words []transcript.Word, by float64) int {
	n := slices.IndexFunc(words, func(w transcript.Word) bool { return w.End > by })
	if n < 0 {
		return len(words)
	}
	return n
}

// force confirms the words of the previous pass that end before a given time.
func (a *agreement) force(before float64) []transcript.Word {
	n := past(a.last, before)
	words := a.last[:n]
	a.last = a.last[n:]
	return a.confirm(words)
}

func (a *agreement) confirm(words []transcript.Word) []transcript.Word {
	if len(words) > 0 {
		a.heard = append(a.heard, words...)
		a.end = max(a.end, words[len(words)-1].End)
	}
	return words
}

// forget drops confirmed words whose sound has been dropped.
func (a *agreement) forget(before float64) { a.heard = a.heard[past(a.heard, before):] }

// slack is how much the time of a word may differ between passes. near is how close to
// the last confirmed word a pass must begin to be checked for repetitions of it. Both
// are whisper_streaming's values.
const (
	slack    = 0.1 // s
	near     = 1.0 // s
	longTail = 5   // words
)

// fresh returns the words after the confirmed ones. A pass usually repeats the
// confirmed words unchanged; if it does not, the times decide.
func (a *agreement) fresh(words []transcript.Word) []transcript.Word {
	if n := len(a.heard); n > 0 && len(words) >= n && sameWords(a.heard, words[:n]) {
		return words[n:]
	}
	for len(words) > 0 && words[0].Start <= a.end-slack {
		words = words[1:]
	}
	if len(words) == 0 || len(a.heard) == 0 || math.Abs(words[0].Start-a.end) >= near {
		return words
	}
	for n := min(len(words), len(a.heard), longTail); n > 0; n-- { // longest repetition first
		if sameWords(a.heard[len(a.heard)-n:], words[:n]) {
			return words[n:]
		}
	}
	return words
}

// sameWords compares words, ignoring case and punctuation.
func sameWords(a, b []transcript.Word) bool {
	return slices.EqualFunc(a, b, func(a, b transcript.Word) bool { return bare(a.Word) == bare(b.Word) })
}

func bare(word string) string {
	return strings.ToLower(strings.Trim(word, " .,;:!?¿¡\"'“”‘’…-–—。、，！？"))
}

func spell(words []transcript.Word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.Word)
	}
	return b.String()
}
