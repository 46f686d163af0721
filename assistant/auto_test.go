package assistant

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"verity/decoder"
)

// A band is streams that decode together by a clock of its own: what passes cost
// is scripted, what is accepted is drawn by lot, and time goes by as it would.
type band struct {
	alpha  float64
	verify func(rows, streams int) float64 // s
	draft  func(streams int) float64       // s
	open   float64                         // s; for a window, once
	window int                             // tokens; 0 means 100
	odds   func(rng *rand.Rand, i int) (chance float64)

	auto    *Auto
	streams []*player
	clock   float64
	last    decoder.Pass
	since   float64
	steady  bool

	tokens, rows, drafted, opened, rounds, plain int // rows and drafted of the target's and the assistant's passes
}

// A player is one stream.
type player struct {
	policy  Policy
	rng     *rand.Rand
	kept    int // of its window
	first   bool
	opened  bool
	draft   []float64 // chance of each token
	limit   int
	drafted bool
}

func newBand(auto *Auto, streams int, b band) *band {
	b.auto = auto
	if b.window == 0 {
		b.window = 100
	}
	for i := range streams {
		b.streams = append(b.streams, &player{policy: auto.Policy(), rng: rand.New(rand.NewPCG(uint64(i), 4)), kept: i * b.window / streams})
	}
	auto.Members(streams)
	for _, p := range b.streams {
		p.policy.Begin()
		p.first = true
	}
	return &b
}

// pass lets a pass begin, after the last one's time has been told.
func (b *band) pass(p decoder.Pass, took float64) {
	if b.steady {
		b.auto.Took(b.last, time.Duration((b.clock-b.since)*1e9))
	}
	b.auto.Began(p)
	b.last, b.since, b.steady = p, b.clock, true
	noise := 1.0
	if len(b.streams) > 0 {
		noise = 0.9 + 0.2*b.streams[0].rng.Float64() // machines are not clocks
	}
	b.clock += noise * took
}

// round drafts, verifies and commits once for every stream.
func (b *band) round() {
	b.rounds++
	var active []*player
	for _, p := range b.streams {
		p.draft, p.limit = p.draft[:0], p.policy.Length()
		if p.limit > 0 {
			active = append(active, p)
			if !p.opened {
				p.opened, b.steady = true, false
				b.opened++
				b.clock += b.open
				p.policy.(interface{ Opened(time.Duration) }).Opened(time.Duration(b.open * 1e9))
			}
		}
	}
	for n := 1; len(active) > 0; n++ {
		b.drafted += len(active)
		b.pass(decoder.Pass{Draft: true, Streams: len(active), Rows: len(active)}, b.draft(len(active)))
		var next []*player
		for _, p := range active {
			chance := b.alpha
			keep, more := true, true
			if b.odds != nil {
				chance = b.odds(p.rng, n)
				keep, more = p.policy.More(n, float32(math.Log(chance)))
			}
			if keep {
				p.draft = append(p.draft, chance)
			}
			if keep && more && n < p.limit {
				next = append(next, p)
			}
		}
		active = next
	}
	rows := 0
	for _, p := range b.streams {
		rows += 1 + len(p.draft)
	}
	b.rows += rows
	if rows == len(b.streams) {
		b.plain++
	}
	b.pass(decoder.Pass{Streams: len(b.streams), Rows: rows}, b.verify(rows, len(b.streams)))
	for _, p := range b.streams {
		r := Round{First: p.first, Drafted: len(p.draft)}
		for r.Accepted < r.Drafted && p.rng.Float64() < p.draft[r.Accepted] {
			r.Accepted++
		}
		r.Kept = min(r.Accepted+1, b.window-p.kept)
		r.Accepted = min(r.Accepted, r.Kept)
		p.first = false
		p.policy.Observe(r)
		p.kept += r.Kept
		b.tokens += r.Kept
		if p.kept >= b.window {
			p.kept, p.first, p.opened, b.steady = 0, true, false, false
			p.policy.Begin()
		}
	}
}

