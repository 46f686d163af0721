package assistant

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// practised returns a policy that has seen rounds of a known machine: 1 ms to draft
// a token, 10 ms and 1 ms a row to verify.
func practised() *Auto {
	a := new(Auto)
	for i := range 40 {
		n := i % 4
		a.Observe(Round{First: i == 0, Drafted: n, Accepted: n, Kept: n + 1,
			Draft: time.Duration(n) * time.Millisecond, Verify: time.Duration(11+n) * time.Millisecond})
	}
	return a
}

// TestCosts: what one policy learnt is there for the next, through JSON, and is
// believed less than what that one sees.
func TestCosts(t *testing.T) {
	costs, enough := practised().Costs()
	raw, err := json.Marshal(costs)
	if err != nil || !enough {
		t.Fatal(err, enough)
	}
	var back Costs
	if err := json.Unmarshal(raw, &back); err != nil || back != costs {
		t.Fatalf("%v, %+v, want %+v", err, back, costs)
	}
	next := new(Auto)
	if next.Length() != 0 {
		t.Fatal("a policy without knowledge drafts in its first round")
	}
	if next = new(Auto); !next.Recall(back) {
		t.Fatalf("%s is not believed", raw)
	}
	if n := next.Length(); n == 0 {
		t.Error("with costs at which drafting pays the first round drafts nothing")
	}
	for rows := 1.0; rows < 9; rows++ {
		if got, want := next.verify.at(rows), (10+rows)/1000; !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("a pass of %v rows: %v s, want %v", rows, got, want)
		}
	}
	// A machine ten times as slow today is believed within a dozen rounds.
	for i := range 12 {
		n := i % 4
		next.Observe(Round{Drafted: n, Kept: 1, Draft: time.Duration(10*n) * time.Millisecond, Verify: time.Duration(110+10*n) * time.Millisecond})
	}
	if got := next.verify.at(1); !(got > 0.06) {
		t.Errorf("a pass of one row: %v s after a dozen rounds of 0.11 s", got)
	}
}

func TestCostsRefused(t *testing.T) {
	good, _ := practised().Costs()
	for name, spoil := range map[string]func(c *Costs){
		"nothing":                 func(c *Costs) { *c = Costs{} },
		"NaN":                     func(c *Costs) { c.Draft.Value = math.NaN() },
		"infinite":                func(c *Costs) { c.Verify[4] = math.Inf(1) },
		"negative":                func(c *Costs) { c.Open.Value = -1 },
		"one length of pass only": func(c *Costs) { c.Verify = [5]float64{4, 4, 0.04, 4, 0.04} },
		"no draft":                func(c *Costs) { c.Draft.Weight = 0 },
	} {
		c, a := good, new(Auto)
		spoil(&c)
		if a.Recall(c) || a.verify.known() || a.d.n > 0 {
			t.Errorf("%s: %+v was believed", name, c)
		}
	}
	if _, enough := new(Auto).Costs(); enough {
		t.Error("a policy that saw nothing has costs to tell")
	}
}

// The first draft of a window holds the assistant's encoding, whatever round it
// comes in. Taken for the cost of drafting, it would end drafting for good.
func TestCostsOfOpening(t *testing.T) {
	a := new(Auto)
	for i := range 12 {
		n := a.Length()
		r := Round{First: i == 0, Drafted: n, Accepted: n, Kept: n + 1,
			Draft: time.Duration(n) * time.Millisecond, Verify: time.Duration(10+n) * time.Millisecond}
		if n > 0 && !a.opened {
			r.Draft += time.Second
		}
		a.Observe(r)
	}
	if got := a.d.v; !(math.Abs(got-0.001) <= 1e-9) {
		t.Errorf("%v s to draft a token, want 0.001", got)
	}
	if !(a.open.v > 0.9) {
		t.Errorf("%v s to begin drafting, want about 1", a.open.v)
	}
}
