package ctc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Words is a list of words by frequency, as a tree of letters, and how likely some words follow
// others. It is immutable.
type Words struct {
	nodes   []wordNode    // the root first; the children of a node are adjacent
	codes   map[rune]byte // of letters
	letters []byte        // the code of each node but the root: the children of a node share a line or two of a cache
	probs   []float32     // log-probability by rank
	after   []follower    // by rank; empty without pairs
	next    []uint16      // ranks of the words that follow
	ratio   []uint8       // of next, in units of ratioUnit
}

// A wordNode is a beginning of words.
type wordNode struct {
	children int32   // index of the first child
	count    int32   // of children
	rank     int32   // of the word that ends here; -1 if none does
	best     float32 // the largest log-probability of all words with this beginning
}

// A follower is what follows a word: a part of Words.next, and the log ratio of all other words.
type follower struct {
	from, to int32
	rest     float32
}

// ratioUnit is the unit of log ratios of pairs: the log of a word's probability after another word,
// divided by its probability anywhere.
const ratioUnit = 1.0 / 20

// maxWords is how many words a list may have.
const maxWords = math.MaxUint16

var errWords = errors.New("ctc: the list of words is malformed: write it again with tools/drafter/words.py")

// ReadWords reads a list of words and a table of pairs, which may be empty. Integers are
// little-endian. By Zipf's law the probability of word r is taken as proportional to 1 / (r + 2.7).
//
// The list is a tree, breadth first:
//
//	text             the letters that occur, and a line feed
//	uint32, uint32   nodes, words
//	letters          of each node but the root: a byte, the index in text
//	counts           of each node: a byte, twice the number of children, plus 1 if a word ends there
//	ranks            of each word in the order of the nodes: uint16
//
// The table of pairs:
//
//	uint32, uint32   first words, bytes of places
//	places           for each first word, as variable-length integers: its rank, minus that of
//	                 the first word before; the number of second words; their ranks in the same way
//	values           for each first word, bytes in units of 1/20: minus the log ratio of the
//	                 words that are not listed after it, then the log ratio of each one that is
//
// Source: Mandelbrot 1953, "An informational theory of the statistical structure of language".
func ReadWords(list, pairs []byte) (*Words, error) {
	text, b, ok := bytes.Cut(list, []byte("\n"))
	if !ok || len(b) < 8 {
		return nil, errWords
	}
	alphabet := []rune(string(text))
	nodes, words := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	if b = b[8:]; nodes < 1 || words < 0 || words > maxWords || nodes > len(b) || 2*nodes-1 > len(b) {
		return nil, errWords
	}
	letters, counts, ranks := b[:nodes-1], b[nodes-1:2*nodes-1], b[2*nodes-1:]
	w := &Words{nodes: make([]wordNode, nodes), codes: map[rune]byte{}, letters: letters, probs: zipf(words)}
	for i, r := range alphabet {
		w.codes[r] = byte(i)
	}
	children := 1
	for i := range w.nodes {
		n := &w.nodes[i]
		*n = wordNode{children: int32(children), count: int32(counts[i] / 2), rank: -1, best: never}
		if i > 0 && int(letters[i-1]) >= len(alphabet) {
			return nil, errWords
		}
		if counts[i]%2 == 1 {
			if len(ranks) < 2 {
				return nil, errWords
			}
			if n.rank = int32(binary.LittleEndian.Uint16(ranks)); int(n.rank) >= words {
				return nil, errWords
			}
			ranks, n.best = ranks[2:], w.probs[n.rank]
		}
		if children += int(n.count); children > nodes || int(n.children) <= i && n.count > 0 {
			return nil, errWords
		}
	}
	for i, n := range slices.Backward(w.nodes) {
		for _, child := range w.nodes[n.children : n.children+n.count] {
			w.nodes[i].best = max(w.nodes[i].best, child.best)
		}
	}
	return w, w.readPairs(pairs)
}

// zipf returns the log-probabilities of n words.
func zipf(n int) []float32 {
	sum := 0.0
	for r := range n {
		sum += 1 / (float64(r) + 2.7)
	}
	probs := make([]float32, n)
	for r := range probs {
		probs[r] = float32(-math.Log((float64(r) + 2.7) * sum))
	}
	return probs
}

func (w *Words) readPairs(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if len(b) < 8 {
		return errWords
	}
	firsts, size := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	if b = b[8:]; size < 0 || size > len(b) || firsts < 0 {
		return errWords
	}
	places, values := b[:size], b[size:]
	words, bad := len(w.probs), false
	next := func() int {
		v, n := binary.Uvarint(places)
		if n <= 0 || v > maxWords {
			bad = true
			return 0
		}
		places = places[n:]
		return int(v)
	}
	w.after = make([]follower, words)
	for first := 0; firsts > 0; firsts-- {
		first += next()
		n := next()
		if bad || first >= words || n+1 > len(values) {
			return errWords
		}
		f := follower{from: int32(len(w.next)), rest: -ratioUnit * float32(values[0])}
		w.ratio = append(w.ratio, values[1:1+n]...)
		for i, second := 0, 0; i < n; i++ {
			if second += next(); bad || second >= words {
				return errWords
			}
			w.next = append(w.next, uint16(second))
		}
		f.to, values = int32(len(w.next)), values[1+n:]
		w.after[first] = f
	}
	return nil
}

// child returns the node after a letter, or -1.
func (w *Words) child(node int32, letter rune) int32 {
	code, known := w.codes[letter]
	n := w.nodes[node]
	i := bytes.IndexByte(w.letters[n.children-1:][:n.count], code)
	if !known || i < 0 {
		return -1
	}
	return n.children + int32(i)
}

// pairRatio returns the log of the ratio of a word's probability after another to its probability
// anywhere. The words are ranks; first is -1 if it is not known.
func (w *Words) pairRatio(first, second int32) float32 {
	if first < 0 || int(first) >= len(w.after) {
		return 0
	}
	f := w.after[first]
	i, ok := slices.BinarySearch(w.next[f.from:f.to], uint16(second))
	if !ok {
		return f.rest
	}
	return ratioUnit * float32(w.ratio[int(f.from)+i])
}
