package ctc

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// Parameters of the search, chosen on recordings outside training and tests: see tools/drafter.
const (
	beamSize     = 6       // texts that are followed at the same time
	minLogProb   = -6.0    // less likely symbols are not tried
	beamWidth    = 10.0    // nor are texts that are this much less likely than the best
	wordWeight   = 0.4     // of the log-probability of a word
	pairWeight   = 0.4     // of what the word before adds to it
	letterBonus  = 1.0     // for each symbol: its score is of one alignment, not of all, which favours few symbols
	wordBonus    = 1.0     // for each word: without it, the weights favour few words
	unknownCost  = 14.0    // of a word that is not in the list
	doubledMark  = 3.0     // cost of a mark right after another
	settleFrames = 12      // frames after which letters no longer change
	maxTexts     = 1 << 13 // of one search: noise, where every letter is as likely, would make more
)

// States of a text that is not inside a word of the list.
const (
	spelling  = -1 // inside a word that is not in the list
	between   = -2 // after a digit, for example
	afterMark = -3
)

// An alphabet is the symbols of a head: 0 is the blank, the others are characters.
type alphabet struct {
	runes  []rune // of each symbol; 0 for the blank
	lower  []rune // the same in lower case
	index  map[rune]int
	letter []bool // whether the symbol is part of words
}

func newAlphabet(symbols []rune) *alphabet {
	a := &alphabet{runes: append([]rune{0}, symbols...), index: map[rune]int{}}
	for i, r := range a.runes {
		a.lower = append(a.lower, unicode.ToLower(r))
		a.letter = append(a.letter, unicode.IsLetter(r) || r == '\'')
		if i > 0 {
			a.index[r] = i
		}
	}
	return a
}

// A wordState is where a text stands in the list of words.
type wordState struct {
	node     int32 // of Words, or spelling, between or afterMark
	previous int32 // the rank of the word before, plus 1; 0 if that is not known
}

// A textNode is a node in the tree of all texts of a search: the text before it and one more symbol.
type textNode struct {
	before, sibling, child int32 // nodes; 0 means none for the latter two
	symbol                 int32
	depth                  int32 // symbols since the root
	frame                  int32 // in which the symbol most likely begins
	state                  wordState
	onlyLetters            bool    // all symbols since the root are letters
	wordScore              float32 // of the words and symbols so far; never if the text is impossible
	acoustic               float32 // the largest log-probability of the symbol since frame
	blank, last            float32 // scores after the frames so far, the last of them blank or in symbol
	nextBlank, nextLast    float32
	nextFrame              int32
	nextAcoustic           float32
	stamp                  int32 // the frame that the next scores belong to, plus 1
}

func (t *textNode) score() float32 { return max(t.blank, t.last) + t.wordScore }

// A search finds the continuation of a text that is known. It is not safe for concurrent use.
type search struct {
	alphabet *alphabet
	words    *Words
	texts    []textNode
	active   []int32
	touched  []int32

	// Of the frame under way.
	row     []float32 // log-probabilities
	frame   int32
	least   float32 // texts that score less are not followed
	symbols []int32 // those tried

	// The decoder has committed tokens, and the last of them may be the start of a word. The rest of that word must
	// not change how its start is divided into tokens: the decoder hardly ever writes " measure", "d" for " measured".
	word    []byte                 // the committed start of the word
	spelled func(word []byte) bool // reports whether the tokens of a word begin with the committed ones; nil: always
	ended   bool                   // a space must come next
}

// A foundLetter is a letter of the continuation.
type foundLetter struct {
	symbol, frame int
	logProb       float32 // the largest of the symbol in its frames
}

