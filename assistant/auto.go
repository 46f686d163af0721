package assistant

import (
	"math"
	"sync"
	"time"

	"verity/decoder"
)

// An Auto decides for all sequences that decode together: they draft while one
// more token is expected to pay, and not at all where drafting cannot pay. It
// learns as the passes and rounds go by:
//
//	D(k)      seconds of a draft step of k streams
//	V(m, k)   seconds of a verify pass of m rows of k streams
//	p(c)      how often a token of the assistant's confidence c is accepted
//
// and weighs them by the theory (see Plan): k streams that draft γ tokens each get
// k·E tokens, E = (1-α^(γ+1))/(1-α), in γ·D(k) + V(k·(γ+1), k) seconds, where
// plain decoding gets k in V(k, k). So a row costs what it adds to the pass that
// all share: next to nothing while the pass waits for weights, its arithmetic
// afterwards.
//
// Where drafting does not pay, one stream tries it now and then, so seldom that it
// takes [tries] of the time. Nothing is prepared before that: no features,
// no keys and values, no prompt of the assistant's.
//
// The zero value is ready. It must watch the batch (decoder.Batch.Watch), and each
// sequence takes a policy of its own from it.
type Auto struct {
	Max int // longest draft; 0 means 16

	mu     sync.Mutex
	verify cost // passes of the target
	draft  cost // of the assistant
	hear   mean // s; until the assistant can listen to a window
	prompt mean // s; its prompt

	perWindow mean // tokens
	all       accept
	byOdds    [len(oddsEdges) + 1]accept
	passed    [len(oddsEdges) + 1]int // tokens that were not worth a row

	members  int
	rows     int     // of the coming pass, so far
	drafting int     // streams of the last draft step
	since    float64 // s since the last try
	drafted  bool    // there was a draft

	plan plan
	owed bool // the next round is to be a try
}

// A plan is what all streams do until the next pass of the target.
type plan struct {
	made          bool
	tried         bool
	fresh, opened choice
}

// A choice is a draft length and its expected worth, for streams that have to open
// the window first or have done so.
type choice struct {
	n       int
	speedup float64
	rate    float64 // tokens a second of the whole batch, which one more token must beat
}

// oddsEdges divide confidence into bins, finer towards certainty.
var oddsEdges = [...]float64{0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995}

const (
	probe = 2    // length of a draft that only looks whether drafting pays by now
	worth = 1.05 // speed-up below which plain decoding is preferred: what is expected is not exact
	tries = 0.01 // share of the time for looking whether drafting pays by now
)

// Policy returns a policy for one sequence at a time.
func (a *Auto) Policy() Policy { return &autoStream{Auto: a} }

// Try makes the next round draft a little even where that does not pay, so that
// there is something to compare.
func (a *Auto) Try() {
	a.mu.Lock()
	a.owed = true
	a.mu.Unlock()
}

// Members learns how many streams a pass will have.
func (a *Auto) Members(n int) {
	a.mu.Lock()
	a.members = n
	a.mu.Unlock()
}

// Began forgets the plan when the target runs.
func (a *Auto) Began(p decoder.Pass) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.Draft {
		a.drafting = p.Streams
		return
	}
	a.plan = plan{}
}

// Took learns from a pass.
func (a *Auto) Took(p decoder.Pass, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := d.Seconds()
	a.since += s
	switch {
	case p.Prompt && p.Draft:
		a.prompt.add(s / float64(p.Streams))
	case p.Prompt:
	case p.Draft:
		a.draft.add(p.Rows, p.Streams, s)
	default:
		a.verify.add(p.Rows, p.Streams, s)
	}
}

func (a *Auto) most() int {
	if a.Max == 0 {
		return 16
	}
	return a.Max
}

// streams is how many decode.
func (a *Auto) streams() int { return max(1, a.members) }

// decide makes the plan, unless another stream has.
func (a *Auto) decide() {
	if a.plan.made {
		return
	}
	a.plan = plan{made: true}
	a.rows, a.drafting = a.streams(), a.streams()
	if !a.priced() {
		return
	}
	opening := 0.0
	if a.perWindow.n > 0 {
		opening = a.opening() / max(1, a.perWindow.v)
	}
	a.plan.opened, a.plan.fresh = a.best(opening)
}

// priced reports whether enough is known to decide.
func (a *Auto) priced() bool { return a.verify.known() && (a.draft.known() || a.drafted) }

// opening is the seconds until a window gets its first draft.
func (a *Auto) opening() float64 { return a.hear.v + max(0, a.prompt.v-a.draft.at(1, 1)) }

