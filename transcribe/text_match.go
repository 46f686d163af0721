package transcribe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcript"
	"verity/wer"
)

// unitsOf returns what is compared of a word: its runs of letters and digits in lower case, without apostrophes, and
// each character of a script without spaces.
func unitsOf(word string) (units []string) {
	open := false // whether the next letter continues the last unit
	for _, r := range word {
		switch {
		case tokenizer.IsUnspaced(r):
			units, open = append(units, string(r)), false
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			if !open {
				units = append(units, "")
			}
			units[len(units)-1] += string(unicode.ToLower(r))
			open = true
		default:
			open = open && (r == '\'' || r == '’')
		}
	}
	return units
}

// A textGap is a stretch between words that were found: those of the text, the units heard there, and its time in seconds.
type textGap struct {
	from, to           int // words
	heardFrom, heardTo int // units
	start, end         float64
}

// A textMatch relates a text to the words that were heard.
type textMatch struct {
	words []textWord
	heard []transcript.Word
	of    []int // the word of each unit of heard
	gaps  []textGap
}

// matchText aligns the words of a text with those of a transcript. Words that are the same get their times.
func matchText(ctx context.Context, words []textWord, heard []transcript.Word, duration float64) (*textMatch, error) {
	m := &textMatch{words: words, heard: heard}
	var given, units []string
	var first []int // unit of each word of the text
	for _, w := range words {
		first = append(first, len(given))
		given = append(given, unitsOf(w.word)...)
	}
	first = append(first, len(given))
	for i, w := range heard {
		for _, u := range unitsOf(w.Word) {
			units, m.of = append(units, u), append(m.of, i)
		}
	}
	var v wer.Vocabulary
	ref, hyp := v.Words(nil, strings.Join(given, " ")), v.Words(nil, strings.Join(units, " "))
	pairs, err := new(wer.Aligner).Align(ctx, ref, hyp)
	if err != nil {
		return nil, err
	}
	found := 0
	opposite := make([]int, len(given)) // the unit of heard that each unit of the text is, or -1
	for i := range opposite {
		opposite[i] = -1
	}
	for _, p := range withoutChance(pairs) {
		opposite[p.Ref], found = p.Hyp, found+1
	}
	if most := min(len(given), len(units)); float64(found) < leastFound*float64(most) || found == 0 {
		return nil, &TextError{Found: found, Words: most}
	}
	m.divide(first, opposite, duration)
	return m, nil
}

// withoutChance returns the hits of an alignment, without runs of them that are much shorter than the differences on both
// sides: a few common words that two texts have in the same order by chance.
func withoutChance(pairs []wer.Pair) (hits []wer.Pair) {
	type run struct{ from, to int } // of hits
	kept := []run{{}}
	add := func(r run) {
		for n := len(kept) - 1; n > 0 && 2*(kept[n].to-kept[n].from) < min(kept[n].from-kept[n-1].to, r.from-kept[n].to); n-- {
			kept = kept[:n]
		}
		kept = append(kept, r)
	}
	for from, to := 0, 0; from < len(pairs); from = to + 1 {
		for to = from; to < len(pairs) && pairs[to].Op == wer.Hit; to++ {
		}
		if to > from {
			add(run{from, to})
		}
	}
	add(run{len(pairs), len(pairs)})
	for _, r := range kept[1 : len(kept)-1] {
		hits = append(hits, pairs[r.from:r.to]...)
	}
	return hits
}

// divide gives times to the words all of whose units were heard, and collects the gaps between them.
func (m *textMatch) divide(first, opposite []int, duration float64) {
	for i := range m.words {
		w := &m.words[i]
		all := opposite[first[i]:first[i+1]]
		if len(all) == 0 || slices.Contains(all, -1) || all[len(all)-1]-all[0] != len(all)-1 {
			continue
		}
		w.start, w.end, w.timed = m.part(all[0], false), m.part(all[len(all)-1], true), true
		w.probability = m.heard[m.of[all[0]]].Probability
	}
	m.release(duration)
	g := textGap{}
	for i, w := range m.words {
		if !w.timed {
			continue
		}
		g.to, g.heardTo, g.end = i, opposite[first[i]], w.start
		m.addGap(g)
		g = textGap{from: i + 1, heardFrom: opposite[first[i+1]-1] + 1, start: w.end}
	}
	g.to, g.heardTo, g.end = len(m.words), len(m.of), max(duration, g.start)
	m.addGap(g)
}

