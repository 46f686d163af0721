package zlibsize

// Parameters of level 6, and sizes that follow from 15 window bits.
const (
	goodLength = 8    // a match this long shortens the search for a better one
	maxLazy    = 16   // a match this long is used without looking further
	niceLength = 128  // a match this long ends the search
	maxChain   = 128  // most candidates checked
	tooFar     = 4096 // a match of three bytes at a larger distance is refused

	minMatch    = 3
	maxMatch    = 258
	maxDistance = 1<<15 - (maxMatch + minMatch + 1)

	hashBits  = 15
	hashShift = (hashBits + minMatch - 1) / minMatch
)

// Len returns the size in bytes of zlib's output for text, including header and
// checksum.
func Len(text string) int {
	const header, checksum = 2, 4
	m := &matcher{text: text, prev: make([]int, len(text))}
	m.literals[endOfBlock] = 1
	m.findMatches()
	return header + m.bytes(len(text)) + checksum
}

// A matcher replaces repetitions in text by matches, as zlib's deflate_slow does. zlib takes
// a position of 0 for none, so nothing matches the start of the text.
type matcher struct {
	text string
	at   int // position of the next string
	head [1 << hashBits]int
	prev []int // previous position with the same hash
	symbols
}

// A match is a repetition of length bytes found at from.
type match struct{ from, length int }

var none = match{length: minMatch - 1}

// findMatches finds the matches lazily: a match is held back until the one that begins a byte
// later is known not to be longer.
func (m *matcher) findMatches() {
	held, next := none, none // held begins at m.at-1
	waiting := false         // whether byte m.at-1 is not written yet
	for m.at < len(m.text) {
		candidate := m.insert()
		held, next = next, none
		if candidate > 0 && held.length < maxLazy && m.at-candidate <= maxDistance {
			next = m.longest(candidate, held.length)
		}
		if held.length < minMatch || next.length > held.length {
			if waiting {
				m.literals[m.text[m.at-1]]++
			}
			waiting = true
			m.at++
			continue
		}
		m.literals[lengthCode(held.length)]++
		m.distances[distanceCode(m.at-1-held.from)]++
		stop := m.at - 1 + held.length
		for m.at++; m.at < stop; m.at++ {
			m.insert()
		}
		next, waiting = none, false
	}
	if waiting {
		m.literals[m.text[m.at-1]]++
	}
}

// insert records the string at m.at and returns the last one with the same hash.
func (m *matcher) insert() int {
	if len(m.text)-m.at < minMatch {
		return 0
	}
	h := 0
	for i := range minMatch {
		h = h<<hashShift ^ int(m.text[m.at+i])
	}
	h &= 1<<hashBits - 1
	last := m.head[h]
	m.prev[m.at], m.head[h] = last, m.at
	return last
}

// longest returns the longest match for the string at m.at if it is longer than best;
// the nearest on ties. candidate is the first position to check.
func (m *matcher) longest(candidate, best int) match {
	ahead := len(m.text) - m.at
	nice, chain := min(niceLength, ahead), maxChain
	if best >= goodLength {
		chain /= 4
	}
	found := match{length: best}
	limit := max(0, m.at-maxDistance)
	for {
		if n := m.common(candidate, min(maxMatch, ahead)); n > found.length {
			found = match{candidate, n}
			if n >= nice {
				break
			}
		}
		candidate = m.prev[candidate]
		if chain--; chain == 0 || candidate <= limit {
			break
		}
	}
	found.length = min(found.length, ahead)
	if found.length == minMatch && m.at-found.from > tooFar {
		found.length = minMatch - 1
	}
	return found
}

// common returns how many bytes the strings at place and m.at have in common, at most
// limit.
func (m *matcher) common(place, limit int) int {
	a, b := m.text[place:], m.text[m.at:m.at+limit]
	n := 0
	for n < limit && a[n] == b[n] {
		n++
	}
	return n
}
