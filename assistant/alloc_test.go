package assistant

import (
	"testing"

	"verity/decoder/schedule"
	"verity/internal/testing/testmodel"
	"verity/precision"
)

// TestAssistedAllocates checks that rounds in which an int8 assistant drafts for a wider
// target, in a batch as in transcribing, allocate nothing in the steady state.
func TestAssistedAllocates(t *testing.T) {
	if testmodel.Race {
		t.Skip("needs a run without the race detector: it allocates, and empties pools at random")
	}
	r := newRig(t, "multi", 2, precision.F16)
	a := &Model{Decoder: r.light, EOT: -1}
	o := r.options(0)
	o.Runner = schedule.New(r.d).Join()
	s, err := r.d.NewSession(r.cross, o)
	if err != nil {
		t.Fatal(err)
	}
	l := a.Open(r.audio)
	l.Begin(o, Constant(3))
	g := newGeneration(s, l, Options{EOT: -1, Limit: 400, Policy: Constant(3)}) // no token ends it
	round := func() {
		if err := g.runRound(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 { // buffers are made, and the list of choices grows
		round()
	}
	if n := testing.AllocsPerRun(40, round); n >= 1 {
		t.Errorf("%v allocations a round, want none", n)
	}
	if s := g.Stats.Drafts; s.Drafted < 100 || g.done {
		t.Errorf("%+v: want rounds of drafts that go on", s)
	}
	l.Close()
	s.Close()
}
