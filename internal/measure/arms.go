package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"verity/eval"
	"verity/internal/options"
	"verity/internal/setup"
	"verity/parallel"
	"verity/precision"
	"verity/report"
	"verity/transcript"
)

// An armSpec is one way to run a model.
type armSpec struct {
	name      string // where it is no precision: baseline, assisted, or the records of eval; else empty
	precision precision.Precision
	assisted  bool
}

// assistedMark follows the precision of an arm that has the assistant.
const assistedMark = "+assistant"

func (a armSpec) String() string {
	switch {
	case a.name != "":
		return a.name
	case a.assisted:
		return a.precision.String() + assistedMark
	}
	return a.precision.String()
}

// file is the name of the file of an arm's records, without .jsonl: some systems take
// no colon in one.
func (a armSpec) file() string { return strings.NewReplacer(":", "-", "=", "-").Replace(a.String()) }

// parseArms parses arms separated by commas.
func parseArms(s string) (all []armSpec, err error) {
	for part := range strings.SplitSeq(s, ",") {
		format, assisted := strings.CutSuffix(strings.TrimSpace(part), assistedMark)
		a := armSpec{assisted: assisted}
		if a.precision, err = precision.Parse(format); err != nil {
			return nil, err
		}
		if slices.Contains(all, a) {
			return nil, fmt.Errorf("arm %v is there twice", a)
		}
		all = append(all, a)
	}
	if len(all) < 2 {
		return nil, fmt.Errorf("%s is one arm: name two or more with commas between, or a precision without %s", s, assistedMark)
	}
	return all, nil
}

// pair are plain decoding and, over the same weights, that with the assistant.
func pair(p precision.Precision) []armSpec {
	return []armSpec{{"baseline", p, false}, {"assisted", p, true}}
}

// An armsFlag is a flag for one precision, or for several arms.
type armsFlag struct {
	one  *precision.Precision
	list []armSpec // nil for a single precision
}

func (a *armsFlag) Set(s string) (err error) {
	if a.list = nil; !strings.Contains(s, ",") && !strings.HasSuffix(s, assistedMark) {
		*a.one, err = options.ParsePrecision(s)
		return err
	}
	a.list, err = parseArms(s)
	return err
}

func (a *armsFlag) String() string {
	if a.one == nil {
		return ""
	}
	if a.list == nil {
		return a.one.String()
	}
	names := make([]string, len(a.list))
	for i, arm := range a.list {
		names[i] = arm.String()
	}
	return strings.Join(names, ",")
}

func (a *armsFlag) Type() string { return "format" }

// specs returns the arms that the flag names. A single precision means two: plain, and
// with the assistant.
func (a *armsFlag) specs() []armSpec {
	if a.list != nil {
		return a.list
	}
	return pair(*a.one)
}

// An arm is ready to run.
type arm struct {
	armSpec
	eval.Arm
	flags  setup.ModelFlags // with the precision and the assistant of this arm
	memory int64            // used for loading and running it
	engine *engine
}

// arms are those of a run, and what must be closed afterwards. Arms of one precision share
// the weights, and all share the threads.
type arms struct {
	*datasetRun
	list  []*arm
	plain map[precision.Precision]*setup.Model // without an assistant
	grown map[precision.Precision]int64        // memory of these
	pool  *parallel.Pool
}

func (r *datasetRun) newArms() *arms {
	return &arms{datasetRun: r, plain: map[precision.Precision]*setup.Model{}, grown: map[precision.Precision]int64{}, pool: parallel.New(r.model.Threads)}
}

func (r *arms) close() {
	for _, m := range r.plain {
		m.Close()
	}
	r.pool.Close()
}

// compared adds the arms of a comparison, each warm, so that its memory can be measured.
func (r *arms) compared(ctx context.Context, specs []armSpec, data *setup.Corpus) error {
	for _, spec := range specs {
		before := setup.Resident()
		a, err := r.load(ctx, spec, data.Name)
		if err == nil {
			a.Set, err = report.NewSet(spec.String(), r.report.normalizer)
		}
		if err == nil {
			err = eval.WarmUp(ctx, a.Engine, data.All(ctx), r.batch, r.sound.Input)
		}
		if err != nil {
			return fmt.Errorf("arm %v: %w", spec, err)
		}
		r.measure(a, before)
	}
	return nil
}

