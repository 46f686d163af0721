package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"verity"
	"verity/assistant"
	"verity/assistant/ctc"
	"verity/cmd/internal/cli"
	"verity/decoder"
	"verity/encoder"
	"verity/eval"
	"verity/eval/bench"
	"verity/eval/report"
	"verity/parallel"
	"verity/precision"
)

// A variantSpec says what a variant runs with.
type variantSpec struct {
	name      string // baseline, assisted, records in eval, or what tells it from the others: precision, assistant or length
	precision precision.Precision
	chosen    bool // its precision is named, and one of several
	assisted  bool
	assistant string // of several; empty for that of the flags
	length    string // of several, as of --draft-tokens; empty for that of the flags
}

// assistedMark follows the precision of a variant that has the assistant.
const assistedMark = "+assistant"

// file is the name of the file of a variant's records, without .jsonl. Some systems allow no
// colon in a name.
func (s variantSpec) file() string { return strings.NewReplacer(":", "-", "=", "-").Replace(s.name) }

// parseSpecs parses the specs of variants, separated by commas.
func parseSpecs(s string) (all []variantSpec, err error) {
	for part := range strings.SplitSeq(s, ",") {
		format, assisted := strings.CutSuffix(strings.TrimSpace(part), assistedMark)
		a := variantSpec{assisted: assisted, chosen: true}
		if a.precision, err = precision.Parse(format); err != nil {
			return nil, err
		}
		if a.name = a.precision.String(); assisted {
			a.name += assistedMark
		}
		if slices.Contains(all, a) {
			return nil, fmt.Errorf("variant %s is named twice", a.name)
		}
		all = append(all, a)
	}
	if len(all) < 2 {
		return nil, fmt.Errorf("%s is one variant: name two or more, separated by commas, or a precision without %s",
			s, assistedMark)
	}
	return all, nil
}

// specsOf returns the specs of plain decoding and of decoding with each value of a flag: assistant or draft-tokens.
func specsOf(p precision.Precision, flag string, values []string) ([]variantSpec, error) {
	all := []variantSpec{{name: "baseline", precision: p}}
	for _, v := range values {
		s := variantSpec{name: filepath.Base(filepath.Clean(v)), precision: p, assisted: true}
		if slices.ContainsFunc(all, func(o variantSpec) bool { return o.name == s.name }) {
			return nil, cli.Usagef("--%s %s: there is another variant %s", flag, v, s.name)
		}
		if flag == "assistant" {
			s.assistant = v
		} else {
			s.length = v
		}
		all = append(all, s)
	}
	return all, nil
}

// A specsFlag is a flag for one precision, or for several variants.
type specsFlag struct {
	one  *precision.Precision
	list []variantSpec // nil for a single precision
}

func (a *specsFlag) Set(s string) (err error) {
	if a.list = nil; !strings.Contains(s, ",") && !strings.HasSuffix(s, assistedMark) {
		*a.one, err = cli.ParsePrecision(s)
		return err
	}
	a.list, err = parseSpecs(s)
	return err
}

func (a *specsFlag) String() string {
	if a.one == nil {
		return ""
	}
	if a.list == nil {
		return a.one.String()
	}
	names := make([]string, len(a.list))
	for i, s := range a.list {
		names[i] = s.name
	}
	return strings.Join(names, ",")
}

func (a *specsFlag) Type() string { return "format" }

// specs returns the variants that the flag names. A single precision means two: plain, and
// with the assistant.
func (a *specsFlag) specs() []variantSpec {
	if a.list != nil {
		return a.list
	}
	return []variantSpec{{name: "baseline", precision: *a.one}, {name: "assisted", precision: *a.one, assisted: true}}
}

// A variant is ready to run.
type variant struct {
	variantSpec
	eval.Variant
	flags  cli.ModelFlags // with the precision and the assistant of this variant
	memory int64          // used for loading and running it
	engine *engine
}

// variants are the variants of a run, and what must be closed afterwards. Variants of one precision share
// the weights, and all share the threads.
type variants struct {
	run         *datasetRun
	list        []*variant
	plain       map[precision.Precision]*verity.Model // without an assistant
	plainMemory map[precision.Precision]int64         // bytes that loading and running them took
	open        []*verity.Model                       // in the order they were loaded
	pool        *parallel.Pool
}

func (r *datasetRun) newVariants() *variants {
	return &variants{
		run: r, pool: parallel.New(r.Model.Threads),
		plain: map[precision.Precision]*verity.Model{}, plainMemory: map[precision.Precision]int64{},
	}
}

func (v *variants) close() {
	for _, m := range slices.Backward(v.open) {
		m.Close()
	}
	v.pool.Close()
}

// loadAll loads the variants of a comparison, each warm, so that its memory can be measured.
func (v *variants) loadAll(ctx context.Context, specs []variantSpec, data *cli.Corpus) error {
	for _, s := range specs {
		before := cli.Resident()
		a, err := v.load(ctx, s, data.Name)
		if err == nil && s.assisted && !a.engine.model.Model.Assisted() && v.run.Drafts == nil {
			err = errNoAssistant
		}
		if err == nil {
			a.Set, err = report.NewSet(s.name, v.run.report.normalizer)
		}
		if err == nil {
			if s.assisted {
				a.engine.model.ForceDraft()
			}
			err = eval.WarmUp(ctx, a.Engine, data.All(ctx), v.run.batch, v.run.Sound.Input)
		}
		if err != nil {
			return fmt.Errorf("variant %s: %w", s.name, err)
		}
		v.measure(a, before)
		a.Resources = a.resources()
		if !s.assisted && v.run.batch <= 1 && slices.ContainsFunc(specs, func(o variantSpec) bool { return o.assisted && o.precision == s.precision }) {
			if a.Resources.Steps, err = v.passSteps(ctx, a.engine.model.Model.Decoder); err != nil {
				return fmt.Errorf("variant %s: %w", s.name, err)
			}
		}
	}
	return nil
}

