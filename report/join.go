package report

import (
	"cmp"
	"context"
	"slices"

	"verity/wer"
)

// Join compares the record files of two runs by utterance. The sets must be empty. Only
// digests are kept; the texts of what differs are read again from the files.
//
// An utterance that only one run has is a difference. If shards of the other run are
// missing, it counts as unpaired instead.
func Join(ctx context.Context, baseline, assisted Files, a, b *Set) (*Pairs, error) {
	j := joint{Pairs: NewPairs(a, b), found: map[key][]string{}}
	var first []*digest // of the records of a, in order; nil once paired
	if err := a.AddAll(ctx, baseline, func(r *Record, c wer.Counts) {
		d := digestOf(r, c)
		first = append(first, &d)
	}); err != nil {
		return nil, err
	}
	partial := a.shards().incomplete() != ""
	if err := b.AddAll(ctx, assisted, func(r *Record, c wer.Counts) {
		k, d := keyOf(r.ID), digestOf(r, c)
		if at, ok := a.ids[k]; ok {
			j.note(k, j.add(*first[at], d))
			first[at] = nil
		} else {
			j.lack(k, d, "not in baseline", partial)
		}
	}); err != nil {
		return nil, err
	}
	partial = b.shards().incomplete() != ""
	alone := make([]key, len(first))
	for k, at := range a.ids {
		alone[at] = k
	}
	for at, k := range alone {
		if first[at] != nil {
			j.lack(k, *first[at], "not in assisted", partial)
		}
	}
	return j.Pairs, j.lookUp(ctx, baseline, assisted)
}

// A joint is the state of a Join.
type joint struct {
	*Pairs
	found map[key][]string // what differs, at most maxFindings
}

// note counts an utterance that differs.
func (j *joint) note(k key, what []string) {
	switch {
	case len(what) == 0:
	case len(j.found) < maxFindings:
		j.found[k] = what
	default:
		j.c.Different++
	}
}

// lack counts an utterance that one set does not have.
func (j *joint) lack(k key, d digest, what string, partial bool) {
	switch {
	case d.failed: // a failure has no hypothesis that could be missing
	case partial:
		j.c.Unpaired++
	default:
		j.note(k, []string{what})
	}
}

// lookUp reads the names and texts of the utterances that differ.
func (j *joint) lookUp(ctx context.Context, baseline, assisted Files) error {
	if len(j.found) == 0 {
		return nil
	}
	texts, ids := map[key]Pair[string]{}, map[key]string{}
	for i, f := range []Files{baseline, assisted} {
		for r, err := range f.Records(ctx) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				continue // AddAll has reported it
			}
			k := keyOf(r.ID)
			if j.found[k] == nil {
				continue
			}
			t := texts[k]
			if i == 0 {
				t.Baseline = words(r)
			} else {
				t.Assisted = words(r)
			}
			texts[k], ids[k] = t, r.ID
		}
	}
	for k, what := range j.found {
		j.find(ids[k], what, texts[k])
	}
	slices.SortFunc(j.c.Differences, func(x, y Finding) int { return cmp.Compare(x.ID, y.ID) })
	return nil
}
