package zlibsize

// Parameters of level 6, and sizes that follow from memLevel 8 and 15 window bits.
const (
	goodLength = 8    // a match this long shortens the search for a better one
	maxLazy    = 16   // a match this long is used without looking further
	niceLength = 128  // a match this long ends the search
	maxChain   = 128  // most candidates checked
	tooFar     = 4096 // a match of three bytes at a larger distance is refused

	minMatch     = 3
	maxMatch     = 258
	windowSize   = 1 << 15
	minLookahead = maxMatch + minMatch + 1
	maxDistance  = windowSize - minLookahead

	hashBits  = 15
	hashShift = (hashBits + minMatch - 1) / minMatch
)

// none means that there is no such position.
const none = -1

// Len returns the size in bytes of zlib's output for text, including header and
// checksum.
func Len(text string) int {
	const header, checksum = 2, 4
	m := newMatcher(text)
	m.run()
	return header + (m.blocks.bits+7)/8 + checksum
}

// A matcher replaces repetitions in text by matches, as zlib's deflate_slow does.
// Positions are offsets in text. zlib sees the text through a buffer of two windows,
// and a position at or before the buffer's start counts as no match: hence start and
// end.
type matcher struct {
	text       string
	start, end int // part of the text in the buffer
	at         int // position of the next string

	head [1 << hashBits]int32 // last position of each hash
	prev [windowSize]int32    // previous position with the same hash

	blocks blocks
}

func newMatcher(text string) *matcher {
	m := &matcher{text: text}
	for i := range m.head {
		m.head[i] = none
	}
	m.blocks.reset()
	return m
}

// A match is a repetition of length bytes found at from.
type match struct{ from, length int }

// run finds the matches lazily: a match is held back until the one that begins a byte
// later is known not to be longer.
func (m *matcher) run() {
	var held match // at m.at-1; minMatch-1 bytes long if there is none
	var next = match{length: minMatch - 1}
	waiting := false // whether byte m.at-1 is not written yet
	for {
		m.fill()
		if m.at == m.end {
			break
		}
		candidate := m.insert(m.at)
		held, next = next, match{length: minMatch - 1}
		if candidate > m.start && held.length < maxLazy && m.at-candidate <= maxDistance {
			next = m.longest(candidate, held.length)
		}
		switch {
		case held.length >= minMatch && next.length <= held.length:
			m.take(held)
			next, waiting = match{length: minMatch - 1}, false
		case waiting:
			m.blocks.literal(m.text[m.at-1])
			m.flushFull(m.at)
			m.at++
		default:
			waiting = true
			m.at++
		}
	}
	if waiting {
		m.blocks.literal(m.text[m.at-1])
	}
	m.blocks.flush(m.at, m.start)
}

// take writes the held match, which begins at m.at-1, and moves past it.
func (m *matcher) take(held match) {
	m.blocks.match(m.at-1-held.from, held.length)
	stop := m.at - 1 + held.length
	for m.at++; m.at < stop; m.at++ {
		m.insert(m.at)
	}
	m.flushFull(m.at)
}

func (m *matcher) flushFull(end int) {
	if m.blocks.symbols == maxSymbols {
		m.blocks.flush(end, m.start)
	}
}

// fill moves the buffer on if it has less than minLookahead left.
func (m *matcher) fill() {
	for m.end-m.at < minLookahead {
		if m.at-m.start >= windowSize+maxDistance {
			m.start += windowSize
		}
		if m.end == len(m.text) {
			return
		}
		m.end = min(len(m.text), m.start+2*windowSize)
	}
}

// insert records the string at place and returns the last one with the same hash.
func (m *matcher) insert(place int) int {
	if m.end-place < minMatch {
		return none
	}
	var h uint32
	for i := range minMatch {
		h = h<<hashShift ^ uint32(m.text[place+i])
	}
	h &= 1<<hashBits - 1
	last := m.head[h]
	m.prev[place%windowSize] = last
	m.head[h] = int32(place)
	return int(last)
}

// longest returns the longest match for the string at m.at if it is longer than best;
// the nearest on ties. candidate is the first position to check.
func (m *matcher) longest(candidate, best int) match {
	ahead := m.end - m.at
	nice, chain := min(niceLength, ahead), maxChain
	if best >= goodLength {
		chain /= 4
	}
	limit := max(m.start, m.at-maxDistance)
	found := match{length: best}
	for {
		if n := m.common(candidate, min(maxMatch, ahead)); n > found.length {
			found = match{candidate, n}
			if n >= nice {
				break
			}
		}
		candidate = int(m.prev[candidate%windowSize])
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
