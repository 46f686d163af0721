package assistant

import (
	"math"
	"slices"
	"testing"

	"verity/decoder"
	"verity/precision"
)

// A doubter gives up drafts that the assistant holds for unlikely, as Auto does.
type doubter struct {
	Constant
	least float32 // log-probability
}

func (d doubter) More(_ int, lp float32) (keep, more bool) { return lp >= d.least, true }

// TestRejectionDoubt: what an assistant drew is judged, however unlikely it was to be
// drawn: if unlikely tokens were left out of drafts, they would come too seldom.
func TestRejectionDoubt(t *testing.T) {
	r := newRig(t, "odd", 1, precision.F32)
	self := &Model{Decoder: r.d, EOT: r.tok.EOT}
	l := self.Listen(r.audio)
	defer l.Close()
	o := r.options(1)
	begin := func(seed uint64) *decoder.Session {
		o.Sampling.Seed = seed
		s, err := r.d.NewSession(r.cross, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// What the target's odds say of the first place.
	s := begin(0)
	if _, err := s.Choose(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	odds := s.AppendOdds(nil, 0, 1)
	s.Close()
	least, want := 0.0, 0.0 // what is rarer than least has about half of the odds
	for _, p := range slices.Sorted(slices.Values(odds)) {
		if least = float64(p); want > 0.4 {
			break
		}
		want += float64(p)
	}
	if !(want < 0.9) {
		t.Fatalf("%.2f of the odds are of rare tokens: nothing is tested", want)
	}
	const n = 600
	got := 0.0
	for seed := range uint64(n) {
		s := begin(seed)
		p := l.Begin(o, doubter{1, float32(math.Log(0.99 * least))})
		g := Begin(Reject(s, p, o.Sampling), p, r.tok.EOT, 2)
		g.Pace(doubter{1, float32(math.Log(0.99 * least))})
		if err := g.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if float64(odds[g.Choices()[0].Token]) < least {
			got++
		}
		s.Close()
	}
	if five := 5 * math.Sqrt(want*(1-want)/n); !(math.Abs(got/n-want) <= five) {
		t.Errorf("rare tokens are %.3f of the first ones, want %.3f ± %.3f", got/n, want, five)
	}
}
