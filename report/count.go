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

// A counter counts items in bounded memory. When it is full, it drops the rarer half and
// remembers the largest count it dropped, the floor. An item that appears after that may
// have been counted up to floor times before, and the counter keeps this bound beside its
// count. Frequent items are never dropped, so their counts are exact (Space-Saving of
// Metwally, Agrawal & El Abbadi 2005, but dropping many items at once).
type counter struct {
	most  int // distinct items
	n     map[confused]counted
	floor int32 // no item outside n has occurred more often
}

type counted struct {
	count  int32
	missed int32 // upper bound of earlier, dropped occurrences
}

func (c *counter) add(k confused) {
	v, ok := c.n[k]
	if !ok {
		if len(c.n) >= c.most {
			c.prune()
		}
		if c.n == nil {
			c.n = map[confused]counted{}
		}
		v.missed = c.floor
	}
	v.count++
	c.n[k] = v
}

// put adds a count from elsewhere.
func (c *counter) put(k confused, v counted) {
	if c.n == nil {
		c.n = map[confused]counted{}
	}
	c.n[k] = v
}

// merge adds all counts of o. An item that one of the counters dropped may have
// occurred up to its floor times there.
func (c *counter) merge(o *counter) {
	for k, v := range c.n {
		if _, ok := o.n[k]; !ok && o.floor > 0 {
			v.missed += o.floor
			c.n[k] = v
		}
	}
	for k, v := range o.n {
		w, ok := c.n[k]
		if !ok {
			w.missed = c.floor
		}
		c.put(k, counted{w.count + v.count, w.missed + v.missed})
	}
	c.floor += o.floor
	for len(c.n) > c.most {
		c.prune()
	}
}

// prune drops every item up to the median of the largest possible counts.
func (c *counter) prune() {
	all := make([]int32, 0, len(c.n))
	for _, v := range c.n {
		all = append(all, v.count+v.missed)
	}
	slices.Sort(all)
	c.floor = max(c.floor, all[(len(all)-1)/2])
	kept := make(map[confused]counted, c.most)
	for k, v := range c.n {
		if v.count+v.missed > c.floor {
			kept[k] = v
		}
	}
	c.n = kept
}

// top returns the n most frequent items.
func (c *counter) top(n int) []Confusion {
	all := make([]Confusion, 0, len(c.n))
	for k, v := range c.n {
		all = append(all, Confusion{k.reference, k.hypothesis, int(v.count), int(v.missed)})
	}
	slices.SortFunc(all, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Reference, b.Reference),
			strings.Compare(a.Hypothesis, b.Hypothesis))
	})
	return slices.Clone(all[:min(len(all), n)])
}
