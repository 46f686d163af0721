package zlibsize

import "math/bits"

// maxSymbols is how many literals and matches a block holds: one less than
// zlib's 1 << (memLevel+6).
const maxSymbols = 1<<14 - 1

// The two alphabets of RFC 1951, section 3.2.5, and that of the code lengths,
// section 3.2.7.
const (
	endOfBlock    = 256
	literalCodes  = 286
	distanceCodes = 30
	lengthCodes   = 19
)

// blocks counts the symbols of one block after another, and the total of their bits.
type blocks struct {
	bits      int
	begin     int // start of the block in the text
	symbols   int
	literals  [literalCodes]int
	distances [distanceCodes]int
}

// reset empties the block. The end-of-block symbol is counted from the start.
func (b *blocks) reset() {
	b.symbols = 0
	b.literals = [literalCodes]int{endOfBlock: 1}
	b.distances = [distanceCodes]int{}
}

func (b *blocks) literal(c byte) {
	b.symbols++
	b.literals[c]++
}

func (b *blocks) match(distance, length int) {
	b.symbols++
	b.literals[lengthCode(length)]++
	b.distances[distanceCode(distance)]++
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

// flush ends the block at end with the cheapest of three kinds: its own code, the fixed
// code, or stored bytes. Stored is possible only if the block begins in the buffer, at
// or after start.
//
// Costs are compared in whole bytes. On ties stored wins, then fixed, then own.
func (b *blocks) flush(end, start int) {
	const kind = 3 // bits of the header: last block or not, and the kind
	own, fixed := b.ownCode(), b.fixedCode()
	ownBytes, fixedBytes := (own+kind+7)/8, (fixed+kind+7)/8
	stored := end - b.begin
	switch {
	case stored+4 <= min(ownBytes, fixedBytes) && b.begin >= start:
		b.bits = (b.bits+kind+7)/8*8 + 32 + 8*stored // two lengths, then the bytes
	case fixedBytes <= ownBytes:
		b.bits += kind + fixed
	default:
		b.bits += kind + own
	}
	b.begin = end
	b.reset()
}

// cost returns the bits of symbols by how often they occur, their code and what follows it.
func cost(freq []int, code, extra func(symbol int) int) (n int) {
	for s, f := range freq {
		n += f * (code(s) + extra(s))
	}
	return n
}

// fixedCode returns the bits of the block's symbols in the fixed code.
func (b *blocks) fixedCode() int {
	return cost(b.literals[:], fixedLength, lengthExtra) + cost(b.distances[:], func(int) int { return 5 }, distanceExtra)
}

// ownCode returns the bits of the block's symbols in a code built for them, and of that
// code's description: the lengths of both alphabets, run-length encoded (section 3.2.7)
// and then coded in turn.
func (b *blocks) ownCode() int {
	literals := huffman(b.literals[:], 15)
	distances := huffman(b.distances[:], 15)
	n := 5 + 5 + 4 // sizes of the three alphabets
	n += cost(b.literals[:], at(literals), lengthExtra) + cost(b.distances[:], at(distances), distanceExtra)

	var runs [lengthCodes]int
	countRuns(&runs, literals)
	countRuns(&runs, distances)
	lengths := huffman(runs[:], 7)
	return n + cost(runs[:], at(lengths), runExtra) + 3*listed(lengths)
}

// at returns a function of the elements of x, 0 past its end.
func at(x []int) func(i int) int {
	return func(i int) int {
		if i < len(x) {
			return x[i]
		}
		return 0
	}
}

// listed returns how many lengths of the code length code are written: in this order,
// up to the last that is not zero, at least four.
func listed(lengths []int) int {
	order := [lengthCodes]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	n := lengthCodes
	for n > 4 && at(lengths)(order[n-1]) == 0 {
		n--
	}
	return n
}
