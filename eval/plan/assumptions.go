package plan

import (
	"context"
	"encoding/json"
	"fmt"

	"verity/assistant"
	"verity/eval/bench"
	"verity/eval/report"
	"verity/internal/input"
	"verity/transcript"
)

// Assumptions are the input of a forecast: chance of acceptance and costs, given or
// measured by other commands.
type Assumptions struct {
	Alpha      float64   `json:"alpha"`
	Cost       float64   `json:"cost"`       // c
	Operations float64   `json:"operations"` // ĉ
	Bytes      float64   `json:"bytes"`      // b
	Verify     []float64 `json:"verify"`     // V(1), V(2), …; null if not measured

	// Measured in a file: accepted over judged drafts, which the plan takes as alpha, and the mean of
	// Σ min(p, q).
	Agreement *float64 `json:"alpha_agreement"`
	Overlap   *float64 `json:"alpha_overlap"`

	StepBytes int64    `json:"step_bytes,omitempty"`
	Sources   []string `json:"sources,omitempty"` // for people

	model bench.Result
}

// Check returns an error for the first field with an invalid value.
func (a *Assumptions) Check() error {
	for _, x := range []struct {
		field       string
		value, most float64
	}{{"alpha", a.Alpha, 1}, {"cost", a.Cost, mostCost}, {"operations", a.Operations, mostCost}, {"bytes", a.Bytes, mostCost}} {
		if !(x.value >= 0 && x.value <= x.most) {
			return fmt.Errorf("%s %v: must be from 0 to %v", x.field, x.value, x.most)
		}
	}
	return nil
}

// mostCost is the largest cost accepted, in steps: far more than a drafted token costs in
// practice.
const mostCost = 1000

// plan returns the parameters of the theory, with V as measured if measured is set.
func (a *Assumptions) plan(measured bool) assistant.Theory {
	p := assistant.Theory{Alpha: a.Alpha, Cost: a.Cost, Operations: a.Operations, Bytes: a.Bytes}
	if measured && len(a.Verify) > 0 {
		p.Verify = a.verify
	}
	return p
}

// verify returns V(m). Beyond the last measured pass it extrapolates with the slope of
// the second half.
func (a *Assumptions) verify(m int) float64 {
	n := len(a.Verify)
	if m <= n {
		return a.Verify[m-1]
	}
	middle := (n + 1) / 2
	slope := 0.0
	if n > middle {
		slope = (a.Verify[n-1] - a.Verify[middle-1]) / float64(n-middle)
	}
	return a.Verify[n-1] + slope*float64(m-n)
}

// measurements are the part of a file of other commands that a plan uses.
type measurements struct {
	bench.Result // of bench

	Pairs []report.Comparison `json:"pairs"` // of compare
	Stats *struct {           // of transcribe
		Drafts    transcript.Drafts `json:"drafts"`
		Agreement float64           `json:"alpha_agreement"`
		Overlap   *float64          `json:"alpha_overlap"`
	} `json:"stats"`
}

// Read reads a JSON file of bench, compare or transcribe. A second bench is one of the
// assistant.
func (a *Assumptions) Read(ctx context.Context, name string) error {
	m, err := readMeasurements(ctx, name)
	switch {
	case err != nil:
		return err
	case m.Schema == bench.Schema && a.model.Step.Seconds > 0:
		return a.fromAssistant(name, m)
	case m.Schema == bench.Schema:
		return a.fromBench(name, m)
	case m.Schema == report.CompareSchema && len(m.Pairs) > 0:
		return a.fromCompare(name, m.Pairs[0])
	case m.Stats == nil:
		return fmt.Errorf("%s: want JSON that verity bench, compare or transcribe wrote, got schema %q", name, m.Schema)
	case m.Stats.Drafts.Drafted == 0:
		return fmt.Errorf("%s: nothing was drafted: transcribe with an assistant", name)
	}
	a.Sources = append(a.Sources, "α as in "+name)
	a.accept(m.Stats.Agreement, m.Stats.Overlap)
	return nil
}

// maxMeasured is the largest file of measurements that is read.
const maxMeasured = 64 << 20

func readMeasurements(ctx context.Context, name string) (*measurements, error) {
	b, err := input.Read(ctx, name, maxMeasured)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: want JSON that verity bench, compare or transcribe wrote", name, err)
	}
	m := new(measurements)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%s: reading JSON: %w", name, err)
	}
	return m, nil
}

func (a *Assumptions) accept(agreement float64, overlap *float64) {
	a.Agreement, a.Overlap, a.Alpha = &agreement, overlap, agreement
}

func (a *Assumptions) fromBench(name string, m *measurements) error {
	if len(m.Verify) == 0 || m.Step.Seconds <= 0 {
		return fmt.Errorf("%s: holds no passes", name)
	}
	a.Verify = nil
	for _, v := range m.Verify {
		a.Verify = append(a.Verify, v.Ratio)
	}
	a.StepBytes, a.model = m.Step.Bytes, m.Result
	a.Sources = append(a.Sources, fmt.Sprintf("V of %s in %s", m.Model, m.Precision))
	return nil
}

// fromCompare sets α, c and, as a straight line, V. A plain step is the time of the
// baseline's passes over the tokens of both.
func (a *Assumptions) fromCompare(name string, c report.Comparison) error {
	// Acceptance counts all runs, seconds only the recorded one. The number of runs
	// cancels in the quotients below.
	x, s := c.Acceptance, c.Seconds
	rounds, drafted := float64(x.Rounds), float64(x.Drafted)
	step := s.Verify.Baseline / (x.MeanKept * rounds)
	if x.Drafted == 0 || !(step > 0) {
		return fmt.Errorf("%s: nothing was drafted, or not timed", name)
	}
	a.accept(x.Agreement, x.Overlap)
	a.Cost = s.Draft.Assisted / drafted / step
	slope := (s.Verify.Assisted/rounds/step - 1) * rounds / drafted
	a.Verify = nil
	for m := range 17 { // drafts of none to 16; verify goes on in the same line
		a.Verify = append(a.Verify, 1+slope*float64(m))
	}
	a.Sources = append(a.Sources, "α, c and V as in "+name)
	return nil
}

// fromAssistant sets c, ĉ and b.
func (a *Assumptions) fromAssistant(name string, m *measurements) error {
	if m.Step.Seconds <= 0 {
		return fmt.Errorf("%s: holds no step", name)
	}
	if err := pairs(a.model, m.Result); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.Cost = m.Step.Seconds / a.model.Step.Seconds
	a.Operations = m.Step.FLOPs / a.model.Step.FLOPs
	a.Bytes = float64(m.Step.Bytes) / float64(a.model.Step.Bytes)
	a.Sources = append(a.Sources, fmt.Sprintf("c of %s in %s", m.Model, m.Precision))
	return nil
}

// pairs returns an error if a model cannot draft for another.
func pairs(target, small bench.Result) error {
	t, s := target.Dims, small.Dims
	for _, x := range []struct {
		thing     string
		got, want int
	}{
		{"vocabulary", s.Vocab, t.Vocab}, {"mel bins", s.MelBins, t.MelBins},
		{"positions of a window", s.AudioPositions, t.AudioPositions},
	} {
		if x.got != x.want {
			return fmt.Errorf("%s cannot assist %s: %s: got %d, want %d; take an assistant of the same family",
				small.Model, target.Model, x.thing, x.got, x.want)
		}
	}
	return nil
}
