package assistant

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"verity/decoder"
)

// practised returns a policy that has seen passes of a known machine: 1 ms to draft
// a token, 10 ms and 1 ms a row to verify.
func practised() *Auto {
	a := new(Auto)
	for i := range 40 {
		a.Took(decoder.Pass{Draft: true, Rows: 1, Streams: 1}, time.Millisecond)
		a.Took(decoder.Pass{Rows: 1 + i%4, Streams: 1}, time.Duration(11+i%4)*time.Millisecond)
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
	if err := json.Unmarshal(raw, &back); err != nil || !slices.Equal(back.Verify, costs.Verify) || !slices.Equal(back.Draft, costs.Draft) {
		t.Fatalf("%v, %+v, want %+v", err, back, costs)
	}
	if n := new(Auto).Policy().Length(); n != 0 {
		t.Fatal("a policy without knowledge drafts in its first round")
	}
	next := new(Auto)
	if !next.Recall(back) {
		t.Fatalf("%s is not believed", raw)
	}
	if n := next.Policy().Length(); n == 0 {
		t.Error("with costs at which drafting pays the first round drafts nothing")
	}
	for rows := 1.0; rows < 9; rows++ {
		if got, want := next.verify.at(rows, 1), (10+rows)/1000; !(math.Abs(got-want) <= 1e-4) {
			t.Errorf("a pass of %v rows: %v s, want %v", rows, got, want)
		}
	}
	// A machine ten times as slow today is believed within a dozen passes.
	for i := range 12 {
		next.Took(decoder.Pass{Rows: 1 + i%4, Streams: 1}, time.Duration(110+10*(i%4))*time.Millisecond)
	}
	if got := next.verify.at(1, 1) * next.pace.factor(); !(got > 0.05) {
		t.Errorf("a pass of one row: %v s after a dozen passes of 0.11 s", got)
	}
}

func TestCostsRefused(t *testing.T) {
	good, _ := practised().Costs()
	for name, spoil := range map[string]func(c *Costs){
		"nothing":         func(c *Costs) { *c = Costs{} },
		"NaN":             func(c *Costs) { c.Draft[0].Value = math.NaN() },
		"infinite":        func(c *Costs) { c.Verify[1].Value = math.Inf(1) },
		"negative":        func(c *Costs) { c.Hear.Value = -1 },
		"no rows":         func(c *Costs) { c.Verify[0].Rows = 0 },
		"no streams":      func(c *Costs) { c.Verify[0].Streams = 0 },
		"no weight":       func(c *Costs) { c.Verify[0].Weight = 0 },
		"twice the same":  func(c *Costs) { c.Verify[0] = c.Verify[1] },
		"no draft":        func(c *Costs) { c.Draft = nil },
		"too many passes": func(c *Costs) { c.Draft = slices.Repeat(c.Draft, 1000) },
	} {
		c, a := good, new(Auto)
		c.Draft, c.Verify = slices.Clone(c.Draft), slices.Clone(c.Verify)
		spoil(&c)
		if a.Recall(c) || a.verify.known() || a.draft.known() {
			t.Errorf("%s: %+v was believed", name, c)
		}
	}
	if _, enough := new(Auto).Costs(); enough {
		t.Error("a policy that saw nothing has costs to tell")
	}
}
