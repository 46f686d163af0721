package assistant

import (
	"math"
	"sync"

	"verity/decoder"
)

// lengths are the draft lengths that Auto switches between. Speed changes little between
// neighbours.
var lengths = [...]int{0, 2, 3, 5, 8}

const lastLength = 8 // the last of lengths

const (
	epoch        = 8     // rounds of each stream between two decisions, and of a trial
	trialRest    = 8     // minimum number of epochs between two trials
	plainMargin  = 1.05  // a drafting length must be faster than plain decoding by this factor
	switchMargin = 1.03  // and faster than the drafting length in use by this one
	trialShare   = 0.005 // share of the time that trials may lose
	roundTimeCap = 2     // a round counts at most this many times its expected duration
	minDraftProb = 0.4   // a draft ends after a token that the assistant finds less probable; also for Confidence
)

// An Auto chooses the draft length of all streams that decode together. It measures what each
// length costs,
//
//	seconds per token = round time / yield + opening · streams / window
//
// and uses the length of the lowest cost. The terms are:
//
//   - round time: of each length, for a few numbers of streams (see group);
//   - yield: the tokens kept in a round. It follows from the shares of rounds that keep
//     more than 1, 2, 3, … tokens. These shares are the same for all lengths, so rounds
//     of one length predict the yield of the others;
//   - opening: seconds until the assistant can draft in a new window;
//   - window: the tokens of a window.
//
// The length in use is measured all the time. Others are measured by trials: all streams use
// one for an epoch. Trials may lose half a percent of the time. Cost gives the first guesses
// of round times.
//
// Policy returns a policy for each stream.
type Auto struct {
	// Cost is the number of bytes that a draft step reads, divided by that of a target step: a
	// first guess of the ratio of their times. 0 means that drafts are free.
	Cost float64

	// Streams returns how many streams decode together now.
	Streams func() int

	mu       sync.Mutex
	active   int // streams at the last round
	groups   [groups]group
	survival [lastLength]frequency // [j]: of the rounds that kept j+1 tokens or more, the share that kept more
	opening  mean                  // seconds
	window   mean                  // tokens
	opens    int                   // number of windows opened
	forced   bool                  // see ForceDraft
}

// A group has the measurements for about the same number of streams. Round times are in units
// of pace: if the whole machine becomes slower or faster, only pace changes.
type group struct {
	candidates [len(lengths)]candidate
	inUse      int     // index of the length in use
	onTrial    int     // index of the length on trial; that in use if there is no trial
	pace       mean    // seconds of one unit
	draftStep  mean    // seconds to draft a token
	rounds     int     // of all streams, since the last decision
	epochs     int     // since the last trial
	total      float64 // seconds of all rounds, of one stream
	trialLoss  float64 // seconds lost by trials, of one stream
	price      float64 // seconds per token of the length in use, when the trial began
}

// A candidate is one draft length of a group.
type candidate struct {
	level  float64 // round time, in units of pace; plain decoding starts at 1
	n      float64 // rounds measured; 0 means that level is a guess
	trials int
}

// NewAuto returns the policy for a target and its assistant. See Auto.Streams.
func NewAuto(target *decoder.Decoder, a Assistant, streams func() int) *Auto {
	return &Auto{Cost: float64(a.StepBytes()) / float64(target.StepBytes(0)), Streams: streams}
}

// updateActive counts the streams. a.mu is held.
func (a *Auto) updateActive() { a.active = max(1, a.Streams()) }

// Policy returns a policy for one sequence at a time.
func (a *Auto) Policy() Policy { return &autoStream{a: a} }

// ForceDraft makes the next rounds draft at any cost until something has been drafted. It is
// for comparisons, which need at least one draft.
func (a *Auto) ForceDraft() {
	a.mu.Lock()
	a.forced = true
	a.mu.Unlock()
}

// group returns the measurements for the present number of streams. New ones start with
// guesses. a.mu is held.
func (a *Auto) group() *group {
	k := a.active
	g := &a.groups[groupOf(k)]
	if g.candidates[0].level == 0 {
		for i, n := range lengths {
			g.candidates[i].level = guess(n, k, a.Cost)
		}
		g.inUse = a.best(g)
		g.onTrial, g.candidates[g.inUse].n = g.inUse, epoch*float64(k)
	}
	return g
}

// best returns the length of the lowest cost, or the one in use if that is nearly as good.
// a.mu is held.
func (a *Auto) best(g *group) int {
	best := 0
	least := a.cost(g, 0)
	for i := 1; i < len(lengths); i++ {
		c := a.cost(g, i) * plainMargin
		if i == g.inUse {
			c /= switchMargin
		}
		if c < least {
			best, least = i, c
		}
	}
	return best
}

