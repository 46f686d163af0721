package report

import (
	"cmp"
	"slices"
	"strings"
)

// A confused is a reference word and what was recognised instead. One of them is empty
// for an insertion or a deletion.
type confused struct{ reference, hypothesis string }

// maxConfusions bounds how many different confusions are counted at a time: about 15
// MB.
const maxConfusions = 1 << 17

// A counter counts confusions in bounded memory. When it is full, it drops the rarer
// half. A count is too low by at most the floor, and only if its confusion was dropped
// before: frequent ones never are, so theirs are exact. (Space-Saving of Metwally, Agrawal
// & El Abbadi 2005, but dropping many at once.)
type counter struct {
	most  int // distinct items
	n     map[confused]int
	floor int
}

func (c *counter) add(k confused, n int) {
	if c.n == nil {
		c.n = map[confused]int{}
	}
	c.n[k] += n
	if len(c.n) > c.most {
		c.prune()
	}
}

// merge adds all counts of o.
func (c *counter) merge(o *counter) {
	for k, n := range o.n {
		c.add(k, n)
	}
	c.floor += o.floor
}

// prune drops the confusions that are not above the median.
func (c *counter) prune() {
	all := make([]int, 0, len(c.n))
	for _, n := range c.n {
		all = append(all, n)
	}
	slices.Sort(all)
	median := all[(len(all)-1)/2]
	c.floor += median
	kept := make(map[confused]int, c.most)
	for k, n := range c.n {
		if n > median {
			kept[k] = n
		}
	}
	c.n = kept
}

// top returns the n most frequent confusions.
func (c *counter) top(n int) []Confusion {
	all := make([]Confusion, 0, len(c.n))
	for k, n := range c.n {
		all = append(all, Confusion{k.reference, k.hypothesis, n})
	}
	slices.SortFunc(all, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Reference, b.Reference),
			strings.Compare(a.Hypothesis, b.Hypothesis))
	})
	return slices.Clone(all[:min(len(all), n)])
}