// play runs until so many tokens are there, and returns tokens a second.
func (b *band) play(tokens int) float64 {
	b.tokens, b.clock, b.rows, b.drafted, b.opened, b.rounds, b.plain = 0, 0, 0, 0, 0, 0, 0
	b.steady = false
	for b.tokens < tokens {
		b.round()
	}
	return float64(b.tokens) / b.clock
}

// best is the most tokens a second that a constant draft length gets, and what
// plain decoding does.
func (b *band) best(streams int) (best, plain float64) {
	plain = float64(streams) / b.verify(streams, streams)
	best = plain
	for n := 1; n <= 16; n++ {
		took := float64(n)*b.draft(streams) + b.verify(streams*(n+1), streams)
		e, w := Expected(b.alpha, n), float64(b.window)
		e = w / (w/e + (1-1/e)/2) // half of the last draft is behind the window's end
		best = max(best, float64(streams)*e/took)
	}
	return best, plain
}

// large is about large-v2 in f16: reading 1.6 GB and 0.25 for each stream, then
// arithmetic from six rows on; in ms, as if they were s.
func large(rows, streams int) float64 {
	return (max(50, 8*float64(rows)) + 6*float64(streams)) / 1000
}

func distilled(streams int) float64 { return (4 + 0.5*float64(streams)) / 1000 }

// TestAuto lets the policy learn from simulated rounds. It must come close to
// the best constant length where drafting pays, and cost next to nothing where
// the assistant is hostile, at any number of streams.
func TestAuto(t *testing.T) {
	line := func(rows, _ int) float64 { return 0.010 + 0.0004*float64(rows-1) }
	flat := func(s float64) func(int) float64 { return func(int) float64 { return s } }
	tests := []struct {
		name    string
		streams int
		band    band
		least   float64 // share of the best constant length's speed, plain decoding included
		why     string
	}{
		{"good", 1, band{alpha: 0.9, verify: line, draft: flat(0.0005)}, 0.95, "long drafts pay"},
		{"fair", 1, band{alpha: 0.6, verify: line, draft: flat(0.001)}, 0.93, "short drafts pay"},
		{"dear", 1, band{alpha: 0.8, verify: line, draft: flat(0.009)}, 0.97, "drafting costs as much as decoding"},
		{"hostile", 1, band{verify: line, draft: flat(0.003)}, 0.97, "nothing is ever accepted"},
		{"hostile and slow to begin", 1, band{verify: line, draft: flat(0.003), open: 0.2}, 0.97, "it has an encoder of its own"},
		{"large, alone", 1, band{alpha: 0.8, verify: large, draft: distilled}, 0.95, "rows are cheap up to six"},
		{"large, 4", 4, band{alpha: 0.8, verify: large, draft: distilled}, 0.95, "rows cost arithmetic"},
		{"large, 16", 16, band{alpha: 0.8, verify: large, draft: distilled}, 0.95, "every row costs arithmetic, the streams' keys and values are read once"},
		{"rows alone cost, 8", 8, band{alpha: 0.6, verify: func(m, _ int) float64 { return 0.01 * float64(m) }, draft: distilled}, 0.97, "a refused row is lost"},
		{"hostile, 8", 8, band{verify: large, draft: distilled, open: 0.05}, 0.97, "nothing is ever accepted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBand(new(Auto), tt.streams, tt.band)
			best, plain := b.best(tt.streams)
			b.play(1000 * tt.streams) // to learn
			got := b.play(4000 * tt.streams)
			if !(got >= tt.least*best) {
				t.Errorf("%.1f tokens a second, the best constant length %.1f, plain %.1f: %s", got, best, plain, tt.why)
			}
			t.Logf("%.3f of the best, %.3f of plain; %d rounds, %d windows opened", got/best, got/plain, b.rounds, b.opened)
		})
	}
}

