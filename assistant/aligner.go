package assistant

import "unicode"

// Costs per letter of an alignment. A jump continues anywhere else, so that a repeated
// phrase or a skipped sentence is found again.
const (
	substituted = 10
	inserted    = 9 // in the output, but not in the text
	deleted     = 8 // in the text, but not in the output
	jumped      = 60
)

// An aligner finds the position in a text that the output of decoding has reached. It
// keeps the edit distance of the output to every position of the text at once, and advances
// by one letter at a time. Only letters and digits count, in lower case. The zero value has
// no text.
type aligner struct {
	letters   []rune
	cost      []int32 // [i]: of aligning all output with the first i letters of the text
	next      []int32
	matched   []uint16 // [i]: how many of the last letters of output equal those before i
	at        int      // the most likely position
	lo, hi    int      // the positions searched; all others cost a jump
	wideSteps int      // letters until the search is narrowed
	errorRate float64  // recent mean cost per letter, in substitutions: 0 to about 1
}

// While the output matches the text, only this many letters around the position are searched.
const lookBehind, lookAhead = 256, 768

// letter returns r in lower case, or 0 if it is no letter or digit.
func letter(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
		return unicode.ToLower(r)
	}
	return 0
}

// reset starts at a position of a text.
func (p *aligner) reset(letters []rune, at int) {
	n := len(letters) + 1
	if cap(p.cost) < n {
		p.cost, p.next, p.matched = make([]int32, n), make([]int32, n), make([]uint16, n)
	}
	p.letters, p.at, p.errorRate = letters, at, 0
	p.cost, p.next, p.matched = p.cost[:n], p.next[:n], p.matched[:n]
	clear(p.matched)
	p.lo, p.hi, p.wideSteps = 0, n, 2*alignLetters
	for i := range p.cost {
		p.cost[i] = int32(min(jumped, deleted*abs(i-at)))
	}
}

// chooseRange sets the positions to search next.
func (p *aligner) chooseRange() {
	lo, hi := 0, len(p.cost)
	if p.wideSteps--; p.wideSteps < 0 && p.errorRate < 0.2 {
		lo, hi = max(lo, p.at-lookBehind), min(hi, p.at+lookAhead)
	}
	for i := lo; i < hi; i++ {
		if i < p.lo || i >= p.hi {
			p.cost[i], p.matched[i] = jumped, 0
		}
	}
	p.lo, p.hi = lo, hi
}

// advance aligns one more letter of output.
func (p *aligner) advance(r rune) {
	const forget = 0.96
	p.chooseRange()
	n := p.hi - p.lo
	costs, next, runs := p.cost[p.lo:][:n], p.next[p.lo:][:n], p.matched[p.lo:][:n]
	above, before := min(costs[0], jumped), runs[0] // of the previous position
	least := above + inserted
	left := least
	next[0], runs[0] = left, 0
	for i, l := range p.letters[p.lo:][:n-1] {
		change, run := above+substituted, uint16(0)
		if l == r {
			change, run = above, before+1
		}
		old := min(costs[i+1], jumped)
		change = min(change, old+inserted)
		left = min(left+deleted, change)
		least = min(least, left)
		above, before = old, runs[i+1]
		next[i+1], runs[i+1] = left, run
	}
	best := -1
	for i := range next {
		if next[i] -= least; next[i] == 0 && (best < 0 || p.better(p.lo+i, best)) {
			best = p.lo + i
		}
	}
	p.cost, p.next, p.at = p.next, p.cost, best
	p.errorRate = forget*p.errorRate + (1-forget)*float64(least)/substituted
}

// better reports whether position i is better than position j of the same cost: more of the
// last letters match, or it is nearer to the expected one.
func (p *aligner) better(i, j int) bool {
	if p.matched[i] != p.matched[j] {
		return p.matched[i] > p.matched[j]
	}
	return abs(i-p.at-1) < abs(j-p.at-1)
}

// lost reports whether recent output does not match the text.
func (p *aligner) lost() bool { return p.errorRate > 0.25 && int(p.matched[p.at]) < 4 }
