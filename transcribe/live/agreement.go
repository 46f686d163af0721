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

// newWords returns the words after those that repeat the confirmed ones.
func (a *agreement) newWords(words []transcript.Word) []transcript.Word {
	n, same := a.repeated(words)
	for n < len(words) && !same && words[n].Start <= a.end-timeTolerance {
		n++
	}
	return words[n:]
}

const timeTolerance = 0.1 // s, by which the time of a word may differ between passes, as in whisper_streaming

// repeated returns how many of the first words repeat the confirmed ones, which a pass may spell anew, leave out or add
// to: those with the least edit distance and, of several numbers, the one that ends nearest to them. It is 0 if most
// differ. same is false if the last of them may not be whole, so that times must decide what is new.
func (a *agreement) repeated(words []transcript.Word) (n int, same bool) {
	old, fresh := normalized(a.confirmed), normalized(words)
	row := make([]int, len(words)+1) // the distances of the first words, by their number
	for j := range row {
		row[j] = j
	}
	for i, c := range old {
		diagonal := row[0]
		row[0] = i + 1
		for j, w := range fresh {
			change := diagonal
			if c != w {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	nearest := math.Inf(1)
	for j, w := range words {
		if off := math.Abs(w.End - a.end); row[j+1] < row[n] || row[j+1] == row[n] && off < nearest {
			n, nearest = j+1, off
		}
	}
	last := len(a.confirmed) - 1
	if n == 0 || last < 0 || 2*row[n] > len(a.confirmed) {
		return 0, false
	}
	return n, fresh[n-1] == old[last]
}

// normalized returns words in lower case and without punctuation around them.
func normalized(words []transcript.Word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = strings.ToLower(strings.Trim(w.Word, " .,;:!?¿¡\"'“”‘’…-–—。、，！？"))
	}
	return list
}
