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
// What the theory expects is held against what comes of it: rounds that drafted are
// timed with all that drafting took, and what they fall short of the expectation is
// taken off the next one. Windows of a few words, streams that end at different
// places and work beside the passes so count without being modelled.
//
// Where drafting does not pay, one stream tries it now and then; where it does, all
// decode plainly now and then, to know what that takes by now. Either so seldom that it
// takes [tries] of the time. Nothing is prepared before the first try: no features,
// no keys and values, no prompt of the assistant's.
//
// The zero value is ready. It must watch the batch (decoder.Batch.Watch), and each
// sequence takes a policy of its own from it.
type Auto struct {
	Max int // longest draft; 0 means 16

	mu     sync.Mutex
	verify cost // passes of the target, in s at pace
	draft  cost // of the assistant, likewise
	hear   mean // s at pace; until the assistant can listen to a window
	prompt mean // s at pace; its prompt
	pace   pace
	free   bool // drafts cost nothing

	perWindow mean // tokens
	all       accept
	byOdds    [len(oddsEdges) + 1]accept
	passed    [len(oddsEdges) + 1]int // tokens that were not worth a row

	members  int
	rows     int     // of the coming pass, so far
	drafting int     // streams of the last draft step
	since    float64 // s since the last try
	drafted  bool    // there was a draft

	plan  plan
	owed  bool // the next round is to be a try
	known outlook
	spent float64 // s at pace that drafting took since the last pass of the target
	turn  turn    // of that
	yield yield
	rest  int     // passes for which none drafts, to see what plain decoding takes
	awake float64 // s at pace since the last rest
	cold  bool    // something was drafted since the last pass of the target
	early []early // what is to be learnt when the pace is known
	icy   bool    // the same of that pass: its weights were no longer in caches
}

// A plan is what all streams do until the next pass of the target.
type plan struct {
	made          bool
	tried         bool // a stream looks whether drafting pays
	fresh, opened choice
}

// A choice is a draft length and its expected worth, for streams that have to open
// the window first or have done so.
type choice struct {
	n       int
	speedup float64
	rate    float64 // tokens a second of the whole batch, which one more token must beat
}

// An early is a time that was seen before anything was known of the pace.
type early struct {
	of *mean
	s  float64
}

// An outlook is what plans are made of, until there is news.
type outlook struct {
	streams, passes int // passes since it was made
	fresh, opened   choice
	open            float64 // what opening a window takes over plain decoding of it
	step            float64 // s at pace; of plain decoding
	look            float64 // s at pace; that a try takes
}

// A turn is a round of all streams.
type turn struct {
	pass      decoder.Pass
	took      float64 // s at pace; 0 if not told
	spent     float64 // s at pace, before the pass
	expected  float64 // speed-up
	tried     bool
	drafted   int // tokens
	kept, won int // tokens; of them, beyond what the pass would have given without drafts
}

// A yield holds what drafting brought against what was expected of it, over the
// latest rounds: in seconds at pace, which those rounds took and should have taken.
type yield struct{ took, expected float64 }

// ratio returns how the two compare; unit, the time of a step, is what one step
// of belief in the expectation weighs.
func (y yield) ratio(unit float64) float64 {
	const belief = 16
	if unit <= 0 {
		return 1
	}
	return (y.expected + belief*unit) / (y.took + belief*unit)
}

func (y *yield) fade(by float64) { y.took, y.expected = y.took*by, y.expected*by }

// A pace is how much slower the machine is by now than costs say. A busy machine is
// slower at passes of every kind, also at those that it has not done lately: while all
// draft, nobody sees what plain decoding takes. Costs change slowly, so that what
// passes have in common goes into the pace. The zero value is for costs that are learnt
// here and now.
type pace struct {
	log  float64
	n    int
	late bool // costs are from elsewhere: the first passes tell the pace
}

func (p pace) factor() float64 { return math.Exp(p.log) }

// opens reports whether the pace is still to be found.
func (p pace) opens() bool { return p.late && p.n < 8 }

// dark reports whether nothing is known of it yet.
func (p pace) dark() bool { return p.late && p.n == 0 }

