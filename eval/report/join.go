package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"verity/wer"
)

// Load scores the sets of files, and compares the first with every other by utterance.
//
// An utterance that only one run has is a difference. If shards of the other run are
// missing, it counts as unpaired instead.
func Load(ctx context.Context, files []Files, normalizer, by string) (*Document, error) {
	sets, first := make([]*Set, len(files)), []digest{}
	var pairs []*Pairs
	for i, f := range files {
		var err error
		if sets[i], err = NewSet(f.Name, normalizer); err != nil {
			return nil, err
		}
		sets[i].by, sets[i].keepUtterances = by, true
		if i == 0 {
			err = sets[0].AddAll(ctx, f, func(r *Record, c wer.Counts) {
				if len(files) > 1 {
					d := digestOf(r, c)
					d.group = sets[0].valueOf(r)
					first = append(first, d)
				}
			})
		} else {
			p := NewPairs(sets[0], sets[i])
			pairs, err = append(pairs, p), p.join(ctx, first, f)
		}
		if err != nil {
			return nil, err
		}
	}
	fields := map[string]bool{}
	for _, s := range sets {
		maps.Copy(fields, s.fields)
	}
	if by != "" && !fields[by] {
		return nil, fmt.Errorf("field %s: no record has it; they have %s", by,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(fields)), ", "), "none"))
	}
	return NewDocument(sets, pairs), nil
}

// join reads the records of the other set, given the digests of the first in order.
func (p *Pairs) join(ctx context.Context, first []digest, assisted Files) error {
	a, b, paired := p.Baseline, p.Assisted, make([]bool, len(first))
	partial := a.shards().incomplete() != ""
	if err := b.AddAll(ctx, assisted, func(r *Record, c wer.Counts) {
		p.free = len(first) > 0 && !MustAgree(a.score.Run, b.score.Run)
		d := digestOf(r, c)
		if at, ok := a.ids[keyOf(r.ID)]; ok {
			p.addDifference(first[at], d, p.compare(first[at], d))
			paired[at] = true
		} else {
			p.addMissing(digest{}, d, "missing in "+a.name, partial)
		}
	}); err != nil {
		return err
	}
	partial = b.shards().incomplete() != ""
	for at, d := range first {
		if !paired[at] {
			p.addMissing(d, digest{}, "missing in "+b.name, partial)
		}
	}
	slices.SortFunc(p.c.Differences, func(x, y Difference) int { return cmp.Compare(x.ID, y.ID) })
	return nil
}

// addMissing counts an utterance that one set lacks. One that failed in the other set has no
// hypothesis to compare, and is not counted. partial says that shards of the first set are missing.
func (p *Pairs) addMissing(a, b digest, what string, partial bool) {
	switch {
	case a.failed || b.failed:
	case partial:
		p.c.Unpaired++
	default:
		p.c.missing++
		p.list(a, b, []string{what})
	}
}
