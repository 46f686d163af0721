package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"verity/report"
)

func init() {
	beam.RegisterCoder(reflect.TypeFor[Sum](), encodeSum, decodeSum)
}

// A Sum is what records come to: of each arm its tally, and of two arms what differs.
type Sum struct {
	Arms  map[string]*report.Tally `json:"arms,omitempty"`
	Pairs Pairs                    `json:"pairs"`
}

func encodeSum(s Sum) ([]byte, error) { return json.Marshal(s) }

// DecodeSum reads what a job has written to ScoreFile.
func DecodeSum(raw []byte) (Sum, error) { return decodeSum(raw) }

func decodeSum(raw []byte) (s Sum, err error) {
	if err = json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("sum of %d bytes: %w", len(raw), err)
	}
	return s, nil
}

// Merge adds all that o holds.
func (s *Sum) Merge(o Sum) error {
	for arm, t := range o.Arms {
		if s.Arms == nil {
			s.Arms = map[string]*report.Tally{}
		}
		if s.Arms[arm] == nil {
			s.Arms[arm] = t
			continue
		}
		if err := s.Arms[arm].Merge(t); err != nil {
			return err
		}
	}
	s.Pairs.merge(o.Pairs)
	return nil
}

// Pairs count what both arms have in common.
type Pairs struct {
	Identical   int              `json:"identical"`
	Different   int              `json:"different"`
	Failed      int              `json:"failed"` // in both arms
	Differences []report.Finding `json:"differences,omitempty"`
}

// maxDifferences is how many differences are named; all are counted.
const maxDifferences = 50

// A verdict is what a pair of records came to.
type verdict struct {
	ID     string              `json:"id"`
	Failed bool                `json:"failed,omitempty"` // in both arms
	What   []string            `json:"what,omitempty"`   // differs
	Text   report.Pair[string] `json:"text"`
}

func verdictOf(a, b *report.Record) verdict {
	v := verdict{ID: a.ID, Failed: a.Error != "" && b.Error != "", What: report.Differ(a, b)}
	if len(v.What) > 0 {
		v.Text = report.Pair[string]{Baseline: cmp.Or(a.Error, a.Hypothesis), Assisted: cmp.Or(b.Error, b.Hypothesis)}
	}
	return v
}

func (p *Pairs) add(v verdict) {
	switch {
	case v.Failed:
		p.Failed++
	case len(v.What) == 0:
		p.Identical++
	default:
		p.merge(Pairs{Different: 1, Differences: []report.Finding{{ID: v.ID, What: v.What, Text: v.Text}}})
	}
}

func (p *Pairs) merge(o Pairs) {
	p.Identical += o.Identical
	p.Different += o.Different
	p.Failed += o.Failed
	p.Differences = append(p.Differences, o.Differences...)
	slices.SortFunc(p.Differences, func(x, y report.Finding) int { return cmp.Compare(x.ID, y.ID) })
	p.Differences = p.Differences[:min(len(p.Differences), maxDifferences)]
}

// A sumFn adds up the sums of shards.
type sumFn struct{}

// CreateAccumulator returns an empty sum.
func (*sumFn) CreateAccumulator() Sum { return Sum{} }

// AddInput adds the sum of a shard.
func (*sumFn) AddInput(s Sum, raw []byte) (Sum, error) {
	o, err := decodeSum(raw)
	if err == nil {
		err = s.Merge(o)
	}
	return s, err
}

// MergeAccumulators adds two sums.
func (*sumFn) MergeAccumulators(s, o Sum) (Sum, error) { return s, s.Merge(o) }

// ExtractOutput returns the sum as JSON.
func (*sumFn) ExtractOutput(s Sum) ([]byte, error) { return json.Marshal(s) }