// TestAutoConfidence: where rows cost as much as what is read, tokens of which the
// assistant is not sure are not verified, and that pays.
func TestAutoConfidence(t *testing.T) {
	rows := func(m, _ int) float64 { return 0.01 * float64(m) }
	mixed := func(rng *rand.Rand, _ int) float64 {
		if rng.IntN(2) == 0 {
			return 0.97
		}
		return 0.35
	}
	b := newBand(new(Auto), 8, band{verify: func(m, k int) float64 { return 0.1 + rows(m, k) }, draft: distilled, odds: mixed})
	b.play(8000)
	got := b.play(16000)
	plain := 8 / b.verify(8, 8)
	judged := float64(b.rows) / float64(b.tokens)
	t.Logf("%.3f of plain, %.2f rows a token", got/plain, judged)
	// Sure tokens alone make a draft of mean length 1, in steps until the last stream
	// has met an unsure one: 1.25.
	if !(got >= 1.18*plain) || !(judged < 1.2) {
		t.Errorf("%.3f of plain decoding's speed at %.2f rows a token, want 1.18 at less than 1.2", got/plain, judged)
	}
}

// TestAutoGivesUp counts what a batch does once it knows that drafting cannot pay:
// next to no rows, steps and windows opened beyond those of plain decoding.
func TestAutoGivesUp(t *testing.T) {
	for _, streams := range []int{1, 2, 8, 16} {
		for _, alpha := range []float64{0, 0.2} {
			b := newBand(new(Auto), streams, band{alpha: alpha, verify: func(m, k int) float64 { return 0.01 * float64(m) }, draft: func(k int) float64 { return 0.005 * float64(k) }, open: 0.05})
			b.play(500 * streams)
			b.play(20000 * streams)
			plain := b.tokens
			if over := float64(b.rows-plain) / float64(plain); !(over < 0.03) {
				t.Errorf("%d streams, α=%v: %.1f %% more rows than plain decoding", streams, alpha, 100*over)
			}
			if over := float64(b.drafted) / float64(plain); !(over < 0.03) {
				t.Errorf("%d streams, α=%v: %d rows drafted in %d rounds of all streams", streams, alpha, b.drafted, b.rounds)
			}
			if windows := float64(plain) / 100; !(float64(b.opened) < 0.25*windows) {
				t.Errorf("%d streams, α=%v: %d of %.0f windows opened", streams, alpha, b.opened, windows)
			}
			if b.drafted == 0 {
				t.Errorf("%d streams, α=%v: it was never tried again", streams, alpha)
			}
		}
	}
}

// assume begins like Assume, with models that read so many bytes in any case and for
// each stream.
func assume(target, assistant [2]float64) *Auto {
	a := &Auto{pace: pace{late: true}}
	a.verify.assume(target[0], target[1])
	a.draft.assume(assistant[0], assistant[1])
	return a
}

// TestAutoFirstWindow: what follows from the bytes of both models is enough to begin
// with, whatever a byte costs on this machine. The first window gains, or loses little.
func TestAutoFirstWindow(t *testing.T) {
	target, small := [2]float64{1.6e9, 0.25e9}, [2]float64{0.16e9, 0.016e9}
	for _, tt := range []struct {
		name    string
		streams int
		band    band
		slower  float64 // than assumed
		least   float64 // of plain decoding's speed
	}{
		{"large", 1, band{alpha: 0.8, verify: large, draft: distilled}, 1, 1.9},
		{"large, a slow machine", 1, band{alpha: 0.8, verify: large, draft: distilled, open: 0.1}, 10, 1.9},
		{"large, 8", 8, band{alpha: 0.8, verify: large, draft: distilled}, 1, 1.02},
		{"hostile", 1, band{verify: large, draft: distilled}, 1, 0.93},
		{"hostile, 8", 8, band{verify: large, draft: distilled}, 1, 0.93},
		{"dear drafts", 1, band{alpha: 0.8, verify: large, draft: func(int) float64 { return 0.056 }}, 1, 0.93},
	} {
		mean := 0.0
		const runs = 20
		for i := range runs {
			b := tt.band
			b.verify = func(m, k int) float64 { return tt.slower * tt.band.verify(m, k) }
			b.draft = func(k int) float64 { return tt.slower * tt.band.draft(k) }
			b.open *= tt.slower
			x := newBand(assume(target, small), tt.streams, b)
			for j, p := range x.streams {
				p.kept, p.rng = 0, rand.New(rand.NewPCG(uint64(i), uint64(j)))
			}
			plain := float64(tt.streams) / b.verify(tt.streams, tt.streams)
			mean += x.play(100*tt.streams) / plain / runs
		}
		t.Logf("%s: %.3f of plain", tt.name, mean)
		if !(mean >= tt.least) {
			t.Errorf("%s: %.3f of plain decoding's speed in the first window, want %.2f", tt.name, mean, tt.least)
		}
	}
}

