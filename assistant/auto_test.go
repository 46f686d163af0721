package assistant

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A band is a simulation of streams that decode together: the costs of passes are given,
// acceptance is random, and time is simulated.
type band struct {
	alpha  float64
	verify func(rows, streams int) float64 // s
	draft  func(streams int) float64       // s
	prompt float64                         // s; more for a pass, for each new window
	open   float64                         // s; for a window, once
	window int                             // tokens; 0 means 100
	probs  func(rng *rand.Rand) float64    // chance of a token, which the policy sees; nil: alpha, unseen

	rng     *rand.Rand
	streams []*player
	clock   float64

	tokens, rows, drafted, opened, rounds, plain int
}

// A player is one stream of a band.
type player struct {
	policy Policy
	kept   int // of its window
	first  bool
	opened bool
	draft  []float64 // chance of each token
	limit  int
	took   float64 // time to draft
	open   float64 // of it, to open the window
}

func (b band) with(streams int, policy func() Policy) *band {
	b.rng = rand.New(rand.NewPCG(1, 4))
	if b.window == 0 {
		b.window = 100
	}
	for i := range streams {
		p := &player{policy: policy(), kept: i * b.window / streams, first: true}
		b.streams = append(b.streams, p)
	}
	return &b
}

// pass advances the clock by s, with some noise.
func (b *band) pass(s float64) {
	s *= 0.9 + 0.2*b.rng.Float64()
	if b.rng.IntN(200) == 0 {
		s *= 5
	}
	b.clock += s
}

// drafts lets every stream draft, in shared steps.
func (b *band) drafts() {
	var active []*player
	began := b.clock
	for _, p := range b.streams {
		p.draft, p.limit, p.open = p.draft[:0], p.policy.Length(), 0
		if p.limit == 0 {
			continue
		}
		active = append(active, p)
		if !p.opened {
			p.opened = true
			b.opened++
			b.clock += b.open
			p.open = b.open + 1e-6 // of a model it is never 0
		}
	}
	for n := 1; len(active) > 0; n++ {
		b.drafted += len(active)
		b.pass(b.draft(len(active)))
		var next []*player
		for _, p := range active {
			chance, more := b.alpha, true
			if b.probs != nil {
				chance = b.probs(b.rng)
				more = p.policy.More(n, float32(math.Log(chance)))
			}
			p.draft = append(p.draft, chance)
			if more && n < p.limit {
				next = append(next, p)
			}
		}
		active = next
	}
	for _, p := range b.streams {
		p.took = b.clock - began // the others wait
	}
}

// round drafts, verifies and commits once for every stream.
func (b *band) round() {
	b.rounds++
	b.drafts()
	rows, took := 0, 0.0
	for _, p := range b.streams {
		rows += 1 + len(p.draft)
		if p.first {
			took += b.prompt
		}
	}
	b.rows += rows
	if rows == len(b.streams) {
		b.plain++
	}
	began := b.clock
	b.pass(took + b.verify(rows, len(b.streams)))
	for _, p := range b.streams {
		r := Round{First: p.first, Drafted: len(p.draft), Draft: seconds(p.took), Verify: seconds(b.clock - began),
			Opening: seconds(p.open)}
		for r.Accepted < r.Drafted && b.rng.Float64() < p.draft[r.Accepted] {
			r.Accepted++
		}
		r.Kept = min(r.Accepted+1, b.window-p.kept)
		r.Accepted = min(r.Accepted, r.Kept)
		p.first = false
		p.policy.Observe(r)
		p.kept += r.Kept
		b.tokens += r.Kept
		if p.kept >= b.window {
			p.kept, p.first, p.opened = 0, true, false
		}
	}
}

// play runs until that many tokens are kept, and returns tokens per second.
func (b *band) play(tokens int) float64 {
	b.tokens, b.clock, b.rows, b.drafted, b.opened, b.rounds, b.plain = 0, 0, 0, 0, 0, 0, 0
	for b.tokens < tokens {
		b.round()
	}
	return float64(b.tokens) / b.clock
}