// release puts the times of a word in doubt where the words beside it do not fit into their gap, but do with the pause on
// its other side: the model left those words out, and alignment drew this one over their time. All are timed again, and the
// word has the times that were heard if none of the others is found there.
func (m *textMatch) release(duration float64) {
	timed := func(i, step int, at float64) (int, float64) { // the next word that is timed, and its nearer end
		for ; i >= 0 && i < len(m.words); i += step {
			if w := m.words[i]; w.timed && step < 0 {
				return i, w.end
			} else if w.timed {
				return i, w.start
			}
		}
		return i, at
	}
	doubt := func(w *textWord) {
		heard := w.wordTime
		w.timed, w.probability, w.heard = false, 0, &heard
	}
	for from, to := 0, 0; from < len(m.words); from = to + 1 {
		to, _ = timed(from, 1, 0)
		a, start := timed(from-1, -1, 0)
		b, end := timed(to, 1, duration)
		words, gap := float64(b-a-1), end-start
		if words <= mostSpoken*(gap+1) {
			continue
		}
		_, before := timed(a-1, -1, 0)
		after, behind := timed(b+1, 1, duration)
		if a >= 0 && words <= mostSpoken*(gap+m.words[a].start-before) {
			doubt(&m.words[a])
		} else if b < len(m.words) && words <= mostSpoken*(gap+behind-m.words[b].end) {
			doubt(&m.words[b])
			to = after
		}
	}
}

func (m *textMatch) addGap(g textGap) {
	if g.from < g.to || g.heardFrom < g.heardTo {
		m.gaps = append(m.gaps, g)
	}
}

// part returns when a unit of the transcript begins or ends: units share the time of their word.
func (m *textMatch) part(unit int, end bool) float64 {
	w := m.heard[m.of[unit]]
	from, to := unit, unit+1
	for from > 0 && m.of[from-1] == m.of[unit] {
		from--
	}
	for to < len(m.of) && m.of[to] == m.of[unit] {
		to++
	}
	k := unit - from
	if end {
		k++
	}
	return w.Start + (w.End-w.Start)*float64(k)/float64(to-from)
}

// A TextError reports that a text is of another recording.
type TextError struct {
	Found, Words int // words of the text that were heard, of those that could have been
}

func (e *TextError) Error() string {
	return fmt.Sprintf("the text is not that of the recording: %d of %s are in both, counted in the shorter (%.0f %%), want at least %.0f %%",
		e.Found, show.Some(e.Words, "word"), 100*float64(e.Found)/float64(max(1, e.Words)), 100*leastFound)
}

// judge decides which words of a gap were said: those that sound like what was heard there, and those that the model
// finds likely. It returns what was not, and what was heard in its place.
func (m *textMatch) judge(g textGap) transcript.Difference {
	var given, heard []string // letters of each word
	for _, w := range m.words[g.from:g.to] {
		given = append(given, strings.Join(unitsOf(w.word), ""))
	}
	spoken := m.heardIn(g)
	for _, w := range spoken {
		heard = append(heard, strings.Join(unitsOf(w.Word), ""))
	}
	alike, found := shares(given, heard)
	d, all, others := transcript.Difference{Start: g.start, End: g.end}, len(given) > 0, false
	for i := range given {
		w := &m.words[g.from+i]
		w.timed = w.forced && (w.probability >= leastOther || alike[i] >= leastAlike && w.probability >= leastLikeHeard)
		w.start, w.end = min(max(w.start, g.start), g.end), min(max(w.end, g.start), g.end)
		others = others || w.timed && w.heard == nil
	}
	for i := range given {
		w := &m.words[g.from+i]
		if w.heard != nil {
			if w.timed = true; !others {
				w.wordTime = *w.heard
			}
		}
		if all = all && w.timed; !w.timed && given[i] != "" {
			d.Text, w.probability = d.Text+w.word, 0
		}
	}
	for i, w := range spoken {
		if found[i] < leastAlike && !all { // else they are other spellings: "105" is "one hundred and five"
			if d.Heard == "" {
				d.Start = w.Start
			}
			d.Heard, d.End = d.Heard+w.Word, max(w.End, d.Start)
		}
	}
	d.Text, d.Heard = tokenizer.Strip(d.Text), tokenizer.Strip(d.Heard)
	return d
}

// shares returns which share of the letters of each word of a and of b an alignment finds in the other.
func shares(a, b []string) (ofA, ofB []float64) {
	ofA, ofB = make([]float64, len(a)), make([]float64, len(b))
	owners := func(words []string) (letters []int32, owner []int) {
		for i, w := range words {
			letters = wer.Characters(letters, w)
			for len(owner) < len(letters) {
				owner = append(owner, i)
			}
		}
		return letters, owner
	}
	x, xOwner := owners(a)
	y, yOwner := owners(b)
	for _, p := range wer.Align(x, y) {
		if p.Op == wer.Hit {
			i, k := xOwner[p.Ref], yOwner[p.Hyp]
			ofA[i] += 1 / float64(utf8.RuneCountInString(a[i]))
			ofB[k] += 1 / float64(utf8.RuneCountInString(b[k]))
		}
	}
	return ofA, ofB
}

// heardIn returns the words that were heard in a gap.
func (m *textMatch) heardIn(g textGap) []transcript.Word {
	if g.heardFrom == g.heardTo {
		return nil
	}
	return m.heard[m.of[g.heardFrom] : m.of[g.heardTo-1]+1]
}