// TestAutoShortWindows: where windows are a few words long, opening them and drafting
// beyond their end may cost what the theory of endless text would gain.
func TestAutoShortWindows(t *testing.T) {
	for _, streams := range []int{1, 4, 8} {
		b := newBand(new(Auto), streams, band{alpha: 0.9, window: 4, open: 0.020,
			verify: func(m, _ int) float64 { return 0.010 + 0.0004*float64(m-1) }, draft: func(int) float64 { return 0.003 }})
		b.play(1000 * streams)
		got, plain := b.play(4000*streams), float64(streams)/b.verify(streams, streams)
		t.Logf("%d streams: %.3f of plain", streams, got/plain)
		if !(got >= 0.98*plain) {
			t.Errorf("%d streams: %.3f of plain decoding's speed", streams, got/plain)
		}
	}
}

// TestAutoYield: drafting is held to what comes of it. Rounds that yield half of what
// was expected halve what is expected next, and plain ones let it be tried again.
func TestAutoYield(t *testing.T) {
	a := practised()
	a.Policy().Length()
	for range 40 {
		a.turn = turn{pass: decoder.Pass{Rows: 5, Streams: 1}, spent: 0.004, took: 0.016, expected: 2, drafted: 4, kept: 2}
		a.settle()
	}
	if got := a.trust(); !(got > 0.5 && got < 0.7) { // 11 ms expected of 20, and some belief
		t.Errorf("trust of %.2f in what half came of", got)
	}
	for range 1000 {
		a.turn = turn{pass: decoder.Pass{Rows: 1, Streams: 1}, took: 0.011, kept: 1}
		a.settle()
	}
	if got := a.trust(); !(got > 0.95) {
		t.Errorf("trust of %.2f after a thousand plain rounds", got)
	}
}

// TestAutoRests: while drafting pays, plain passes show now and then what they take.
func TestAutoRests(t *testing.T) {
	for _, streams := range []int{1, 4} {
		b := newBand(new(Auto), streams, band{alpha: 0.8, verify: large, draft: distilled})
		b.play(1000 * streams)
		b.play(8000 * streams)
		if share := float64(b.plain) / float64(b.rounds); !(share > 0.002 && share < 0.1) {
			t.Errorf("%d streams: %d of %d rounds are plain", streams, b.plain, b.rounds)
		}
	}
}

// TestAutoDrift: while all draft nobody sees what plain decoding takes. If the machine
// gets slower or faster meanwhile, that must not be taken for a loss or a gain.
func TestAutoDrift(t *testing.T) {
	for _, factor := range []float64{0.5, 2} {
		slow := 1.0
		b := newBand(new(Auto), 8, band{alpha: 0.8,
			verify: func(m, k int) float64 { return slow * large(m, k) }, draft: func(k int) float64 { return slow * distilled(k) }})
		b.play(16000)
		slow = factor
		got := b.play(4000)
		best, plain := b.best(8)
		t.Logf("%v times as slow: %.3f of the best, %.3f of plain", factor, got/best, got/plain)
		if !(got >= 0.9*best && got >= 0.98*plain) {
			t.Errorf("%v times as slow: %.3f of the best", factor, got/best)
		}
		b.alpha = 0.4
		b.play(2000)
		if got = b.play(8000); !(got >= 0.97*plain) {
			t.Errorf("%v times as slow, and text that is hard to foresee: %.3f of plain decoding's speed", factor, got/plain)
		}
	}
}

