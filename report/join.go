package report

import (
	"cmp"
	"slices"

	"verity/wer"
)

// Join compares the record files of two runs by utterance. Sets must be empty. Only
// digests are kept; what differs is looked up in the files again.
func Join(baseline, assisted Files, a, b *Set) (*Pairs, error) {
	p := NewPairs(a, b)
	first := map[string]digest{}
	var order []string
	if err := a.AddAll(baseline, func(r *Record, c wer.Counts) {
		first[r.ID] = digestOf(r, c)
		order = append(order, r.ID)
	}); err != nil {
		return nil, err
	}
	second := map[string]digest{}
	if err := b.AddAll(assisted, func(r *Record, c wer.Counts) {
		second[r.ID] = digestOf(r, c)
		if !a.ids[r.ID] {
			order = append(order, r.ID)
		}
	}); err != nil {
		return nil, err
	}
	return p, p.join(order, first, second, baseline, assisted)
}

// join adds every utterance that one of the sets has a hypothesis for.
func (p *Pairs) join(order []string, first, second map[string]digest, baseline, assisted Files) error {
	for id := range p.Assisted.ids {
		if _, ok := second[id]; !ok && p.Baseline.ids[id] {
			if _, ok := first[id]; !ok {
				p.c.Failed++
			}
		}
	}
	found := map[string][]string{}
	for _, id := range order {
		a, inFirst := first[id]
		b, inSecond := second[id]
		var what []string
		switch {
		case !inFirst:
			what = []string{lack("baseline", p.Baseline, id)}
		case !inSecond:
			what = []string{lack("assisted", p.Assisted, id)}
		default:
			what = p.add(a, b)
		}
		switch {
		case len(what) == 0:
		case len(found) < maxFindings:
			found[id] = what
		default:
			p.c.Different++
		}
	}
	return p.lookUp(found, baseline, assisted)
}

// lack says why an arm has no hypothesis for an utterance.
func lack(arm string, s *Set, id string) string {
	if s.ids[id] {
		return arm + " failed"
	}
	return "not in " + arm
}

// lookUp reads the texts of what differs.
func (p *Pairs) lookUp(found map[string][]string, baseline, assisted Files) error {
	if len(found) == 0 {
		return nil
	}
	texts := map[string]Pair[string]{}
	for i, f := range []Files{baseline, assisted} {
		for r, err := range f.Records() {
			if err != nil || found[r.ID] == nil {
				continue // AddAll has reported it
			}
			t := texts[r.ID]
			if i == 0 {
				t.Baseline = words(r)
			} else {
				t.Assisted = words(r)
			}
			texts[r.ID] = t
		}
	}
	for id, what := range found {
		p.find(id, what, texts[id])
	}
	slices.SortFunc(p.c.Differences, func(x, y Finding) int { return cmp.Compare(x.ID, y.ID) })
	return nil
}
