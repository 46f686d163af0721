package report

import (
	"cmp"
	"context"
	"slices"

	"verity/wer"
)

// Load scores the sets of files, and compares the first with every other by utterance.
// Of records only digests are kept; the texts of what differs are read again.
//
// An utterance that only one run has is a difference. If shards of the other run are
// missing, it counts as unpaired instead.
func Load(ctx context.Context, files []Files, o Options) (*Document, error) {
	sets, first := make([]*Set, len(files)), []digest{}
	var pairs []*Pairs
	for i, f := range files {
		var err error
		if sets[i], err = NewSet(f.Name, o); err != nil {
			return nil, err
		}
		if i == 0 {
			err = sets[0].AddAll(ctx, f, func(r *Record, c wer.Counts) {
				if len(files) > 1 {
					first = append(first, digestOf(r, c))
				}
			})
		} else {
			j := join{Pairs: NewPairs(sets[0], sets[i]), found: map[key][]string{}}
			pairs, err = append(pairs, j.Pairs), j.read(ctx, first, files[0], f)
		}
		if err != nil {
			return nil, err
		}
	}
	return NewDocument(sets, pairs), nil
}

// A join pairs the records of two runs.
type join struct {
	*Pairs
	found map[key][]string // what differs, at most maxFindings
}

// read reads the records of the other set, given the digests of the first in order.
func (j *join) read(ctx context.Context, first []digest, baseline, assisted Files) error {
	a, b, paired := j.Baseline, j.Assisted, make([]bool, len(first))
	partial := a.shards().incomplete() != ""
	if err := b.AddAll(ctx, assisted, func(r *Record, c wer.Counts) {
		k, d := keyOf(r.ID), digestOf(r, c)
		if at, ok := a.ids[k]; ok {
			j.note(k, j.add(first[at], d))
			paired[at] = true
		} else {
			j.lack(k, d, "not in baseline", partial)
		}
	}); err != nil {
		return err
	}
	j.free = len(a.ids) > 0 && len(b.ids) > 0 && !MustAgree(a.score.Run, b.score.Run)
	partial = b.shards().incomplete() != ""
	alone := make([]key, len(first))
	for k, at := range a.ids {
		alone[at] = k
	}
	for at, k := range alone {
		if !paired[at] {
			j.lack(k, first[at], "not in assisted", partial)
		}
	}
	return j.lookUp(ctx, baseline, assisted)
}

// note counts an utterance that differs.
func (j *join) note(k key, what []string) {
	switch {
	case len(what) == 0:
	case len(j.found) < maxFindings:
		j.found[k] = what
	default:
		j.c.Different++
	}
}

// lack counts an utterance that one set does not have.
func (j *join) lack(k key, d digest, what string, partial bool) {
	switch {
	case d.failed: // a failure has no hypothesis that could be missing
	case partial:
		j.c.Unpaired++
	default:
		j.note(k, []string{what})
	}
}

// lookUp reads the names and texts of the utterances that differ.
func (j *join) lookUp(ctx context.Context, baseline, assisted Files) error {
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