// best returns the draft lengths of the highest expected speed, for streams that
// have opened their window and for those that would have to, at so many seconds a
// token.
func (a *Auto) best(opening float64) (opened, fresh choice) {
	k := a.streams()
	step, plain := a.draft.at(float64(k), k), a.verify.at(float64(k), k)/float64(k)
	alpha := a.all.rate(0.7)
	for n := 1; n <= a.most(); n++ {
		e := Expected(alpha, n) * float64(k)
		perToken := (float64(n)*step + a.verify.at(float64(k*(n+1)), k)) / e
		opened.better(n, plain, perToken)
		fresh.better(n, plain, perToken+opening)
		if n > opened.n+3 && n > fresh.n+3 {
			break
		}
	}
	return opened, fresh
}

func (c *choice) better(n int, plain, perToken float64) {
	if s := plain / perToken; s > c.speedup {
		c.n, c.speedup, c.rate = n, s, max(1, s)/plain
	}
}

// An autoStream is the Policy of one sequence.
type autoStream struct {
	*Auto
	asked  []int // bins of the tokens of the draft under way
	reach  float64
	rate   float64
	kept   int // tokens of this window
	rounds int
	opened bool // the assistant listens to this window
	trying bool // this round
	again  bool // the last try went well
}

// Observer is what must watch the batch.
func (s *autoStream) Observer() decoder.Observer { return s.Auto }

// Begin starts a window.
func (s *autoStream) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rounds > 0 {
		s.perWindow.add(float64(s.kept))
	}
	s.kept, s.rounds, s.opened, s.again = 0, 0, false, false
}

// Length returns how long a draft may be.
func (s *autoStream) Length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.reach, s.trying = s.asked[:0], 1, false
	s.decide()
	c := s.plan.fresh
	if s.opened {
		c = s.plan.opened
	}
	s.rate = c.rate
	if c.speedup < worth {
		return s.try()
	}
	if s.confident() {
		return min(s.most(), 2*c.n+2) // More decides where to stop
	}
	return c.n
}

// try drafts nothing but for a look now and then, by one stream at a time.
func (s *autoStream) try() int {
	if s.plan.tried || !s.verify.known() || s.rounds == 0 { // first of all a plain pass
		return 0
	}
	if s.priced() && !s.owed && !s.again && s.since*tries < s.look() {
		return 0
	}
	s.plan.tried, s.trying, s.owed, s.since = true, true, false, 0
	return probe
}

// look is the seconds that a try takes.
func (s *autoStream) look() float64 {
	k := s.streams()
	c := probe*s.draft.at(1, 1) + s.verify.at(float64(k+probe), k) - s.verify.at(float64(k), k)
	if !s.opened {
		c += s.opening()
	}
	return max(0, c)
}

// confident reports whether the proposer tells its confidence.
func (a *Auto) confident() bool {
	for i := range a.byOdds {
		if a.byOdds[i].n > 0 {
			return true
		}
	}
	return false
}

// More reports whether the nth token of a draft is worth a row of the verify pass,
// and whether one behind it is expected to pay: the chance that it is kept, at the
// speed reached so far, must be worth the time.
func (s *autoStream) More(n int, lp float32) (keep, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bin := 0
	for p := math.Exp(float64(lp)); bin < len(oddsEdges) && p >= oddsEdges[bin]; {
		bin++
	}
	if s.trying || !s.priced() {
		s.asked = append(s.asked, bin)
		return true, n < probe
	}
	prior := 0.2
	if bin > 0 {
		prior = oddsEdges[bin-1]
	}
	s.reach *= s.byOdds[bin].rate(prior)
	row := s.verify.slope(float64(s.rows))
	if s.reach < row*s.rate && !s.curious(bin) {
		return false, false
	}
	s.asked = append(s.asked, bin)
	s.rows++
	gain := s.reach * s.all.rate(0.7)
	share := float64(max(1, s.drafting))
	step := s.draft.at(share, int(share)) / share
	return true, n < s.most() && gain > (step+row)*s.rate
}

// curious takes every sixteenth token that is not worth it, or what is known of its
// like would never change.
func (a *Auto) curious(bin int) bool {
	a.passed[bin]++
	return a.byOdds[bin].n < 8 || a.passed[bin]%16 == 0
}

// Opened learns how long it took until the assistant could listen.
func (s *autoStream) Opened(d time.Duration) {
	s.mu.Lock()
	s.hear.add(d.Seconds())
	s.opened = true
	s.mu.Unlock()
}

// Observe learns from a round.
func (s *autoStream) Observe(r Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds++
	s.kept += r.Kept
	s.again = s.trying && r.Drafted > 0 && r.Accepted == r.Drafted
	if r.Drafted > 0 {
		s.drafted, s.opened = true, true
	}
	// Tokens behind the first refused one were not judged.
	for i := range min(r.Accepted+1, r.Drafted) {
		s.all.add(i < r.Accepted)
		if i < len(s.asked) {
			s.byOdds[s.asked[i]].add(i < r.Accepted)
		}
	}
}