// constants returns the tokens per second of the best constant draft length and of plain
// decoding, in the same simulation.
func (b band) constants(streams int) (best, plain float64) {
	for n := range 17 {
		got := b.with(streams, func() Policy { return Constant(n) }).play(2000 * streams)
		if n == 0 {
			plain = got
		}
		best = max(best, got)
	}
	return best, plain
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

// large is about large-v2 in f16: it reads 1.6 GB, and 0.25 for each stream; from six
// rows on arithmetic takes longer.
func large(rows, streams int) float64 {
	return (max(50, 8*float64(rows)) + 6*float64(streams)) / 1000
}

func distilled(streams int) float64 { return (4 + 0.5*float64(streams)) / 1000 }

// line is the time of a model whose rows cost little.
func line(rows, _ int) float64 { return 0.010 + 0.0004*float64(rows-1) }

func flat(s float64) func(int) float64 { return func(int) float64 { return s } }

func byRows(rows, _ int) float64 { return 0.01 * float64(rows) }

// TestAuto lets the policy learn from simulated rounds. It must come close to the best
// constant length where drafting pays, and cost almost nothing where it does not, at any
// number of streams and whatever the first guess was.
func TestAuto(t *testing.T) {
	tests := []struct {
		name    string
		streams int
		cost    float64
		band    band
		first   float64 // share of the best constant length's speed in the first window
		least   float64 // and later
		why     string
	}{
		{"good", 1, 0.05, band{alpha: 0.9, verify: line, draft: flat(0.0005)}, 0.8, 0.95, "long drafts pay"},
		{"fair", 1, 0.1, band{alpha: 0.6, verify: line, draft: flat(0.001)}, 0.8, 0.95, "short drafts pay"},
		{"its own copy in int8", 1, 0.5, band{alpha: 0.96, verify: line, draft: flat(0.005), window: 35, open: 0.01}, 0.8, 0.95, "drafts are dear and nearly always right"},
		{"dear", 1, 0.9, band{alpha: 0.8, verify: line, draft: flat(0.009)}, 0.9, 0.97, "drafting costs as much as decoding"},
		{"hostile", 1, 0.3, band{verify: line, draft: flat(0.003)}, 0.85, 0.97, "nothing is ever accepted"},
		{"hostile and slow to begin", 1, 0.3, band{verify: line, draft: flat(0.003), open: 0.2}, 0.7, 0.97, "it has an encoder of its own"},
		{"guessed too cheap", 1, 0.05, band{alpha: 0.8, verify: line, draft: flat(0.009)}, 0.7, 0.97, "drafting costs as much as decoding"},
		{"guessed too dear", 1, 0.9, band{alpha: 0.8, verify: line, draft: flat(0.0005)}, 0, 0.95, "drafting costs next to nothing"},
		{"ngram", 1, 0, band{alpha: 0.1, verify: byRows, draft: flat(0)}, 0.5, 0.97, "drafts are free, and verifying them is not"},
		{"large, alone", 1, 0.08, band{alpha: 0.8, verify: large, draft: distilled}, 0.85, 0.95, "rows are cheap up to six"},
		{"large, 4", 4, 0.08, band{alpha: 0.8, verify: large, draft: distilled, prompt: 0.1}, 0.7, 0.95, "rows cost arithmetic"},
		{"large, 16", 16, 0.08, band{alpha: 0.8, verify: large, draft: distilled}, 0.8, 0.95, "every row costs arithmetic, the streams' keys and values are read once"},
		{"rows alone cost, 8", 8, 0.1, band{alpha: 0.6, verify: byRows, draft: distilled}, 0.7, 0.97, "a refused row is lost"},
		{"hostile, 8", 8, 0.1, band{verify: large, draft: distilled, open: 0.05}, 0.7, 0.97, "nothing is ever accepted"},
		{"short windows, 1", 1, 0.3, band{alpha: 0.9, window: 4, open: 0.02, verify: line, draft: flat(0.003)}, 0.4, 0.97, "opening a window costs more than it brings"},
		{"short windows, 8", 8, 0.3, band{alpha: 0.9, window: 4, open: 0.02, verify: line, draft: flat(0.003)}, 0, 0.97, "opening a window costs more than it brings"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			best, plain := tt.band.constants(tt.streams)
			a := &Auto{Cost: tt.cost, Streams: func() int { return tt.streams }}
			b := tt.band.with(tt.streams, a.Policy)
			early := b.play(100 * tt.streams)
			b.play(1000 * tt.streams)
			got := b.play(4000 * tt.streams)
			if !(got >= tt.least*best) || !(early >= tt.first*best) {
				t.Errorf("%.3f of the best constant length, at first %.3f, want %v and %v: %s", got/best, early/best, tt.least, tt.first, tt.why)
			}
			t.Logf("%.3f of the best, %.3f of plain; at first %.3f of the best; %d rounds, %d windows opened", got/best, got/plain, early/best, b.rounds, b.opened)
		})
	}
}