// decide ends an epoch: it chooses the length in use, and starts a trial of another one if
// the time for trials allows it. a.mu is held.
func (a *Auto) decide(g *group) {
	g.rounds = 0
	g.epochs++
	if g.onTrial != g.inUse {
		g.epochs = 0
	}
	if best := a.best(g); best != g.inUse {
		g.inUse, g.epochs = best, 0
	}
	g.onTrial = g.inUse
	i, unknown := g.nextTrial()
	if g.pace.n == 0 || g.epochs < trialRest && !unknown {
		return
	}
	g.price = a.cost(g, g.inUse)
	loss := epoch * max(0, g.level(i)*g.pace.v-a.yield(lengths[i])*g.price)
	if g.inUse == 0 {
		loss += a.opening.v * float64(a.active)
	}
	if !unknown && g.trialLoss+loss > trialShare*g.total+epoch*g.pace.v {
		return
	}
	g.onTrial = i
	g.candidates[i].trials++
	g.candidates[i].n = min(g.candidates[i].n, epoch*float64(a.active)) // so that the trial counts
	if g.inUse == 0 {
		for j := range a.survival { // so that it notices when the text becomes easier
			a.survival[j].forget(epoch)
		}
	}
}

// nextTrial returns the length to try next: plain decoding or a neighbour of the length in
// use, whichever had the fewest trials. The trial is urgent if plain decoding was never
// measured.
func (g *group) nextTrial() (i int, urgent bool) {
	if g.candidates[0].n == 0 {
		return 0, true
	}
	best := -1
	for _, i := range [...]int{0, g.inUse + 1, g.inUse - 1} {
		if i < 0 || i >= len(lengths) || i == g.inUse {
			continue
		}
		if best < 0 || g.candidates[i].trials < g.candidates[best].trials {
			best = i
		}
	}
	return best, false
}

// An autoStream is the Policy of one sequence.
type autoStream struct {
	a      *Auto
	length int // index of the length of this round
	before int // index of the length of the last round
	opens  int // Auto.opens at the start of the round
	kept   int // tokens of this window so far
}

// Length returns the maximum draft length.
func (s *autoStream) Length() int {
	a := s.a
	a.mu.Lock()
	defer a.mu.Unlock()
	a.updateActive()
	s.length, s.opens = a.group().onTrial, a.opens
	if a.forced {
		s.length = max(1, s.length)
	}
	return lengths[s.length]
}

// More stops a draft after a token that is likely to be rejected.
func (s *autoStream) More(_ int, lp float32) bool {
	return math.Exp(float64(lp)) >= minDraftProb
}

// Observe adds a finished round to the measurements.
func (s *autoStream) Observe(r Round) {
	a := s.a
	a.mu.Lock()
	defer a.mu.Unlock()
	a.updateActive()
	s.observeWindow(r)
	for j := range min(r.Kept, lengths[s.length]) {
		a.survival[j].add(r.Kept > j+1)
	}
	a.forced = a.forced && r.Drafted == 0
	g := a.group()
	s.observeTime(r, g)
	if g.rounds++; g.rounds >= epoch*a.active {
		a.decide(g)
	}
}

// observeWindow adds what windows cost and yield. a.mu is held.
func (s *autoStream) observeWindow(r Round) {
	if r.First {
		if s.kept > 0 {
			s.a.window.add(float64(s.kept), 16)
		}
		s.kept = 0
	}
	if r.Opening > 0 {
		s.a.opens++
		s.a.opening.add(r.Opening.Seconds(), 16)
	}
	s.kept += r.Kept
}

// observeTime adds the times of a round to a group. a.mu is held.
func (s *autoStream) observeTime(r Round, g *group) {
	k := float64(s.a.active)
	took := (r.Draft + r.Verify).Seconds()
	// Do not time a pass with the window's prompt, a round in which a stream opened a window,
	// or the first round of a length: other passes have evicted its weights from the
	// processor's caches.
	if !r.First && s.length == s.before && s.opens == s.a.opens {
		g.recordRound(s.length, took, s.a.active)
		if r.Drafted > 0 {
			g.draftStep.add(r.Draft.Seconds()/float64(r.Drafted), 4*epoch*k)
		}
	}
	s.before = s.length
	g.total += took / k
	if s.length == g.onTrial && g.onTrial != g.inUse { // not a round that began before the trial, or with other streams
		g.trialLoss += (took - float64(r.Kept)*g.price) / k
	}
}
