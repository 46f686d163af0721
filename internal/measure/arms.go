package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"verity/eval"
	"verity/internal/command"
	"verity/internal/output"
	"verity/internal/setup"
	"verity/parallel"
	"verity/precision"
	"verity/report"
	"verity/transcript"
)

// An armSpec is one way to run a model.
type armSpec struct {
	name      string // of baseline and assisted; else empty
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

// An armsFlag is a flag for one precision, or for several arms.
type armsFlag struct {
	one  *setup.PrecisionFlag
	list []armSpec // nil for a single precision
}

func (a *armsFlag) Set(s string) (err error) {
	if a.list = nil; !strings.Contains(s, ",") && !strings.HasSuffix(s, assistedMark) {
		return a.one.Set(s)
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
	p := a.one.Precision
	return []armSpec{{"baseline", p, false}, {"assisted", p, true}}
}

// An arm is ready to run.
type arm struct {
	armSpec
	eval.Arm
	flags  setup.ModelFlags // with the precision and the assistant of this arm
	memory int64            // used for loading and running it
	engine *evalEngine
}

// arms are those of a comparison, and what must be closed afterwards. Arms of one
// precision share the weights, and all share the threads.
type arms struct {
	list  []*arm
	plain map[precision.Precision]*setup.Model // without an assistant
	grown map[precision.Precision]int64        // memory of these
	pool  *parallel.Pool
}

func (r *arms) close() {
	for _, m := range r.plain {
		m.Close()
	}
	r.pool.Close()
}

func openArms(ctx context.Context, v *compareCommand, data *setup.Corpus, scoring report.Options) (_ *arms, err error) {
	r := &arms{plain: map[precision.Precision]*setup.Model{}, grown: map[precision.Precision]int64{}, pool: parallel.New(v.model.Threads)}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for _, spec := range v.arms.specs() {
		a, err := r.open(ctx, v, spec, data)
		if err == nil {
			a.Set, err = report.NewSet(spec.String(), scoring)
		}
		if err != nil {
			return nil, fmt.Errorf("arm %v: %w", spec, err)
		}
		r.list = append(r.list, a)
	}
	return r, nil
}

// open opens an arm and warms it up, so that its memory can be measured.
func (r *arms) open(ctx context.Context, v *compareCommand, spec armSpec, data *setup.Corpus) (*arm, error) {
	a := &arm{armSpec: spec, flags: v.model}
	a.flags.Precision.Precision, a.flags.Pool, a.flags.Several = spec.precision, r.pool, nil
	if !spec.assisted {
		a.flags.Assistant = a.flags.Assistant.Off()
	}
	before := setup.Resident()
	plain, err := r.load(ctx, a.flags)
	if err != nil {
		return nil, err
	}
	m := plain.Model
	if spec.assisted {
		if m, err = plain.Assisted(ctx, &a.flags.Assistant); err != nil {
			return nil, err
		}
	}
	if a.engine, err = newEvalEngine(m, v.opt); err != nil {
		return nil, err
	}
	if spec.assisted {
		a.engine.drafts = v.drafts
	}
	a.Arm = eval.Arm{Name: spec.file(), Engine: a.engine, Run: setup.Identity(plain, &a.flags, v.made, data.Name)}
	if spec.name == "" {
		a.Run.Options["precision"] = spec.precision.String()
	}
	if err := eval.WarmUp(ctx, a.engine, data.All(ctx), v.Batch, v.Batch, v.Sound.Input); err != nil {
		return nil, err
	}
	r.measure(a, before)
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

// load returns the model of a precision without assistant, loaded once.
func (r *arms) load(ctx context.Context, flags setup.ModelFlags) (*setup.Model, error) {
	p := flags.Precision.Precision
	if m := r.plain[p]; m != nil {
		return m, nil
	}
	flags.Assistant = flags.Assistant.Off()
	m, err := flags.Load(ctx)
	if err == nil {
		r.plain[p] = m
	}
	return m, err
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
		a.engine.forget()
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
	all, sets := make([]eval.Arm, len(r.list)), make([]*report.Set, len(r.list))
	for i, a := range r.list {
		all[i], sets[i] = a.Arm, a.Set
	}
	bar := command.NewTally(v.Env, v.log.Quiet, v.log.Progress, func() int { return data.Count(ctx) })
	different := 0
	pairs, err := eval.Compare(ctx, all, r.matches(), data.All(ctx), eval.CompareOptions{
		Warmups: -1, // open warmed up
		Repeats: v.repeats, Batch: v.Batch, Group: v.group, Ready: r.ready, Limit: v.Data.Limit, Dir: v.out, Unscored: data.Unscored, Sound: v.Sound.Input,
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
	for _, a := range r.list {
		s := a.engine.sum()
		read := s.Passes
		read.Add(s.DraftPasses)
		a.Set.Uses(report.MemoryUse{
			Memory: a.memory, GBPS: read.Rate() / 1e9, BytesPerToken: transcript.Ratio(float64(read.Bytes), float64(s.Tokens)),
		})
	}
	d := report.NewDocument(sets, pairs)
	eval.Predict(d)
	return d, nil
}

// writeNames writes the names of the arms beside their records, for report.Find.
func (r *arms) writeNames(ctx context.Context, v *compareCommand) error {
	if v.out == "" {
		return nil
	}
	names := make([]string, len(r.list))
	for i, a := range r.list {
		names[i] = a.Name
	}
	return output.WriteIn(v.out, report.ArmsFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(names) })
}
