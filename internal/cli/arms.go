package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"verity/eval"
	"verity/internal/output"
	"verity/parallel"
	"verity/precision"
	"verity/report"
	"verity/transcribe"
)

// An armSpec is one way to run a model.
type armSpec struct {
	precision precision.Precision
	assisted  bool
}

// assistedMark follows the precision of an arm that has the assistant.
const assistedMark = "+assistant"

func (a armSpec) String() string {
	if a.assisted {
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
	one  *precisionFlag
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

// An armed is an arm that is ready to run.
type armed struct {
	armSpec
	eval.Arm
	flags  modelFlags // with the precision and the assistant of this arm
	memory int64      // used for loading and running it
	engine *evalEngine
}

// A rack holds the arms of a comparison and what must be closed afterwards.
type rack struct {
	arms   []*armed
	loaded map[precision.Precision]*loaded // without an assistant
	grown  map[precision.Precision]int64   // memory of these
	pool   *parallel.Pool
}

func (r *rack) close() {
	for _, m := range r.loaded {
		m.close()
	}
	r.pool.Close()
}

// openRack opens all arms that v names. Arms of one precision share the weights, and
// all share the threads.
func openRack(ctx context.Context, v *comparing, specs []armSpec, data *corpus, scoring report.Options) (_ *rack, err error) {
	r := &rack{loaded: map[precision.Precision]*loaded{}, grown: map[precision.Precision]int64{}, pool: parallel.New(v.model.threads)}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for _, spec := range specs {
		a, err := r.open(ctx, v, spec, data)
		if err != nil {
			return nil, fmt.Errorf("arm %v: %w", spec, err)
		}
		if a.Set, err = report.NewSet(spec.String(), scoring); err != nil {
			return nil, err
		}
		r.arms = append(r.arms, a)
	}
	return r, nil
}

// open opens an arm and warms it up, so that its memory can be measured.
func (r *rack) open(ctx context.Context, v *comparing, spec armSpec, data *corpus) (*armed, error) {
	a := &armed{armSpec: spec, flags: v.model}
	a.flags.precision.Precision, a.flags.pool, a.flags.arms = spec.precision, r.pool, nil
	if !spec.assisted {
		a.flags.assistant.name = string(transcribe.None)
	}
	before := resident()
	plain, err := r.plain(ctx, a.flags)
	if err != nil {
		return nil, err
	}
	m := plain.Model
	if spec.assisted {
		if m, err = plain.assisted(ctx, &a.flags.assistant); err != nil {
			return nil, err
		}
	}
	if a.engine, err = newEvalEngine(m, v.opt); err != nil {
		return nil, err
	}
	a.Arm = eval.Arm{Name: spec.file(), Engine: a.engine, Run: identity(plain, &a.flags, v.made, data.name)}
	a.Run.Options["precision"] = spec.precision.String()
	if err := eval.WarmUp(ctx, a.engine, data.all(ctx), max(1, v.warmups), v.batch, v.sound.Input); err != nil {
		return nil, err
	}
	a.engine.forget()
	r.measure(a, before)
	return a, nil
}

// measure records the memory that an arm uses. An assisted arm includes that of the
// plain arm whose weights it shares.
func (r *rack) measure(a *armed, before int64) {
	now := resident()
	if before <= 0 || now <= 0 {
		return
	}
	had, shared := r.grown[a.precision]
	a.memory = had + max(0, now-before)
	if !shared {
		r.grown[a.precision] = a.memory
	}
}

// plain returns the model of a precision without assistant, loaded once.
func (r *rack) plain(ctx context.Context, flags modelFlags) (*loaded, error) {
	p := flags.precision.Precision
	if m := r.loaded[p]; m != nil {
		return m, nil
	}
	flags.assistant.name = string(transcribe.None)
	m, err := flags.load(ctx)
	if err == nil {
		r.loaded[p] = m
	}
	return m, err
}

// matches returns the comparisons: every arm with the first, and with the first of the
// same precision if that is another one. Arms of different precisions may differ.
func (r *rack) matches(scoring report.Options) (all []eval.Match, err error) {
	add := func(i, j int) {
		a, errA := report.NewSet(r.arms[i].String(), scoring)
		b, errB := report.NewSet(r.arms[j].String(), scoring)
		if err = errors.Join(err, errA, errB); err != nil {
			return
		}
		p := report.NewPairs(a, b)
		p.Free = r.arms[i].precision != r.arms[j].precision
		all = append(all, eval.Match{Baseline: i, Assisted: j, Pairs: p})
	}
	for j := 1; j < len(r.arms); j++ {
		add(0, j)
	}
	for j := range r.arms {
		if i := slices.IndexFunc(r.arms, func(a *armed) bool { return a.precision == r.arms[j].precision }); i != 0 && i != j {
			add(i, j)
		}
	}
	return all, err
}

// ready makes sure that every assistant drafts something.
func (r *rack) ready() {
	for _, a := range r.arms {
		if auto := a.flags.assistant.auto; auto != nil && a.assisted {
			auto.Try()
		}
		a.engine.forget()
	}
}

// why returns the reason why nothing was drafted, if it is known.
func (r *rack) why() string {
	for _, a := range r.arms {
		if err := a.engine.assistantError(); err != nil {
			return ": " + err.Error()
		}
	}
	return ""
}

// race runs all arms over the dataset, and returns their comparisons.
func (r *rack) race(ctx context.Context, v *comparing, data *corpus, scoring report.Options) ([]eval.Match, error) {
	matches, err := r.matches(scoring)
	if err != nil {
		return nil, err
	}
	arms := make([]eval.Arm, len(r.arms))
	for i, a := range r.arms {
		arms[i] = a.Arm
	}
	bar := newTally(v.env, v.log.quiet, v.log.progress, func() int { return data.count(ctx) })
	defer bar.clear()
	different := 0
	return matches, eval.CompareAll(ctx, arms, matches, data.all(ctx), eval.CompareOptions{
		Warmups: -1, // open warmed up
		Repeats: v.repeats, Batch: v.batch, Group: v.group, Ready: r.ready, Limit: v.data.limit, Dir: v.out, Unscored: data.unscored, Sound: v.sound.Input,
		Watch: func(_ []*report.Record, what []string) {
			if len(what) > 0 {
				different++
			}
			bar.add(fmt.Sprintf("%d differ", different))
		},
	})
}

// runArms is compare with several arms.
func (v *comparing) runArms(ctx context.Context, data *corpus, scoring report.Options) error {
	specs := v.model.arms.list
	if err := v.checkArms(specs); err != nil {
		return err
	}
	stop := v.loading(&v.log, v.model.name)
	r, err := openRack(ctx, v, specs, data, scoring)
	stop()
	if err != nil {
		return err
	}
	defer r.close()
	if err := v.nameArms(ctx, r); err != nil {
		return err
	}
	matches, err := r.race(ctx, v, data, scoring)
	if err != nil {
		return err
	}
	pairs, sets, memory := make([]report.ArmPair, len(matches)), make([]*report.Set, len(r.arms)), make([]int64, len(r.arms))
	for i, m := range matches {
		pairs[i] = report.ArmPair(m)
	}
	for i, a := range r.arms {
		sets[i], memory[i] = a.Set, a.memory
	}
	d := report.DocumentOf(sets, pairs, memory)
	if v.batch <= 1 {
		for i, c := range d.Comparisons {
			if c.Verdict != report.Free {
				c.Predicted = eval.Predict(d.Scores[matches[i].Baseline], d.Scores[matches[i].Assisted])
			}
		}
	}
	if n := d.Comparisons[0].Resumed; n > 0 && !v.log.quiet {
		v.complain(nil, resumedText(d.Comparisons[0], v.batch))
	}
	if err := v.report.write(ctx, v.env, d, d.JSON); err != nil {
		return err
	}
	return v.concludeArms(d, r)
}

// concludeArms returns the error that decides the exit status.
func (v *comparing) concludeArms(d *report.Document, r *rack) error {
	different := 0
	for _, c := range d.Comparisons {
		if c.Verdict == report.Different {
			different = max(different, c.Different)
		}
	}
	switch d.Verdict() {
	case report.Different:
		return differsError{errors.New(differText(different) + " between arms of one precision")}
	case report.Inconclusive:
		return differsError{fmt.Errorf("inconclusive: an arm drafted nothing%s", r.why())}
	}
	return judged(d)
}

// checkArms returns an error about arms that cannot be run.
func (v *comparing) checkArms(specs []armSpec) error {
	assistant := v.model.assistant.method(v.model.name)
	none := assistant == string(transcribe.None)
	if slices.ContainsFunc(specs, func(a armSpec) bool { return a.assisted }) {
		if none {
			return usagef("--precision %v: there is no assistant: name one with --assistant (self, ngram, bigram or a directory)", v.model.arms)
		}
	} else if v.model.assistant.name != "auto" && !none {
		return usagef("--assistant %s: no arm has it: write %s behind a precision", assistant, assistedMark)
	}
	return nil
}

// nameArms writes the names of the arms beside their records, for report.Find.
func (v *comparing) nameArms(ctx context.Context, r *rack) error {
	if v.out == "" {
		return nil
	}
	names := make([]string, len(r.arms))
	for i, a := range r.arms {
		names[i] = a.Name
	}
	if err := os.MkdirAll(v.out, 0o777); err != nil {
		return err
	}
	return output.WriteIn(v.out, report.ArmsFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(names) })
}
