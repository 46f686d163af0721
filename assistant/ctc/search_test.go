package ctc

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// framesOf returns frames that spell a text: each letter for a few frames, with a probability, and
// blanks between. Half of the rest of the probability is the blank's, and the other symbols share the other half.
func framesOf(a *alphabet, text string, rng *rand.Rand, sure float64) *Frames {
	f := &Frames{Symbols: len(a.runes)}
	add := func(c int) {
		row := make([]float32, f.Symbols)
		for i := range row {
			row[i] = float32(math.Log((1 - sure) / 2 / float64(f.Symbols-1)))
		}
		row[0] = float32(math.Log((1 - sure) / 2))
		row[c] = float32(math.Log(sure))
		f.LogProb, f.N = append(f.LogProb, row...), f.N+1
	}
	for _, r := range text {
		for range 1 + rng.IntN(2) {
			add(a.index[r])
		}
		for range 1 + rng.IntN(3) {
			add(0)
		}
	}
	return f
}

var letters = newAlphabet([]rune(" '-,.ABCabcdefghijklmnopqrstuvwxyz"))

// wordsOf returns a list, which it writes as tools/drafter/words.py does.
func wordsOf(list string) *Words {
	w, err := ReadWords(treeOf(strings.Fields(list)), nil)
	if err != nil {
		panic(err)
	}
	return w
}

// treeOf returns the file of a list.
func treeOf(list []string) []byte {
	type node struct {
		children map[rune]*node
		rank     int
	}
	root := &node{map[rune]*node{}, -1}
	var alphabet []rune
	for rank, word := range list {
		n := root
		for _, r := range word {
			if !slices.Contains(alphabet, r) {
				alphabet = append(alphabet, r)
			}
			if n.children[r] == nil {
				n.children[r] = &node{map[rune]*node{}, -1}
			}
			n = n.children[r]
		}
		if n.rank < 0 {
			n.rank = rank
		}
	}
	var letters, counts, ranks []byte
	queue := []*node{root}
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		count := byte(2 * len(n.children))
		if n.rank >= 0 {
			count++
			ranks = binary.LittleEndian.AppendUint16(ranks, uint16(n.rank))
		}
		counts = append(counts, count)
		for _, r := range slices.Sorted(maps.Keys(n.children)) {
			letters = append(letters, byte(slices.Index(alphabet, r)))
			queue = append(queue, n.children[r])
		}
	}
	b := append([]byte(string(alphabet)), '\n')
	b = binary.LittleEndian.AppendUint32(b, uint32(len(queue)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(list)))
	return slices.Concat(b, letters, counts, ranks)
}

// found returns what a search continues a text with.
func found(s *search, f *Frames, known string, ahead int) string {
	var a aligner
	a.reset(f)
	var state wordState
	for _, r := range known {
		c := letters.index[r]
		a.add(c)
		state, _, _ = s.next(state, int32(c))
	}
	var b strings.Builder
	letters, _ := s.continuation(nil, &a, state, ahead)
	for _, l := range letters {
		b.WriteRune(s.alphabet.runes[l.symbol])
	}
	return b.String()
}

// TestSearchKeepsTokens: a word does not go on in a way that other tokens would spell, and not at all after a timestamp.
func TestSearchKeepsTokens(t *testing.T) {
	f := framesOf(letters, "measured them", rand.New(rand.NewPCG(1, 2)), 0.9)
	s := &search{alphabet: letters, words: wordsOf("measure measured them")}
	if got := found(s, f, "measure", 1000); got != "d them" {
		t.Errorf("anything may follow: got %q, want %q", got, "d them")
	}
	s.word, s.spelled = []byte("measure"), func(word []byte) bool { return string(word) != "measured" }
	if got := found(s, f, "measure", 1000); got != " them" {
		t.Errorf("measured is another token: got %q, want %q", got, " them")
	}
	s.spelled, s.ended = nil, true
	if got := found(s, f, "measure", 1000); got != " them" {
		t.Errorf("after a timestamp: got %q, want %q", got, " them")
	}
}

func TestSearchContinues(t *testing.T) {
	words := wordsOf("the cat sat on a mat and caterwauled")
	const text = "the cat, sat on a mat and caterwauled."
	for _, sure := range []float64{0.9, 0.6} {
		f := framesOf(letters, text, rand.New(rand.NewPCG(1, 2)), sure)
		for at := range text {
			s := &search{alphabet: letters, words: words}
			if got := found(s, f, text[:at], 1000); got != text[at:] {
				t.Errorf("sure %v: after %q: got %q, want %q", sure, text[:at], got, text[at:])
			}
		}
	}
}

// TestSearchAhead: where only some letters are wanted, the search ends early and what it
// returns is the beginning of the whole.
func TestSearchAhead(t *testing.T) {
	const text = "the cat sat on a mat and the cat sat on a mat"
	f := framesOf(letters, text, rand.New(rand.NewPCG(1, 2)), 0.9)
	s := &search{alphabet: letters, words: wordsOf("the cat sat on a mat and")}
	got := found(s, f, "the", 8)
	if !strings.HasPrefix(text[3:], got) || len(got) < 6 || len(got) > 16 {
		t.Errorf("got %q, want some 8 letters of %q", got, text[3:])
	}
}