// load adds an arm over a dataset of a name.
func (r *arms) load(ctx context.Context, spec armSpec, dataset string) (_ *arm, err error) {
	a := &arm{armSpec: spec, flags: r.model}
	a.flags.Precision, a.flags.Pool, a.flags.Several = spec.precision, r.pool, nil
	with := a.flags.Assistant
	a.flags.Assistant = with.Off()
	plain := r.plain[spec.precision]
	if plain == nil {
		if plain, err = a.flags.Load(ctx); err != nil {
			return nil, err
		}
		r.plain[spec.precision] = plain
	}
	m := plain.Model
	var drafts *setup.DraftSource
	if spec.assisted {
		if m, err = plain.Assisted(ctx, &with); err != nil {
			return nil, err
		}
		a.flags.Assistant, drafts = with, r.drafts
	}
	if a.engine, err = newEngine(m, r.opt, drafts); err != nil {
		return nil, err
	}
	a.Arm = eval.Arm{
		Name: spec.file(), Engine: a.engine.transcribe, Decoding: m.Batch.Busy,
		Run: setup.Identity(plain, &a.flags, r.decisive, dataset),
	}
	if spec.name == "" {
		a.Run.Options["precision"] = spec.precision.String()
	}
	r.list = append(r.list, a)
	return a, nil
}

// measure records the memory that an arm uses. An assisted arm includes that of the
// plain arm whose weights it shares.
func (r *arms) measure(a *arm, before int64) {
	now := setup.Resident()
	if before <= 0 || now <= 0 {
		return
	}
	had, shared := r.grown[a.precision]
	a.memory = had + max(0, now-before)
	if !shared {
		r.grown[a.precision] = a.memory
	}
}

// matches returns what is compared: every arm with the first, and with the first of the
// same precision if that is another one.
func (r *arms) matches() (all []eval.Match) {
	for j := 1; j < len(r.list); j++ {
		all = append(all, eval.Match{Baseline: 0, Assisted: j})
	}
	for j := range r.list {
		if i := slices.IndexFunc(r.list, func(a *arm) bool { return a.precision == r.list[j].precision }); i != 0 && i != j {
			all = append(all, eval.Match{Baseline: i, Assisted: j})
		}
	}
	return all
}

// ready makes sure that every assistant drafts something: otherwise there would be nothing
// to compare.
func (r *arms) ready() {
	for _, a := range r.list {
		if auto := a.flags.Assistant.Auto; auto != nil && a.assisted {
			auto.Try()
		}
		a.engine.total = transcript.Stats{}
	}
}

// why returns the reason why nothing was drafted, if it is known.
func (r *arms) why() string {
	for _, a := range r.list {
		if a.engine.broken != "" {
			return ": " + a.engine.broken
		}
	}
	return ""
}

// run runs all arms over the dataset, and compares them.
func (r *arms) run(ctx context.Context, v *compareCommand, data *setup.Corpus) (*report.Document, error) {
	r.ready()
	all, sets := make([]eval.Arm, len(r.list)), make([]*report.Set, len(r.list))
	for i, a := range r.list {
		all[i], sets[i] = a.Arm, a.Set
	}
	bar := v.NewTally(&v.log, func() int { return data.Count(ctx) })
	different := 0
	pairs, err := eval.Compare(ctx, all, r.matches(), data.All(ctx), eval.CompareOptions{
		Repeats: v.repeats, Batch: v.batch, Group: v.group, Limit: v.data.Limit, Dir: v.out, Unscored: data.Unscored, Sound: v.sound.Input,
		Watch: func(_ []*report.Record, what []string) {
			if len(what) > 0 {
				different++
			}
			bar.Add(fmt.Sprintf("%d differ", different))
		},
	})
	bar.Clear()
	if err != nil {
		return nil, err
	}
	d := report.NewDocument(sets, pairs)
	for i, a := range r.list {
		s := a.engine.total
		read := s.Passes
		read.Add(s.DraftPasses)
		d.Scores[i].Memory, d.Scores[i].GBPS, d.Scores[i].BytesPerToken = a.memory, read.Rate()/1e9, transcript.Ratio(float64(read.Bytes), float64(s.Tokens))
	}
	eval.Predict(d)
	return d, nil
}
