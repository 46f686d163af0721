package zlibsize

import "math/bits"

// endOfBlock is a symbol of the literals and lengths.
const endOfBlock = 256

// symbols counts those of a block, in the two alphabets of RFC 1951, section 3.2.5: literals
// and lengths, and distances.
type symbols struct {
	literals  [286]int
	distances [30]int
}

// lengthCode returns the symbol for a match of length bytes: one each for 3 … 10, then
// four per doubling, and one for 258.
func lengthCode(length int) int {
	const first = endOfBlock + 1
	n := length - minMatch
	switch {
	case length == maxMatch:
		return first + 28
	case n < 8:
		return first + n
	}
	extra := bits.Len(uint(n)) - 3
	return first + 4*extra + n>>extra
}

// lengthExtra returns how many extra bits follow a literal or length symbol.
func lengthExtra(symbol int) int {
	n := symbol - endOfBlock - 1
	if n < 8 || n == 28 {
		return 0
	}
	return n/4 - 1
}

// distanceCode returns the symbol for a distance: one each for 1 … 4, then two per
// doubling.
func distanceCode(distance int) int {
	n := distance - 1
	if n < 4 {
		return n
	}
	extra := bits.Len(uint(n)) - 2
	return 2*extra + n>>extra
}

// distanceExtra returns how many extra bits follow a distance symbol.
func distanceExtra(symbol int) int { return max(0, symbol/2-1) }

// runExtra returns how many extra bits follow a symbol of the code of code lengths.
func runExtra(symbol int) int {
	if symbol < repeat {
		return 0
	}
	return [...]int{2, 3, 7}[symbol-repeat]
}

// fixedLength returns the bits of a literal or length symbol in the fixed code, RFC
// 1951, section 3.2.6. All distances take five bits.
func fixedLength(symbol int) int {
	switch {
	case symbol < 144:
		return 8
	case symbol < 256:
		return 9
	case symbol < 280:
		return 7
	}
	return 8
}

// bytes returns the size of a block of n bytes of text, in the cheapest of three forms: with
// its own code, with the fixed code, or stored. Costs are compared in whole bytes.
func (s *symbols) bytes(n int) int {
	const kind = 3 // bits of the header: last block or not, and the form
	own := (kind + s.ownCode() + 7) / 8
	fixed := (kind + s.fixedCode() + 7) / 8
	if stored := 4 + n; stored <= min(own, fixed) { // two lengths, then the bytes
		return 1 + stored
	}
	return min(own, fixed)
}

// fixedCode returns the bits of the symbols in the fixed code.
func (s *symbols) fixedCode() (n int) {
	for symbol, f := range s.literals {
		n += f * (fixedLength(symbol) + lengthExtra(symbol))
	}
	for symbol, f := range s.distances {
		n += f * (5 + distanceExtra(symbol))
	}
	return n
}

// ownCode returns the bits of the symbols in a code built for them, and of that code's
// description: the lengths of both alphabets, run-length encoded (section 3.2.7) and then
// coded in turn.
func (s *symbols) ownCode() int {
	literals, distances := huffman(s.literals[:], 15), huffman(s.distances[:], 15)
	var runs [19]int
	countRuns(&runs, literals)
	countRuns(&runs, distances)
	lengths := huffman(runs[:], 7)
	return 5 + 5 + 4 + // sizes of the three alphabets
		3*listed(lengths) + cost(runs[:], lengths, runExtra) +
		cost(s.literals[:], literals, lengthExtra) + cost(s.distances[:], distances, distanceExtra)
}

// cost returns the bits of symbols by how often they occur, their code and what follows it.
func cost(freq, lengths []int, extra func(symbol int) int) (n int) {
	for s, length := range lengths {
		n += freq[s] * (length + extra(s))
	}
	return n
}

// listed returns how many lengths of the code of code lengths are written: in this order, up
// to the last that is not zero, at least four.
func listed(lengths []int) int {
	order := [...]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	n := len(order)
	for n > 4 && (order[n-1] >= len(lengths) || lengths[order[n-1]] == 0) {
		n--
	}
	return n
}

// Symbols of the code of code lengths above 15: repeat the last length 3 … 6 times, or zero
// 3 … 10 or 11 … 138 times.
const (
	repeat    = 16
	zeros     = 17
	manyZeros = 18
)

// countRuns counts in runs the symbols that encode lengths. The first of equal lengths is
// written literally unless it is zero or equals the length before.
func countRuns(runs *[19]int, lengths []int) {
	before := -1
	for i := 0; i < len(lengths); {
		length, most := lengths[i], 7
		switch length {
		case 0:
			most = 138
		case before:
			most = 6
		}
		n := 1
		for n < most && i+n < len(lengths) && lengths[i+n] == length {
			n++
		}
		switch {
		case length == 0 && n > 10:
			runs[manyZeros]++
		case length == 0 && n >= 3:
			runs[zeros]++
		case length != 0 && length != before && n >= 4:
			runs[length]++
			runs[repeat]++
		case length != 0 && length == before && n >= 3:
			runs[repeat]++
		default:
			runs[length] += n
		}
		i, before = i+n, length
	}
}
