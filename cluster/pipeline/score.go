package pipeline

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"verity/report"
)

func init() {
	beam.RegisterCoder(reflect.TypeFor[Sum](), encodeSum, DecodeSum)
}

// A Sum is what records come to: the tally of each arm.
type Sum struct {
	Arms map[string]*report.Tally `json:"arms,omitempty"`
}

func encodeSum(s Sum) ([]byte, error) { return json.Marshal(s) }

// DecodeSum reads what a job has written to ScoreFile.
func DecodeSum(raw []byte) (s Sum, err error) {
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
	return nil
}

// A sumFn adds up the sums of shards.
type sumFn struct{}

// CreateAccumulator returns an empty sum.
func (*sumFn) CreateAccumulator() Sum { return Sum{} }

// AddInput adds the sum of a shard.
func (*sumFn) AddInput(s Sum, raw []byte) (Sum, error) {
	o, err := DecodeSum(raw)
	if err == nil {
		err = s.Merge(o)
	}
	return s, err
}

// MergeAccumulators adds two sums.
func (*sumFn) MergeAccumulators(s, o Sum) (Sum, error) { return s, s.Merge(o) }

// ExtractOutput returns the sum as JSON.
func (*sumFn) ExtractOutput(s Sum) ([]byte, error) { return json.Marshal(s) }

// Build returns the pipeline of a job.
func Build(s Spec) *beam.Pipeline {
	p, root := beam.NewPipelineWithRoot()
	chunks, marks := beam.ParDo2(root.Scope("index"), &indexFn{Spec: s}, beam.Impulse(root))
	// Without this, one worker would do it all: a runner keeps what follows a read
	// together with it.
	chunks = beam.Reshuffle(root, chunks)
	records := beam.ParDo(root.Scope("transcribe"), &transcribeFn{Spec: s}, chunks)
	shards := beam.GroupByKey(root, beam.Flatten(root, marks, records))
	tallies := beam.ParDo(root.Scope("write"), &writeFn{Spec: s}, shards)
	sum := beam.Combine(root.Scope("score"), &sumFn{}, tallies)
	beam.ParDo0(root.Scope("save"), &saveFn{Spec: s}, sum)
	return p
}
