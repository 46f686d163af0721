package assistant

import "math"

// An Auto policy drafts while one more token is expected to pay, and not at all
// where drafting cannot pay. It learns three things as the rounds go by:
//
//	d      seconds to draft a token
//	V(m)   seconds of a verify pass of m rows, as a line a + b·m
//	p(c)   how often a token of the assistant's confidence c is accepted
//
// and weighs them by the theory (see Plan): a draft of γ tokens yields
// E = (1-α^(γ+1))/(1-α) tokens in γ·d + V(γ+1) seconds.
//
// The zero value is ready. It may serve one sequence after another, and then
// starts with what it knows.
type Auto struct {
	Max int // longest draft; 0 means 16

	// Probing drafts a little in every window even where that does not pay, so
	// that a comparison has something to compare.
	Probing bool

	d, open   mean // seconds to draft one token; to begin drafting in a window
	verify    line
	perWindow mean // tokens
	all       accept
	byOdds    [len(oddsEdges) + 1]accept

	asked    []int // bins of the tokens of the draft under way
	reach    float64
	rate     float64 // tokens a second that one more token must beat
	kept     int     // tokens of this window
	opened   bool    // something was drafted in this window
	patience int     // rounds until the next probe
	waited   int
	owed     bool // the window has seen no draft yet, and is to see one
	decided  int  // present draft length
}

// oddsEdges divide confidence into bins, finer towards certainty.
var oddsEdges = [...]float64{0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995}

const (
	probe       = 2    // length of a draft that only looks whether drafting pays by now
	worth       = 1.02 // speed-up below which plain decoding is preferred
	longestWait = 256  // rounds between probes at most
)

func (a *Auto) most() int {
	if a.Max == 0 {
		return 16
	}
	return a.Max
}

// Length returns how long a draft may be.
func (a *Auto) Length() int {
	a.asked, a.reach = a.asked[:0], 1
	if !a.priced() { // one plain round, then short drafts, to learn the costs
		if a.verify.n == 0 {
			a.decided = 0
		} else {
			a.decided = probe
		}
		return a.decided
	}
	n, speedup := a.best()
	if speedup >= worth {
		a.patience, a.waited = 0, 0
		a.decided = n
		if a.confident() {
			a.decided = min(a.most(), 2*n+2) // More decides where to stop
		}
		return a.decided
	}
	return a.wait()
}

// priced reports whether both costs are known.
func (a *Auto) priced() bool { return a.verify.known() && a.d.n > 0 }

// wait drafts nothing but for a probe now and then, ever more rarely.
func (a *Auto) wait() int {
	if a.owed {
		a.owed = false
		a.decided = probe
		return a.decided
	}
	a.waited++
	if a.patience == 0 {
		a.patience = 32
	}
	a.decided = 0
	if a.waited > a.patience {
		a.patience, a.waited = min(2*a.patience, longestWait), 0
		a.decided = probe
	}
	return a.decided
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

// best returns the draft length of the highest expected speed, and that speed
// over plain decoding.
func (a *Auto) best() (n int, speedup float64) {
	plain := a.verify.at(1)
	alpha, opening := a.all.rate(0.7), 0.0
	if a.perWindow.n > 0 && !a.opened { // afterwards it is spent
		opening = a.open.v / max(1, a.perWindow.v)
	}
	for i := 1; i <= a.most(); i++ {
		e := Expected(alpha, i)
		perToken := (float64(i)*a.d.v+a.verify.at(float64(i+1)))/e + opening
		if s := plain / perToken; s > speedup {
			n, speedup = i, s
		}
	}
	a.rate = max(1, speedup) / plain
	return n, speedup
}

// More reports whether a token behind the n drafted is expected to pay: the
// chance that it is kept, at the speed reached so far, must be worth the time to
// draft it and to verify one row more.
func (a *Auto) More(n int, lp float32) bool {
	bin := 0
	for p := math.Exp(float64(lp)); bin < len(oddsEdges) && p >= oddsEdges[bin]; {
		bin++
	}
	a.asked = append(a.asked, bin)
	if !a.priced() {
		return n < probe
	}
	prior := 0.2
	if bin > 0 {
		prior = oddsEdges[bin-1]
	}
	a.reach *= a.byOdds[bin].rate(prior)
	gain := a.reach * a.all.rate(0.7)
	cost := a.d.v + a.verify.slope()
	return n < a.most() && gain > cost*a.rate
}

// Observe learns from a round.
func (a *Auto) Observe(r Round) {
	if r.First {
		a.perWindow.add(float64(max(1, a.kept)))
		a.kept, a.opened, a.owed = 0, false, a.Probing && r.Drafted == 0
	} else {
		a.verify.add(float64(r.Drafted+1), r.Verify.Seconds())
	}
	switch {
	case r.Drafted == 0:
	case a.opened:
		a.d.add(r.Draft.Seconds() / float64(r.Drafted))
	default: // encoding and cross-attention of the assistant are in it
		a.opened = true
		a.open.add(max(0, r.Draft.Seconds()-float64(r.Drafted)*a.d.v))
	}
	a.kept += r.Kept
	// Tokens behind the first refused one were not judged.
	for i := range min(r.Accepted+1, r.Drafted) {
		a.all.add(i < r.Accepted)
		if i < len(a.asked) {
			a.byOdds[a.asked[i]].add(i < r.Accepted)
		}
	}
}

// A mean forgets: each value weighs a sixteenth, or more while there are few. A
// value above four times the mean counts as that, since it was the machine that
// hiccuped.
type mean struct{ v, n float64 }

func (m *mean) add(x float64) {
	if m.n > 4 {
		x = min(x, 4*m.v)
	}
	m.n = min(m.n+1, 16)
	m.v += (x - m.v) / m.n
}

// An accept is a share of accepted tokens that forgets.
type accept struct{ yes, n float64 }

func (a *accept) add(yes bool) {
	const memory = 0.99
	a.yes *= memory
	a.n = a.n*memory + 1
	if yes {
		a.yes++
	}
}

// rate starts at a prior that weighs as much as four tokens.
func (a *accept) rate(prior float64) float64 { return (a.yes + 4*prior) / (a.n + 4) }

// A line is a forgetting least-squares fit of y = a + b·x.
type line struct{ n, x, y, xx, xy float64 }

func (l *line) add(x, y float64) {
	const memory = 0.98
	if l.known() {
		y = min(y, 4*l.at(x))
	}
	for _, s := range []*float64{&l.n, &l.x, &l.y, &l.xx, &l.xy} {
		*s *= memory
	}
	l.n, l.x, l.y, l.xx, l.xy = l.n+1, l.x+x, l.y+y, l.xx+x*x, l.xy+x*y
}

// known reports whether passes of two lengths have been seen.
func (l *line) known() bool { return l.n*l.xx-l.x*l.x > 1e-6*l.n*l.n }

// slope is never negative: more rows are not less work.
func (l *line) slope() float64 {
	if !l.known() {
		return 0
	}
	return max(0, (l.n*l.xy-l.x*l.y)/(l.n*l.xx-l.x*l.x))
}

func (l *line) at(x float64) float64 {
	b := l.slope()
	return max(1e-9, (l.y-b*l.x)/l.n+b*x)
}