// continuation appends to dst the most likely continuation of the text of a, which ends in state, for some
// letters or to the end of the frames. It reports whether it reached the end.
func (s *search) continuation(dst []foundLetter, a *aligner, state wordState, letters int) (found []foundLetter, end bool) {
	f := a.frames
	s.texts = append(s.texts[:0], textNode{
		symbol: int32(a.last), frame: -1, state: state, onlyLetters: s.ended || s.spelled != nil, blank: never, last: never,
	})
	s.active = append(s.active[:0], 0)
	limit := f.N
	for i := a.start(); i < limit; i++ {
		s.texts[0].blank, s.texts[0].last = a.blank[i], a.symbol[i]
		if !slices.Contains(s.active, 0) { // more frames may still belong to the known text
			s.active = append(s.active, 0)
		}
		s.row, s.frame = f.Row(i), int32(i)
		s.step()
		if limit == f.N && (int(s.texts[s.active[0]].depth) >= letters || len(s.texts) > maxTexts) {
			limit = min(f.N, i+settleFrames)
		}
	}
	end = limit == f.N
	best := s.best(end)
	begin := len(dst)
	for n := best; n != 0; n = s.texts[n].before {
		t := &s.texts[n]
		dst = append(dst, foundLetter{int(t.symbol), int(t.frame), t.acoustic})
	}
	slices.Reverse(dst[begin:])
	for !end && len(dst) > begin && dst[len(dst)-1].frame >= limit-settleFrames/2 {
		dst = dst[:len(dst)-1]
	}
	return dst, end
}

// best returns the most likely text; at the end of the audio, last words count.
func (s *search) best(end bool) int32 {
	best, at := never, int32(0)
	for _, n := range s.active {
		score := s.texts[n].score()
		if end {
			score += s.endWord(s.texts[n].state)
		}
		if score > best {
			best, at = score, n
		}
	}
	return at
}

// step extends the active texts by a frame.
func (s *search) step() {
	s.touched, s.symbols = s.touched[:0], s.symbols[:0]
	likeliest := s.row[0]
	for c := 1; c < len(s.row); c++ {
		if s.row[c] > minLogProb {
			s.symbols = append(s.symbols, int32(c))
			likeliest = max(likeliest, s.row[c])
		}
	}
	s.least = never
	for _, n := range s.active {
		s.least = max(s.least, s.texts[n].score()+likeliest-beamWidth)
	}
	for _, n := range s.active {
		s.extend(n)
	}
	for _, n := range s.touched {
		t := &s.texts[n]
		t.blank, t.last = t.nextBlank, t.nextLast
		if t.nextLast != never {
			t.frame, t.acoustic = t.nextFrame, t.nextAcoustic
		}
	}
	s.keepBest()
}

// extend adds a frame to the text n: blank, its last symbol once more, or another one.
func (s *search) extend(n int32) {
	t, row := s.touch(n), s.row
	blank, last := t.blank, t.last
	t.nextBlank = max(t.nextBlank, max(blank, last)+row[0])
	if t.symbol > 0 && last+row[t.symbol] > t.nextLast {
		t.nextLast, t.nextFrame, t.nextAcoustic = last+row[t.symbol], t.frame, max(t.acoustic, row[t.symbol])
	}
	symbol, score := t.symbol, t.wordScore
	for _, c := range s.symbols {
		from := max(blank, last)
		if c == symbol {
			from = blank
		}
		if !(from+row[c]+score > s.least) {
			continue
		}
		child := s.childOf(n, c)
		if child < 0 {
			continue
		}
		u := s.touch(child)
		if from+row[c] > u.nextLast {
			u.nextLast, u.nextFrame, u.nextAcoustic = from+row[c], s.frame, row[c]
		}
	}
}

// keepBest makes the best of the touched texts the active ones, the best first.
func (s *search) keepBest() {
	var scores [beamSize + 1]float32
	s.active = s.active[:0]
	for _, n := range s.touched {
		score, at := s.texts[n].score(), len(s.active)
		for at > 0 && scores[at-1] < score {
			at--
		}
		s.active = slices.Insert(s.active, at, n)
		copy(scores[at+1:], scores[at:])
		scores[at] = score
		if len(s.active) > beamSize {
			last := &s.texts[s.active[beamSize]]
			last.blank, last.last = never, never
			s.active = s.active[:beamSize]
		}
	}
}