// TestAutoGivesUp counts what streams do once drafting is known not to pay: almost no
// rows, steps and opened windows beyond those of plain decoding, but not none.
func TestAutoGivesUp(t *testing.T) {
	for _, streams := range []int{1, 2, 8, 16} {
		for _, alpha := range []float64{0, 0.2} {
			a := &Auto{Cost: 0.5, Streams: func() int { return streams }}
			b := band{alpha: alpha, verify: byRows, draft: func(k int) float64 { return 0.005 * float64(k) }, open: 0.05}.with(streams, a.Policy)
			b.play(500 * streams)
			b.play(20000 * streams)
			if over := float64(b.rows-b.tokens) / float64(b.tokens); !(over < 0.03) {
				t.Errorf("%d streams, α=%v: %.1f %% more rows than plain decoding", streams, alpha, 100*over)
			}
			if windows := float64(b.tokens) / 100; !(float64(b.opened) < 0.25*windows) {
				t.Errorf("%d streams, α=%v: %d of %.0f windows opened", streams, alpha, b.opened, windows)
			}
			if b.drafted == 0 {
				t.Errorf("%d streams, α=%v: it was never tried again", streams, alpha)
			}
		}
	}
}

// TestAutoConfidence checks that a draft stops after a token that the assistant is not
// sure about.
func TestAutoConfidence(t *testing.T) {
	mixed := func(rng *rand.Rand) float64 {
		if rng.IntN(4) > 0 {
			return 0.97
		}
		return 0.1
	}
	b := band{verify: func(m, k int) float64 { return 0.1 + byRows(m, k) }, draft: flat(0.03), probs: mixed}
	best, plain := b.constants(8) // these never stop early
	a := &Auto{Cost: 0.1, Streams: func() int { return 8 }}
	p := b.with(8, a.Policy)
	p.play(8000)
	got := p.play(16000)
	t.Logf("%.3f of the best, %.3f of plain, %.2f rows a token", got/best, got/plain, float64(p.rows)/float64(p.tokens))
	if judged := float64(p.rows) / float64(p.tokens); !(got >= 0.98*best) || !(judged < 1.25) {
		t.Errorf("%.3f of the best length that is constant at %.2f rows a token, want 0.98 at less than 1.25", got/best, judged)
	}
}

// TestAutoDrift changes the speed of the whole machine while all streams draft, which must not
// change the length. Then text becomes hard, and easy again.
func TestAutoDrift(t *testing.T) {
	for _, factor := range []float64{0.5, 2} {
		slow := 1.0
		script := band{alpha: 0.8,
			verify: func(m, k int) float64 { return slow * large(m, k) }, draft: func(k int) float64 { return slow * distilled(k) }}
		a := &Auto{Cost: 0.08, Streams: func() int { return 8 }}
		b := script.with(8, a.Policy)
		b.play(16000)
		slow = factor
		best, plain := script.constants(8)
		got := b.play(4000)
		t.Logf("%v times as slow: %.3f of the best, %.3f of plain", factor, got/best, got/plain)
		if !(got >= 0.9*best && got >= 0.98*plain) {
			t.Errorf("%v times as slow: %.3f of the best", factor, got/best)
		}
		b.alpha = 0.3
		b.play(2000)
		if got = b.play(8000); !(got >= 0.97*plain) {
			t.Errorf("%v times as slow, and hard text: %.3f of plain decoding's speed", factor, got/plain)
		}
		b.alpha = 0.9
		b.play(16000)
		script.alpha = 0.9
		best, _ = script.constants(8)
		if got = b.play(8000); !(got >= 0.9*best) {
			t.Errorf("%v times as slow, and easy text again: %.3f of the best", factor, got/best)
		}
	}
}

// TestForceDraft checks that a forced draft is made, whatever it costs.
func TestForceDraft(t *testing.T) {
	a := &Auto{Cost: 100, Streams: func() int { return 1 }}
	b := band{verify: large, draft: distilled, open: 1e6}.with(1, a.Policy)
	b.play(200)
	if b.drafted != 0 {
		t.Fatalf("%d rows drafted, want none", b.drafted)
	}
	a.ForceDraft()
	b.play(8)
	if b.drafted != lengths[1] {
		t.Errorf("%d rows drafted, want %d", b.drafted, lengths[1])
	}
}

// TestAutoStreamsChange checks that a round that began with the number of streams of another
// group is not counted as a trial of this one.
func TestAutoStreamsChange(t *testing.T) {
	streams := 1
	a := &Auto{Cost: 0.05, Streams: func() int { return streams }}
	p := a.Policy()
	drafts := p.Length()
	streams = 64 // for which nothing is drafted
	if p.Observe(Round{Drafted: drafts, Kept: 1, Verify: time.Second}); a.group().inUse == a.groups[0].inUse {
		t.Fatalf("both numbers of streams draft %d tokens", drafts)
	}
	if lost := a.group().trialLoss; lost != 0 {
		t.Errorf("%v s lost by trials, and there was none", lost)
	}
}