// add learns from a pass that was expected to take so long. But for the first ones it
// takes the difference, not that of logarithms, and cuts it off where a mean does, or
// the pace would drift away from means of the same passes.
func (p *pace) add(took, expected float64) {
	more := took/(expected*p.factor()) - 1
	if p.opens() {
		p.log += math.Log1p(more) / float64(p.n+1)
	} else {
		p.log += min(hiccup-1, more) / 32
	}
	p.n++
}

// oddsEdges divide confidence into bins, finer towards certainty.
var oddsEdges = [...]float64{0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995}

const (
	probe = 2     // length of a draft that only looks whether drafting pays by now
	worth = 1.05  // speed-up below which plain decoding is preferred: what is expected is not exact
	dear  = 1.10  // the same where the window is to be opened first: that is paid in any case
	tries = 0.005 // share of the time for looking whether drafting pays by now
	nap   = 8     // passes of a rest
	young = 64    // passes until which every one is news
)

// Policy returns a policy for one sequence at a time.
func (a *Auto) Policy() Policy { return &autoStream{Auto: a} }

// Assume begins with costs that follow from the bytes of both models, so that the
// first round can draft: decisions need only how costs compare. The first passes tell
// what a byte costs, and later ones what each pass does. A nil assistant has no decoder.
// It does nothing once something has been learnt.
func (a *Auto) Assume(target, assistant *decoder.Decoder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.verify.known() || a.draft.known() {
		return
	}
	a.verify.assume(bytesOf(target))
	if assistant != nil {
		a.draft.assume(bytesOf(assistant))
	}
	a.free, a.pace = assistant == nil, pace{late: true}
}

// bytesOf returns what a pass of d reads: in any case, and of each stream.
func bytesOf(d *decoder.Decoder) (all, stream float64) {
	position := d.StepBytes(1) - d.StepBytes(0)
	stream = float64(position * int64(d.Dims().AudioPositions))
	return float64(d.StepBytes(0)) - stream, stream
}

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

// Began settles the last round and forgets the plan when the target runs.
func (a *Auto) Began(p decoder.Pass) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settle()
	if p.Draft {
		a.drafting, a.cold = p.Streams, true
		return
	}
	a.icy, a.cold = a.cold, false
	a.turn = turn{pass: p, spent: a.spent, expected: a.plan.fresh.speedup, tried: a.plan.tried}
	a.plan, a.spent = plan{}, 0
	a.known.passes++
	if a.rest > 0 {
		a.rest--
	}
}

// settle takes the last round in, once all streams have seen what came of it.
func (a *Auto) settle() {
	t := a.turn
	a.turn = turn{}
	k := t.pass.Streams
	if t.kept == 0 || !a.verify.known() {
		return
	}
	step := a.verify.at(float64(k), k)
	if t.drafted == 0 {
		a.yield.fade(0.995)
		return
	}
	if t.tried || t.expected == 0 {
		return
	}
	// Nobody knows what a pass with a prompt takes: what was won is set against what
	// drafting took, and the rows more.
	tokens, took := t.won, t.spent+a.verify.fitted(float64(k+t.drafted), k)-a.verify.fitted(float64(k), k)
	if !t.pass.Prompt {
		if t.took == 0 {
			t.took = a.verify.at(float64(t.pass.Rows), k)
		}
		tokens, took = t.kept, t.spent+t.took
	}
	a.yield.fade(0.98)
	a.yield.took += took
	a.yield.expected += float64(tokens) * step / float64(k) / t.expected
}