// load adds the variant of a spec over the named dataset.
func (v *variants) load(ctx context.Context, s variantSpec, dataset string) (_ *variant, err error) {
	a := &variant{variantSpec: s, flags: v.run.Model}
	a.flags.Precision, a.flags.Pool, a.flags.Several = s.precision, v.pool, nil
	assistant := a.flags.Assistant
	if s.assistant != "" {
		assistant.Name = s.assistant
	}
	if s.length != "" {
		if assistant.Policy, err = cli.ParseDraft(s.length); err != nil {
			return nil, err
		}
	}
	a.flags.Assistant = assistant.Off()
	plain := v.plain[s.precision]
	if plain == nil {
		if plain, err = a.flags.Load(ctx, v.run.opt); err != nil {
			return nil, err
		}
		v.plain[s.precision], v.open = plain, append(v.open, plain)
	}
	m := plain
	var drafts *cli.TextSource
	if s.assisted {
		a.flags.Assistant, drafts = assistant, v.run.Drafts
		if m, err = a.flags.Assisted(ctx, plain, v.run.opt); err != nil {
			return nil, err
		}
		v.open = append(v.open, m)
	}
	a.engine = newEngine(m, drafts)
	a.Variant = eval.Variant{
		Name: s.file(), Engine: a.engine.transcribe, Decoding: m.Batch.Busy,
		Run: cli.Identity(m, &a.flags, v.run.TextFlags, dataset),
	}
	if s.chosen {
		a.Run.Options["precision"] = s.precision.String()
	}
	v.list = append(v.list, a)
	return a, nil
}

// errNoAssistant is the error of a comparison without drafts.
var errNoAssistant = cli.Usagef(
	"there is nothing to compare without an assistant: no drafting head fits this model's encoder; %s", nameOne)

// nameOne ends the error of a comparison without drafts.
const nameOne = "name an assistant with --assistant (self, ngram, bigram or a directory), text to draft from with " +
	"--draft-from, or several precisions with --precision f16,int8"

// measure records the memory that a variant uses. An assisted variant includes that of the
// plain variant whose weights it shares.
func (v *variants) measure(a *variant, before int64) {
	now := cli.Resident()
	if before <= 0 || now <= 0 {
		return
	}
	plain, shared := v.plainMemory[a.precision]
	a.memory = plain + max(0, now-before)
	if !shared {
		v.plainMemory[a.precision] = a.memory
	}
}

// matches returns the comparisons: of every variant with the first, and with the first variant of its
// precision if that is another one. The first of several draft lengths is compared with each of the others.
func (v *variants) matches() (all []eval.Match) {
	for j := 1; j < len(v.list); j++ {
		all = append(all, eval.Match{Baseline: 0, Assisted: j})
	}
	for j := range v.list {
		i := slices.IndexFunc(v.list, func(a *variant) bool { return a.precision == v.list[j].precision })
		if i != 0 && i != j {
			all = append(all, eval.Match{Baseline: i, Assisted: j})
		}
		if j > 1 && v.list[j].length != "" {
			all = append(all, eval.Match{Baseline: j, Assisted: 1})
		}
	}
	return all
}

// resources returns what is known of a variant before it runs.
func (a *variant) resources() *report.Resources {
	m, r := a.engine.model.Model, &report.Resources{Memory: a.memory, DraftOperations: new(float64)}
	_, _, token := bench.Operations(m.Dims)
	position := func(e *encoder.Encoder, more float64) float64 {
		if e != nil {
			operations, _, _ := bench.Operations(e.Dims())
			more += operations
		}
		return more / float64(m.Dims.AudioPositions) / token
	}
	switch by := m.Assistant.(type) {
	case *assistant.Model:
		_, cross, drafted := bench.Operations(by.Decoder.Dims())
		*r.DraftOperations, r.PositionOperations = drafted/token, position(by.Encoder, cross)
	case *ctc.Assistant:
		r.PositionOperations = position(by.Encoder(), float64(by.Operations(m.Dims.AudioPositions)))
	}
	if first := m.DraftModel(); first != nil {
		_, cross, written := bench.Operations(first.Dims)
		r.PositionOperations, r.WriteOperations = position(first.Encoder, cross), written/token
	}
	return r
}

// passSteps measures passes of draft lengths that the run may not have, in passes of one row.
func (v *variants) passSteps(ctx context.Context, d *decoder.Decoder) ([]float64, error) {
	passes, _, err := bench.Passes(ctx, d, bench.Options{Pool: v.pool, Rows: []int{1, 2, 3, 4, 6, 9, 13}, Stage: 1})
	var steps []float64
	most := 1.0
	for _, p := range passes { // more rows cannot take less time
		most = max(most, p.Ratio)
		steps = append(append(steps, make([]float64, p.Rows-1-len(steps))...), most)
	}
	return steps, err
}
