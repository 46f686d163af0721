package live

import (
	"math"
	"slices"
	"strings"

	"verity/transcript"
)

// An agreement implements LocalAgreement-2: a word is confirmed when two successive passes agree on it.
type agreement struct {
	tentative []transcript.Word // unconfirmed words of the previous pass
	confirmed []transcript.Word // confirmed words in the sound that passes still see
	end       float64           // end of the last confirmed word

	// Unfinished returns how many of the last words may be the beginning of a phrase that is to be replaced. They
	// wait until the rest is known. Nil means none.
	unfinished func([]transcript.Word) int
}

// add returns the words of a pass that the pass before agrees with: they are now confirmed.
func (a *agreement) add(words []transcript.Word) []transcript.Word {
	words = a.newWords(words)
	n := 0
	for n < len(words) && n < len(a.tentative) && words[n].Word == a.tentative[n].Word {
		n++
	}
	if a.unfinished != nil {
		n -= a.unfinished(words[:n])
	}
	a.tentative = words[n:]
	return a.confirm(words[:n])
}

// finish confirms all new words of the last pass.
func (a *agreement) finish(words []transcript.Word) []transcript.Word {
	a.tentative, words = nil, a.newWords(words)
	return a.confirm(words)
}

// countEndingBy returns how many of the first words end no later than a time.
func countEndingBy(words []transcript.Word, time float64) int {
	n := slices.IndexFunc(words, func(w transcript.Word) bool { return w.End > time })
	if n < 0 {
		return len(words)
	}
	return n
}

// confirmBefore confirms the words of the previous pass that end by a time, without the agreement of
// a second pass.
func (a *agreement) confirmBefore(time float64) []transcript.Word {
	n := countEndingBy(a.tentative, time)
	words := a.tentative[:n]
	a.tentative = a.tentative[n:]
	return a.confirm(words)
}

func (a *agreement) confirm(words []transcript.Word) []transcript.Word {
	if len(words) > 0 {
		a.confirmed = append(a.confirmed, words...)
		a.end = max(a.end, words[len(words)-1].End)
	}
	return words
}

// dropBefore drops the confirmed words that end by a time, since their sound has been dropped.
func (a *agreement) dropBefore(time float64) {
	a.confirmed = a.confirmed[countEndingBy(a.confirmed, time):]
}

// Whisper_streaming's values. The time of a word may differ by timeTolerance between passes.
// A pass that begins within repetitionDistance of the last confirmed word is searched for
// repetitions of confirmed words, of at most maxRepeated words.
const (
	timeTolerance      = 0.1 // s
	repetitionDistance = 1.0 // s
	maxRepeated        = 5   // words
)

// newWords returns the words after the confirmed ones. A pass usually repeats the
// confirmed words unchanged; if it does not, times decide.
func (a *agreement) newWords(words []transcript.Word) []transcript.Word {
	if n := len(a.confirmed); n > 0 && len(words) >= n && sameWords(a.confirmed, words[:n]) {
		return words[n:]
	}
	for len(words) > 0 && words[0].Start <= a.end-timeTolerance {
		words = words[1:]
	}
	if len(words) == 0 || len(a.confirmed) == 0 || math.Abs(words[0].Start-a.end) >= repetitionDistance {
		return words
	}
	for n := min(len(words), len(a.confirmed), maxRepeated); n > 0; n-- { // longest repetition first
		if sameWords(a.confirmed[len(a.confirmed)-n:], words[:n]) {
			return words[n:]
		}
	}
	return words
}

// sameWords compares words, ignoring case and punctuation.
func sameWords(a, b []transcript.Word) bool {
	return slices.EqualFunc(a, b, func(a, b transcript.Word) bool { return normalized(a.Word) == normalized(b.Word) })
}

func normalized(word string) string {
	return strings.ToLower(strings.Trim(word, " .,;:!?¿¡\"'“”‘’…-–—。、，！？"))
}

func spell(words []transcript.Word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.Word)
	}
	return b.String()
}