// Took learns from a pass.
func (a *Auto) Took(p decoder.Pass, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.verify
	if p.Draft {
		c = &a.draft
	}
	x := c.find(float64(p.Rows), p.Streams)
	switch {
	case p.Prompt || d <= 0:
	case a.pace.opens() && !p.Draft:
		a.pace.add(d.Seconds(), c.at(float64(p.Rows), p.Streams))
		if a.pace.n == 1 {
			a.wake()
		}
	case x != nil && x.took.n >= 8 && !a.pace.opens():
		a.pace.add(d.Seconds(), x.took.v)
	}
	s := d.Seconds() / a.pace.factor()
	a.since += s
	a.awake += s
	if p.Draft {
		a.spent += s
	} else {
		a.turn.took = s
	}
	switch {
	case p.Prompt && p.Draft:
		a.note(&a.prompt, s/float64(p.Streams))
	case p.Prompt:
	case p.Draft && a.pace.dark():
	case !p.Draft && p.Rows == p.Streams && a.icy && x != nil: // plain decoding would find them there
	default:
		if c.add(p.Rows, p.Streams, s); !p.Draft && p.Rows == p.Streams {
			a.awake = 0
		}
	}
}

// wake learns what was seen before anything was known of the pace.
func (a *Auto) wake() {
	by := 1 / a.pace.factor()
	for _, v := range [...]*float64{&a.spent, &a.turn.spent, &a.since, &a.awake} {
		*v *= by
	}
	for _, x := range a.early {
		x.of.add(x.s * by)
	}
	a.early = nil
}

// note adds to a mean in seconds at pace, when that is known.
func (a *Auto) note(m *mean, seconds float64) {
	if a.pace.dark() {
		a.early = append(a.early, early{m, seconds})
		return
	}
	m.add(seconds)
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
	k := a.streams()
	a.plan = plan{made: true}
	a.rows, a.drafting = k, k
	if !a.priced() {
		return
	}
	o := &a.known
	if o.streams != k || a.verify.clock < young || o.passes >= 8 {
		a.look(k)
	}
	a.plan.opened, a.plan.fresh = o.opened, o.fresh
	if s := o.opened.speedup * a.trust(); s >= worth && a.rest == 0 {
		share := tries
		if x := a.verify.find(float64(k), k); x == nil || x.took.n < nap {
			share *= 10
		}
		if a.awake*share > nap*o.step*(1-1/s) {
			a.rest, a.awake = nap, 0
		}
	}
}

// look makes the outlook of k streams.
func (a *Auto) look(k int) {
	o := &a.known
	*o = outlook{streams: k, step: a.verify.at(float64(k), k)}
	opening := 0.0
	if a.perWindow.n > 0 {
		opening = a.opening() / max(1, a.perWindow.v)
	}
	o.opened, o.fresh = a.best(opening)
	o.open = opening * float64(k) / o.step
	o.look = probe*a.draft.at(1, 1) + max(0, a.verify.at(float64(k+probe), k)-o.step)
}

// trust is what may be expected of drafting, of what theory expects.
func (a *Auto) trust() float64 { return a.yield.ratio(a.known.step) }

// priced reports whether enough is known to decide.
func (a *Auto) priced() bool {
	return a.verify.known() && (a.draft.known() || a.drafted || a.free)
}

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
		e := Expected(alpha, n)
		if w := a.perWindow; w.n > 0 { // of the last draft of a window, a half is behind its end
			e = w.v / (w.v/e + (1-1/e)/2)
		}
		e *= float64(k)
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
	c, sure := s.plan.fresh, s.known.open
	if s.opened {
		c, sure = s.plan.opened, 0
	}
	s.rate = c.rate
	// What opening takes counts twice: it is paid at once, and what it brings is a guess.
	if !(s.trust() >= worth*(1/c.speedup+sure)) {
		return s.try()
	}
	if s.rest > 0 {
		return 0
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
	takes := s.known.look
	if !s.opened {
		takes += s.opening()
	}
	if s.priced() && !s.owed && !s.again && s.since*tries < takes {
		return 0
	}
	s.plan.tried, s.trying, s.owed, s.since = true, true, false, 0
	return probe
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
	t := d.Seconds() / s.pace.factor()
	s.note(&s.hear, t)
	s.spent += t
	s.opened = true
	s.mu.Unlock()
}

// Observe learns from a round.
func (s *autoStream) Observe(r Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds++
	s.kept += r.Kept
	s.turn.drafted += r.Drafted
	s.turn.kept += r.Kept
	s.turn.won += r.Kept - 1
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