// TestAutoComesBack: when text becomes easy, tries find out.
func TestAutoComesBack(t *testing.T) {
	b := newBand(new(Auto), 4, band{verify: large, draft: distilled})
	b.play(8000)
	b.alpha = 0.9
	b.play(16000)
	best, _ := b.best(4)
	if got := b.play(8000); !(got >= 0.9*best) {
		t.Errorf("%.1f tokens a second, the best constant length %.1f", got, best)
	}
}

// TestAutoTry: what is owed is drafted, whatever it costs.
func TestAutoTry(t *testing.T) {
	a := new(Auto)
	b := newBand(a, 1, band{verify: large, draft: distilled, open: 1e6})
	b.play(200)
	a.Try()
	b.play(8)
	if b.drafted != probe {
		t.Errorf("%d rows drafted, want %d", b.drafted, probe)
	}
}

// TestAutoPlan scripts what is known and checks the decision.
func TestAutoPlan(t *testing.T) {
	tests := []struct {
		name    string
		streams int
		alpha   float64
		verify  func(rows, streams int) float64
		draft   func(streams int) float64
		want    func(n int) bool
	}{
		{"free rows, free drafts", 1, 0.9, func(int, int) float64 { return 1 }, func(int) float64 { return 0 }, func(n int) bool { return n == 16 }},
		{"drafts as dear as decoding", 1, 0.9, func(int, int) float64 { return 1 }, func(int) float64 { return 1 }, func(n int) bool { return n == 0 }},
		{"rows as dear as passes", 4, 0.7, func(m, _ int) float64 { return float64(m) }, func(int) float64 { return 0.1 }, func(n int) bool { return n == 0 }},
		{"the same, but streams cost too", 4, 0.7, func(m, k int) float64 { return float64(m + 4*k) }, func(int) float64 { return 0.1 }, func(n int) bool { return n >= 3 }},
		{"draft steps cost by stream", 8, 0.7, func(int, int) float64 { return 1 }, func(k int) float64 { return 0.2 * float64(k) }, func(n int) bool { return n == 0 }},
	}
	for _, tt := range tests {
		a := new(Auto)
		a.Members(tt.streams)
		for range 20 {
			for n := 0; n <= 16; n += 2 {
				a.Took(decoder.Pass{Rows: tt.streams * (n + 1), Streams: tt.streams}, seconds(tt.verify(tt.streams*(n+1), tt.streams)))
			}
			a.Took(decoder.Pass{Draft: true, Rows: tt.streams, Streams: tt.streams}, seconds(tt.draft(tt.streams)))
			for range 100 {
				a.all.add(float64(a.all.yes) < tt.alpha*a.all.n)
			}
		}
		for range tt.streams {
			p := a.Policy()
			p.Begin()
			if n := p.Length(); !tt.want(n) {
				t.Errorf("%s: drafts of %d", tt.name, n)
			}
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

// TestCost: what was seen is told again, and between and behind it a curve that
// rises and bends.
func TestCost(t *testing.T) {
	var c cost
	rng := rand.New(rand.NewPCG(6, 6))
	for range 400 {
		k := 1 + rng.IntN(16)
		m := k * (1 + rng.IntN(6))
		c.add(m, k, large(m, k)*(0.95+0.1*rng.Float64()))
	}
	for k := 1; k <= 16; k++ {
		for m := k; m <= 6*k; m++ {
			if got, want := c.at(float64(m), k), large(m, k); !(math.Abs(got/want-1) < 0.15) {
				t.Errorf("%d rows of %d streams: %.3f s, want %.3f", m, k, got, want)
			}
		}
	}
	if got := c.slope(3); !(got < 0.004) {
		t.Errorf("a row more at 3: %v s, want next to nothing", got)
	}
	if got := c.slope(40); !(math.Abs(got/0.008-1) < 0.25) {
		t.Errorf("a row more at 40: %v s, want 0.008", got)
	}
	// Many kinds of passes do not take ever more memory.
	for m := range 5000 {
		c.add(1+m, 1+m%40, 0.1)
	}
	if n := len(c.cells); n > maxCells {
		t.Errorf("%d cells", n)
	}
}