// touch prepares the next scores of a text.
func (s *search) touch(n int32) *textNode {
	t := &s.texts[n]
	if t.stamp != s.frame+1 {
		t.stamp, t.nextBlank, t.nextLast = s.frame+1, never, never
		s.touched = append(s.touched, n)
	}
	return t
}

// childOf returns the text n with one more symbol, or -1 if no text continues like that.
func (s *search) childOf(n, symbol int32) int32 {
	for c := s.texts[n].child; c != 0; c = s.texts[c].sibling {
		if s.texts[c].symbol == symbol {
			return c
		}
	}
	state, score, ok := s.next(s.texts[n].state, symbol)
	if !ok {
		return -1
	}
	onlyLetters := s.texts[n].onlyLetters && s.alphabet.letter[symbol]
	if s.texts[n].onlyLetters && !s.mayFollow(n, symbol) {
		score = never
	}
	c := int32(len(s.texts))
	s.texts = append(s.texts, textNode{
		before: n, sibling: s.texts[n].child, symbol: symbol, depth: s.texts[n].depth + 1, frame: -1, state: state,
		onlyLetters: onlyLetters, wordScore: s.texts[n].wordScore + score + letterBonus, blank: never, last: never,
	})
	s.texts[n].child = c
	return c
}

// mayFollow reports whether the committed text allows a symbol after the text n, which is in its first word.
func (s *search) mayFollow(n, symbol int32) bool {
	switch {
	case s.ended:
		return s.alphabet.runes[symbol] == ' '
	case !s.alphabet.letter[symbol]:
		return n == 0 || s.spelled(s.wordTo(n))
	}
	return true
}

// wordTo returns the word that the text n is in.
func (s *search) wordTo(n int32) []byte {
	if n == 0 {
		return slices.Clip(s.word)
	}
	return utf8.AppendRune(s.wordTo(s.texts[n].before), s.alphabet.runes[s.texts[n].symbol])
}

// next returns the state after a symbol, and what the words add to the score.
func (s *search) next(at wordState, symbol int32) (to wordState, score float32, ok bool) {
	if !s.alphabet.letter[symbol] {
		return s.nextMark(at, s.alphabet.runes[symbol])
	}
	letter := s.alphabet.lower[symbol]
	if at.node == between || at.node == afterMark {
		at = wordState{}
	}
	if at.node == spelling {
		return at, 0, true
	}
	best := float32(0)
	if at.node > 0 {
		best = s.words.nodes[at.node].best
	}
	if child := s.words.child(at.node, letter); child >= 0 {
		return wordState{child, at.previous}, wordWeight * (s.words.nodes[child].best - best), true
	}
	to = wordState{spelling, at.previous}
	if letter == '\'' && at.node > 0 && s.words.nodes[at.node].rank >= 0 { // a possessive, for example
		return to, s.endWord(at) - unknownCost/2, true
	}
	return to, -unknownCost - wordWeight*best, true
}

// nextMark is next for a symbol that is not part of words.
func (s *search) nextMark(at wordState, r rune) (to wordState, score float32, ok bool) {
	score = s.endWord(at)
	switch {
	case r == ' ', r == '-':
		if at.node > 0 {
			to.previous = s.words.nodes[at.node].rank + 1
		}
		return to, score, at.node != 0
	case !unicode.IsPunct(r): // a digit, for example
		return wordState{node: between}, score, true
	case at.node == afterMark:
		score -= doubledMark
	}
	return wordState{node: afterMark}, score, true
}

// endWord returns what the end of a word adds to the score.
func (s *search) endWord(at wordState) float32 {
	switch {
	case at.node == spelling:
		return wordBonus
	case at.node <= 0:
		return 0
	}
	n := &s.words.nodes[at.node]
	if n.rank < 0 {
		return -unknownCost + wordBonus - wordWeight*n.best
	}
	return wordBonus + wordWeight*(s.words.probs[n.rank]-n.best) + pairWeight*s.words.pairRatio(at.previous-1, n.rank)
}
