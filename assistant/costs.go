package assistant

import "math"

// Costs are what an Auto policy learns of time: of the machine, the model and the
// assistant, not of the text. Kept from one run to the next, they spare it the
// rounds it takes to learn them.
type Costs struct {
	Draft Mean `json:"draft"` // seconds to draft one token
	Open  Mean `json:"open"`  // seconds to begin drafting in a window

	// Verify is seconds of a verify pass over its rows, as the sums of a weighted
	// fit: of weights, rows, seconds, rows² and rows·seconds.
	Verify [5]float64 `json:"verify"`
}

// A Mean is a mean and the weight of what it was made of.
type Mean struct {
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"`
}

// Costs returns what the policy has learnt, and whether that is enough to be of
// use to another.
func (a *Auto) Costs() (Costs, bool) {
	l := a.verify
	return Costs{
		Draft: Mean{a.d.v, a.d.n}, Open: Mean{a.open.v, a.open.n},
		Verify: [5]float64{l.n, l.x, l.y, l.xx, l.xy},
	}, a.d.n > 0 && l.known()
}

// recalled is the most weight of remembered costs, in rounds: a machine that is
// busier today is believed soon.
const recalled = 4

// Recall begins with costs that another policy learnt. It reports false, and
// changes nothing, if they cannot be true.
func (a *Auto) Recall(c Costs) bool {
	for _, v := range append(c.Verify[:], c.Draft.Value, c.Draft.Weight, c.Open.Value, c.Open.Weight) {
		if !(v >= 0) || math.IsInf(v, 0) {
			return false
		}
	}
	v := c.Verify
	verify := line{v[0], v[1], v[2], v[3], v[4]}
	if !verify.known() || c.Draft.Weight == 0 {
		return false
	}
	share := min(1, recalled/verify.n)
	for _, s := range []*float64{&verify.n, &verify.x, &verify.y, &verify.xx, &verify.xy} {
		*s *= share
	}
	a.verify = verify
	a.d, a.open = c.Draft.mean(), c.Open.mean()
	return true
}

func (m Mean) mean() mean { return mean{m.Value, min(m.Weight, recalled)} }
