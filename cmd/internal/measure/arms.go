package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"verity"
	"verity/cmd/internal/options"
	"verity/cmd/internal/setup"
	"verity/eval"
	"verity/eval/report"
	"verity/parallel"
	"verity/precision"
	"verity/transcript"
)

// A setting is what an arm runs with.
type setting struct {
	name      string // where it is no precision: baseline, assisted, or the records of eval; else empty
	precision precision.Precision
	assisted  bool
}

// assistedMark follows the precision of a setting that has the assistant.
const assistedMark = "+assistant"

func (s setting) String() string {
	switch {
	case s.name != "":
		return s.name
	case s.assisted:
		return s.precision.String() + assistedMark
	}
	return s.precision.String()
}

// file is the name of the file of an arm's records, without .jsonl. Some systems allow no
// colon in a name.
func (s setting) file() string { return strings.NewReplacer(":", "-", "=", "-").Replace(s.String()) }

// parseSettings parses the settings of arms, separated by commas.
func parseSettings(s string) (all []setting, err error) {
	for part := range strings.SplitSeq(s, ",") {
		format, assisted := strings.CutSuffix(strings.TrimSpace(part), assistedMark)
		a := setting{assisted: assisted}
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
func pair(p precision.Precision) []setting {
	return []setting{{"baseline", p, false}, {"assisted", p, true}}
}

// A settingsFlag is a flag for one precision, or for several settings.
type settingsFlag struct {
	one  *precision.Precision
	list []setting // nil for a single precision
}

func (a *settingsFlag) Set(s string) (err error) {
	if a.list = nil; !strings.Contains(s, ",") && !strings.HasSuffix(s, assistedMark) {
		*a.one, err = options.ParsePrecision(s)
		return err
	}
	a.list, err = parseSettings(s)
	return err
}

func (a *settingsFlag) String() string {
	if a.one == nil {
		return ""
	}
	if a.list == nil {
		return a.one.String()
	}
	names := make([]string, len(a.list))
	for i, s := range a.list {
		names[i] = s.String()
	}
	return strings.Join(names, ",")
}

func (a *settingsFlag) Type() string { return "format" }

// settings returns those that the flag names. A single precision means two: plain, and
// with the assistant.
func (a *settingsFlag) settings() []setting {
	if a.list != nil {
		return a.list
	}
	return pair(*a.one)
}

// An arm is a setting that is ready to run.
type arm struct {
	setting
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
	plain map[precision.Precision]*verity.Model // without an assistant
	grown map[precision.Precision]int64         // memory of these
	open  []*verity.Model                       // in the order they were loaded
	pool  *parallel.Pool
}

func (r *datasetRun) newArms() *arms {
	return &arms{datasetRun: r, plain: map[precision.Precision]*verity.Model{}, grown: map[precision.Precision]int64{}, pool: parallel.New(r.model.Threads)}
}

func (r *arms) close() {
	for _, m := range slices.Backward(r.open) {
		m.Close()
	}
	r.pool.Close()
}

// add adds the arms of a comparison, each warm, so that its memory can be measured.
func (r *arms) add(ctx context.Context, settings []setting, data *setup.Corpus) error {
	for _, s := range settings {
		before := setup.Resident()
		a, err := r.load(ctx, s, data.Name)
		if err == nil {
			a.Set, err = report.NewSet(s.String(), r.report.normalizer)
		}
		if err == nil {
			err = eval.WarmUp(ctx, a.Engine, data.All(ctx), r.batch, r.sound.Input)
		}
		if err != nil {
			return fmt.Errorf("arm %v: %w", s, err)
		}
		r.measure(a, before)
	}
	return nil
}

// load adds the arm of a setting over the named dataset.
func (r *arms) load(ctx context.Context, s setting, dataset string) (_ *arm, err error) {
	a := &arm{setting: s, flags: r.model}
	a.flags.Precision, a.flags.Pool, a.flags.Several = s.precision, r.pool, nil
	with := a.flags.Assistant
	a.flags.Assistant = with.Off()
	plain := r.plain[s.precision]
	if plain == nil {
		if plain, err = a.flags.Load(ctx, r.opt); err != nil {
			return nil, err
		}
		r.plain[s.precision], r.open = plain, append(r.open, plain)
	}
	m := plain
	var drafts *setup.DraftSource
	if s.assisted {
		a.flags.Assistant, drafts = with, r.drafts
		if m, err = a.flags.Assisted(ctx, plain, r.opt); err != nil {
			return nil, err
		}
		r.open = append(r.open, m)
	}
	a.engine = newEngine(m, drafts)
	a.Arm = eval.Arm{
		Name: s.file(), Engine: a.engine.transcribe, Decoding: m.Batch.Busy,
		Run: setup.Identity(plain, &a.flags, r.textFlags, dataset),
	}
	if s.name == "" {
		a.Run.Options["precision"] = s.precision.String()
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
		if auto := a.engine.model.Auto; auto != nil && a.assisted {
			auto.ForceDraft()
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