// TestSearchWords: a wrong letter gives way to a word of the list, and a word that is not in the list is
// spelled as the frames have it.
func TestSearchWords(t *testing.T) {
	f := framesOf(letters, "the cet sat", rand.New(rand.NewPCG(3, 4)), 0.8)
	for i := range f.N { // an e is likely, and an a nearly as much
		if row := f.Row(i); row[letters.index['e']] > -1 {
			row[letters.index['a']] = row[letters.index['e']] - 0.5
		}
	}
	s := &search{alphabet: letters, words: wordsOf("the cat sat")}
	if got := found(s, f, "", 1000); got != "the cat sat" {
		t.Errorf("got %q, want the word of the list", got)
	}
	f = framesOf(letters, "the xyzzy sat", rand.New(rand.NewPCG(3, 4)), 0.95)
	if got := found(s, f, "", 1000); got != "the xyzzy sat" {
		t.Errorf("got %q, want the unknown word", got)
	}
}

// TestAligner: the aligner's variables are those of all alignments, tried one by one.
func TestAligner(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a := newAlphabet([]rune("ab"))
	for range 200 {
		f := &Frames{N: 1 + rng.IntN(6), Symbols: 3}
		for range f.N * f.Symbols {
			f.LogProb = append(f.LogProb, float32(-rng.ExpFloat64()))
		}
		var text []int
		for range rng.IntN(4) {
			text = append(text, 1+rng.IntN(2))
		}
		var al aligner
		al.reset(f)
		for _, c := range text {
			al.add(c)
		}
		for n := range f.N + 1 {
			blank, symbol := bestPaths(f, n, text)
			if !near(al.blank[n], blank) || !near(al.symbol[n], symbol) {
				t.Fatalf("%v of %v after %d frames: got %v, %v, want %v, %v", text, a.runes, n, al.blank[n], al.symbol[n], blank, symbol)
			}
		}
	}
}

func near(a, b float32) bool { return a == b || math.Abs(float64(a-b)) <= 1e-5 }

// bestPaths returns the score of the best path of n frames that spells a text, of those that
// end in a blank and of those that do not.
func bestPaths(f *Frames, n int, text []int) (blank, symbol float32) {
	blank, symbol = never, never
	path := make([]int, n)
	var walk func(i int, score float32)
	walk = func(i int, score float32) {
		if i < n {
			for c := range f.Symbols {
				path[i] = c
				walk(i+1, score+f.Row(i)[c])
			}
			return
		}
		var spelt []int
		before := 0
		for _, c := range path {
			if c != 0 && c != before {
				spelt = append(spelt, c)
			}
			before = c
		}
		if len(spelt) != len(text) {
			return
		}
		for i := range spelt {
			if spelt[i] != text[i] {
				return
			}
		}
		if before == 0 {
			blank = max(blank, score)
		} else {
			symbol = max(symbol, score)
		}
	}
	walk(0, 0)
	return blank, symbol
}

func TestWords(t *testing.T) {
	list := strings.Fields("a an and a")
	pairs := []byte{1, 0, 0, 0, 4, 0, 0, 0} // one first word
	pairs = append(pairs, 1, 2, 0, 2)       // "an", then two: "a", "and"
	pairs = append(pairs, 10, 40, 60)
	w, err := ReadWords(treeOf(list), pairs)
	if err != nil {
		t.Fatal(err)
	}
	n := w.child(0, 'a')
	if n < 0 || w.nodes[n].rank != 0 || w.child(n, 'n') < 0 || w.child(n, 'b') >= 0 || w.child(0, 'b') >= 0 {
		t.Errorf("the tree lacks a word: %+v", w.nodes)
	}
	if and := w.child(w.child(n, 'n'), 'd'); and < 0 || !(w.nodes[and].best < w.nodes[n].best) {
		t.Error("a rarer word is not less probable")
	}
	for second, want := range map[int32]float32{0: 2, 2: 3, 1: -0.5} {
		if got := w.pairRatio(1, second); math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("an, then word %d: got %v, want %v", second, got, want)
		}
	}
	if got := w.pairRatio(0, 1) + w.pairRatio(-1, 1); got != 0 {
		t.Errorf("unknown pairs: got %v, want 0", got)
	}
}

// FuzzWords: files that are damaged cause an error or a list that can be searched.
func FuzzWords(f *testing.F) {
	f.Add(treeOf(strings.Fields("the cat sat")), []byte{1, 0, 0, 0, 3, 0, 0, 0, 1, 1, 2, 10, 40})
	f.Add([]byte("ab\n"), []byte{})
	f.Fuzz(func(t *testing.T, list, pairs []byte) {
		w, err := ReadWords(list, pairs)
		if err != nil {
			return
		}
		frames := framesOf(letters, "the cat, sat", rand.New(rand.NewPCG(1, 2)), 0.8)
		found(&search{alphabet: letters, words: w}, frames, "the", 5)
		w.pairRatio(1, 2)
	})
}
