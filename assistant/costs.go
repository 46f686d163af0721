package assistant

import "math"

// Costs are what an Auto policy learns of time: of the machine, the model and the
// assistant, not of the text. Kept from one run to the next, they spare it the
// rounds it takes to learn them.
type Costs struct {
	Draft  []PassCost `json:"draft"`  // passes of the assistant
	Verify []PassCost `json:"verify"` // passes of the target
	Hear   Mean       `json:"hear"`   // seconds until the assistant can listen to a window
	Prompt Mean       `json:"prompt"` // seconds of a window's prompt in the assistant
}

// A PassCost is what passes of about so many rows, of so many streams, took.
type PassCost struct {
	Rows    float64 `json:"rows"`
	Streams int     `json:"streams"`
	Mean
}

// A Mean is a mean in seconds and the weight of what it was made of.
type Mean struct {
	Value  float64 `json:"seconds"`
	Weight float64 `json:"weight"`
}

// Costs returns what the policy has learnt, and whether that is enough to be of
// use to another.
func (a *Auto) Costs() (Costs, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.pace.factor()
	return Costs{
		Draft: a.draft.table(f), Verify: a.verify.table(f),
		Hear: Mean{a.hear.v * f, a.hear.n}, Prompt: Mean{a.prompt.v * f, a.prompt.n},
	}, len(a.draft.cells) > 0 && len(a.verify.cells) > 0
}

// table returns what was seen, in seconds at a pace of that factor.
func (c *cost) table(factor float64) []PassCost {
	list := make([]PassCost, len(c.cells))
	for i, x := range c.cells {
		list[i] = PassCost{x.rows, x.streams, Mean{x.took.v * factor, x.took.n}}
	}
	return list
}

// recalled is the most weight of remembered costs, in passes: a machine that is
// busier today is believed soon.
const recalled = 4

// Recall begins with costs that another policy learnt. It reports false, and
// changes nothing, if they cannot be true.
func (a *Auto) Recall(c Costs) bool {
	var draft, verify cost
	if !draft.recall(c.Draft) || !verify.recall(c.Verify) || !c.Hear.sane() || !c.Prompt.sane() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.draft, a.verify, a.hear, a.prompt = draft, verify, c.Hear.mean(), c.Prompt.mean()
	a.pace, a.free = pace{late: true}, false
	return true
}

func (c *cost) recall(list []PassCost) bool {
	if len(list) == 0 || len(list) > maxCells {
		return false
	}
	for _, p := range list {
		if !(p.Rows >= 1 && p.Rows < 1e6) || p.Streams < 1 || p.Streams > 1e6 || !p.sane() || !(p.Value > 0 && p.Weight > 0) || c.find(p.Rows, p.Streams) != nil {
			return false
		}
		c.cells = append(c.cells, cell{bucket: bucket(p.Rows), streams: p.Streams, rows: p.Rows, took: p.mean()})
	}
	c.unfit = 100
	return true
}

// sane reports whether m is a time, or nothing.
func (m Mean) sane() bool {
	return m.Value >= 0 && !math.IsInf(m.Value, 0) && m.Weight >= 0 && !math.IsInf(m.Weight, 0)
}

func (m Mean) mean() mean { return mean{m.Value, min(m.Weight, recalled)} }
