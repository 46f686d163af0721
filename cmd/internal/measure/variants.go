package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"verity"
	"verity/assistant"
	"verity/assistant/ctc"
	"verity/cmd/internal/cli"
	"verity/decoder"
	"verity/eval"
	"verity/eval/report"
	"verity/parallel"
	"verity/precision"
	"verity/transcript"
)

// A setting is what a variant runs with.
type setting struct {
	name      string // baseline, assisted, records in eval, or what tells it from the others: precision, assistant or length
	precision precision.Precision
	chosen    bool // its precision is named, and one of several
	assisted  bool
	assistant string // of several; empty for that of the flags
	length    string // of several, as of --draft-tokens; empty for that of the flags
}

// assistedMark follows the precision of a setting that has the assistant.
const assistedMark = "+assistant"

// file is the name of the file of a variant's records, without .jsonl. Some systems allow no
// colon in a name.
func (s setting) file() string { return strings.NewReplacer(":", "-", "=", "-").Replace(s.name) }

// parseSettings parses the settings of variants, separated by commas.
func parseSettings(s string) (all []setting, err error) {
	for part := range strings.SplitSeq(s, ",") {
		format, assisted := strings.CutSuffix(strings.TrimSpace(part), assistedMark)
		a := setting{assisted: assisted, chosen: true}
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

// settingsOf returns the settings of plain decoding and of decoding with each value of a flag: assistant or draft-tokens.
func settingsOf(p precision.Precision, flag string, values []string) ([]setting, error) {
	all := []setting{{name: "baseline", precision: p}}
	for _, v := range values {
		s := setting{name: filepath.Base(filepath.Clean(v)), precision: p, assisted: true}
		if slices.ContainsFunc(all, func(o setting) bool { return o.name == s.name }) {
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

// A settingsFlag is a flag for one precision, or for several settings.
type settingsFlag struct {
	one  *precision.Precision
	list []setting // nil for a single precision
}

func (a *settingsFlag) Set(s string) (err error) {
	if a.list = nil; !strings.Contains(s, ",") && !strings.HasSuffix(s, assistedMark) {
		*a.one, err = cli.ParsePrecision(s)
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
		names[i] = s.name
	}
	return strings.Join(names, ",")
}

func (a *settingsFlag) Type() string { return "format" }

// settings returns the settings that the flag names. A single precision means two: plain, and
// with the assistant.
func (a *settingsFlag) settings() []setting {
	if a.list != nil {
		return a.list
	}
	return []setting{{name: "baseline", precision: *a.one}, {name: "assisted", precision: *a.one, assisted: true}}
}

// A variant is a setting that is ready to run.
type variant struct {
	setting
	eval.Variant
	flags  cli.ModelFlags // with the precision and the assistant of this variant
	memory int64          // used for loading and running it
	engine *engine
}

// variants are the variants of a run, and what must be closed afterwards. Variants of one precision share
// the weights, and all share the threads.
type variants struct {
	*datasetRun
	list        []*variant
	plain       map[precision.Precision]*verity.Model // without an assistant
	plainMemory map[precision.Precision]int64         // bytes that loading and running them took
	open        []*verity.Model                       // in the order they were loaded
	pool        *parallel.Pool
}

func (r *datasetRun) newVariants() *variants {
	return &variants{
		datasetRun: r, pool: parallel.New(r.Model.Threads),
		plain: map[precision.Precision]*verity.Model{}, plainMemory: map[precision.Precision]int64{},
	}
}

func (r *variants) close() {
	for _, m := range slices.Backward(r.open) {
		m.Close()
	}
	r.pool.Close()
}

// loadAll loads the variants of a comparison, each warm, so that its memory can be measured.
func (r *variants) loadAll(ctx context.Context, settings []setting, data *cli.Corpus) error {
	for _, s := range settings {
		before := cli.Resident()
		a, err := r.load(ctx, s, data.Name)
		if err == nil && s.assisted && !a.engine.model.Model.Assisted() && r.Drafts == nil {
			err = errNoAssistant
		}
		if err == nil {
			a.Set, err = report.NewSet(s.name, r.report.normalizer)
		}
		if err == nil {
			err = eval.WarmUp(ctx, a.Engine, data.All(ctx), r.batch, r.Sound.Input)
		}
		if err != nil {
			return fmt.Errorf("variant %s: %w", s.name, err)
		}
		r.measure(a, before)
		a.Resources = a.resources()
	}
	return nil
}

// load adds the variant of a setting over the named dataset.
func (r *variants) load(ctx context.Context, s setting, dataset string) (_ *variant, err error) {
	a := &variant{setting: s, flags: r.Model}
	a.flags.Precision, a.flags.Pool, a.flags.Several = s.precision, r.pool, nil
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
	plain := r.plain[s.precision]
	if plain == nil {
		if plain, err = a.flags.Load(ctx, r.opt); err != nil {
			return nil, err
		}
		r.plain[s.precision], r.open = plain, append(r.open, plain)
	}
	m := plain
	var drafts *cli.TextSource
	if s.assisted {
		a.flags.Assistant, drafts = assistant, r.Drafts
		if m, err = a.flags.Assisted(ctx, plain, r.opt); err != nil {
			return nil, err
		}
		r.open = append(r.open, m)
	}
	a.engine = newEngine(m, drafts)
	a.Variant = eval.Variant{
		Name: s.file(), Engine: a.engine.transcribe, Decoding: m.Batch.Busy,
		Run: cli.Identity(m, &a.flags, r.TextFlags, dataset),
	}
	if s.chosen {
		a.Run.Options["precision"] = s.precision.String()
	}
	r.list = append(r.list, a)
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
func (r *variants) measure(a *variant, before int64) {
	now := cli.Resident()
	if before <= 0 || now <= 0 {
		return
	}
	plain, shared := r.plainMemory[a.precision]
	a.memory = plain + max(0, now-before)
	if !shared {
		r.plainMemory[a.precision] = a.memory
	}
}

// matches returns the comparisons: of every variant with the first, and with the first variant of its
// precision if that is another one. The first of several draft lengths is compared with each of the others.
func (r *variants) matches() (all []eval.Match) {
	for j := 1; j < len(r.list); j++ {
		all = append(all, eval.Match{Baseline: 0, Assisted: j})
	}
	for j := range r.list {
		i := slices.IndexFunc(r.list, func(a *variant) bool { return a.precision == r.list[j].precision })
		if i != 0 && i != j {
			all = append(all, eval.Match{Baseline: i, Assisted: j})
		}
		if j > 1 && r.list[j].length != "" {
			all = append(all, eval.Match{Baseline: j, Assisted: 1})
		}
	}
	return all
}

// resources returns what is known of a variant before it runs.
func (a *variant) resources() *report.Resources {
	m, r := a.engine.model.Model, &report.Resources{Memory: a.memory, DraftOperations: new(float64)}
	weights := func(d *decoder.Decoder) float64 {
		return float64(d.StepBytes(0)) / float64(d.Precision().Complete().Weights.Bits())
	}
	switch by := m.Assistant.(type) {
	case *assistant.Model:
		*r.DraftOperations = weights(by.Decoder) / weights(m.Decoder)
	case *ctc.Assistant:
		r.WindowOperations = float64(by.Operations(m.Dims.AudioPositions)) / (8 * weights(m.Decoder))
	}
	return r
}

// forceDrafts makes every assistant draft something, since there would be nothing to compare
// otherwise, and clears the statistics of the warm-up.
func (r *variants) forceDrafts() {
	for _, a := range r.list {
		if a.assisted {
			a.engine.model.ForceDraft()
		}
		a.engine.total = transcript.Stats{}
	}
}

// draftFailure returns why nothing was drafted, if it is known.
func (r *variants) draftFailure() string {
	for _, a := range r.list {
		if a.engine.broken != "" {
			return a.engine.broken
		}
	}
	return ""
}

// watch shows the progress of the variants, each of which makes some runs.
func (r *variants) watch(bar *cli.Progress, runs int) {
	var ended atomic.Int64
	all := float64(runs * len(r.list))
	for _, a := range r.list {
		a.engine.progress = func(share float64, end bool) {
			if end {
				ended.Add(1)
				share = 0
			}
			bar.Partly((float64(ended.Load()) + share) / all)
		}
	}
}

// compare runs all variants over the dataset, and compares them.
func (r *variants) compare(ctx context.Context, v *compareCommand, data *cli.Corpus) (*report.Document, error) {
	r.forceDrafts()
	all, sets := make([]eval.Variant, len(r.list)), make([]*report.Set, len(r.list))
	for i, a := range r.list {
		all[i], sets[i] = a.Variant, a.Set
	}
	repeats, within := v.repeats, time.Duration(0)
	if repeats == 0 {
		const enough = 5 // pairs
		repeats, within = 1+(enough-1)/max(1, data.Count(ctx)), time.Minute
	}
	bar := v.NewTally(&v.Log, func() int { return data.Count(ctx) })
	if bar != nil {
		r.watch(bar, repeats*max(1, data.Count(ctx)))
	}
	different := 0
	pairs, err := eval.Compare(ctx, all, r.matches(), data.All(ctx), eval.CompareOptions{
		Repeats: repeats, Within: within, Batch: v.batch, Limit: v.data.Limit, Dir: v.out,
		Unscored: data.Unscored, Sound: v.Sound.Input,
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
	eval.Predict(d)
	return d, nil
}
