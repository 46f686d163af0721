package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"verity/transcript"
	"verity/wer"
)

// Pairs compares two sets, utterance by utterance. It is not safe for concurrent use.
//
// An utterance that only one set has is a difference. If shards of the other set are missing, it counts as unpaired
// instead.
type Pairs struct {
	Baseline, Assisted *Set

	// Timed means that only Time measures speed-ups: the times in the records do not count.
	Timed bool

	batch    Batch
	times    quotients
	runs     int               // of utterances, passed to Time
	resumed  int               // of utterances, passed to Resume
	drafting transcript.Drafts // of the assisted variant in all runs
	clock    Pair[float64]     // tokens in the time that Time was given
}

// NewPairs compares two sets.
func NewPairs(baseline, assisted *Set) *Pairs { return &Pairs{Baseline: baseline, Assisted: assisted} }

// Resume adds a pair from an earlier run of this comparison. If timed, the times in the
// records are those of a pair of runs.
func (p *Pairs) Resume(baseline, assisted *Record, timed bool) {
	p.resumed++
	p.runs++
	p.drafting.Add(assisted.Drafting)
	if timed {
		p.times.add(baseline.Seconds, assisted.Seconds)
	}
}

// Time adds a pair of runs of a group of utterances, of which size ran at the same time. It gets
// their records in both variants, and the wall seconds of decoding and in total. A group in which an
// utterance failed in only one variant is not timed, but its drafts are counted.
func (p *Pairs) Time(size int, baseline, assisted []*Record, decode, total Pair[float64]) {
	b := &p.batch
	b.Size, b.Group = max(b.Size, size), max(b.Group, len(baseline))
	for _, r := range assisted {
		if r.Error == "" {
			p.runs++
			p.drafting.Add(r.Drafting)
		}
	}
	var tokens Pair[float64]
	for i, r := range baseline {
		if (r.Error != "") != (assisted[i].Error != "") {
			return
		}
		tokens = plus(tokens, Pair[float64]{float64(r.Work.Tokens), float64(assisted[i].Work.Tokens)})
	}
	if decode.Baseline <= 0 || decode.Assisted <= 0 {
		return
	}
	b.Pairs++
	b.Decode, b.Total, p.clock = plus(b.Decode, decode), plus(b.Total, total), plus(p.clock, tokens)
	p.times.add(transcript.Seconds{Decode: decode.Baseline, Total: total.Baseline},
		transcript.Seconds{Decode: decode.Assisted, Total: total.Assisted})
}

func plus(a, b Pair[float64]) Pair[float64] {
	return Pair[float64]{a.Baseline + b.Baseline, a.Assisted + b.Assisted}
}

// quotients are the speed-ups of pairs of runs.
type quotients struct{ decode, total []float64 }

func (q *quotients) add(a, b transcript.Seconds) {
	for _, x := range []struct {
		all  *[]float64
		a, b float64
	}{{&q.decode, a.Decode, b.Decode}, {&q.total, a.Total, b.Total}} {
		// Records may contain anything: skip a ratio that is not finite.
		if q := x.a / x.b; x.a > 0 && x.b > 0 && q > 0 && !math.IsInf(q, 0) {
			*x.all = append(*x.all, q)
		}
	}
}

// Comparison returns the result.
func (p *Pairs) Comparison() *Comparison {
	a, b := p.Baseline, p.Assisted
	t := &tally{pairs: p, groups: map[string]*groupPairs{},
		times: quotients{slices.Clone(p.times.decode), slices.Clone(p.times.total)}}
	t.free = len(a.utterances) > 0 && len(b.utterances) > 0 && !MustAgree(a.score.Run, b.score.Run)
	c := &t.Comparison
	c.Differences = []Difference{}
	partial := Pair[bool]{a.shards().Incomplete() != "", b.shards().Incomplete() != ""}
	c.Names, c.runs = Pair[string]{a.name, b.name}, Pair[transcript.Provenance]{a.score.Run, b.score.Run}
	c.foreign, c.Batch, c.Resumed = a.foreign || b.foreign, p.batch, p.resumed
	for _, x := range a.utterances {
		if at, ok := b.index[x.ID]; ok {
			t.add(x, b.utterances[at])
		} else {
			t.addMissing(x, utterance{Record: new(Record)}, b.name, partial.Assisted)
		}
	}
	for _, y := range b.utterances {
		if _, ok := a.index[y.ID]; !ok {
			t.addMissing(utterance{Record: new(Record)}, y, a.name, partial.Baseline)
		}
	}
	x, y := t.seconds.Baseline, t.seconds.Assisted
	c.Seconds = Stages{
		Mel: Pair[float64]{x.Mel, y.Mel}, Encode: Pair[float64]{x.Encode, y.Encode},
		CrossKV: Pair[float64]{x.CrossKV, y.CrossKV}, Decode: Pair[float64]{x.Decode, y.Decode},
		Draft: Pair[float64]{x.Draft, y.Draft}, Verify: Pair[float64]{x.Verify, y.Verify},
		Rules: Pair[float64]{x.Rules, y.Rules}, Total: Pair[float64]{x.Total, y.Total},
	}
	decode, total := c.Seconds.Decode, c.Seconds.Total
	if c.Batch.Pairs > 0 {
		decode, total = c.Batch.Decode, c.Batch.Total
	}
	c.Batch.TokensPerSecond = Pair[float64]{transcript.Ratio(p.clock.Baseline, c.Batch.Decode.Baseline),
		transcript.Ratio(p.clock.Assisted, c.Batch.Decode.Assisted)}
	c.Speedup = Speedups{speedup(t.times.decode, decode), speedup(t.times.total, total)}
	c.decode = slices.Sorted(slices.Values(t.times.decode))
	t.countErrors()
	c.Acceptance = p.acceptance(c.Utterances)
	c.Verdict = t.verdict()
	if t.tokens.Ref() > 0 {
		c.Divergence = &Divergence{t.tokens.Ref(), t.tokens.Errors(), t.tokens.Rate()}
	}
	if t.free {
		slices.SortStableFunc(c.Differences, func(x, y Difference) int { return cmp.Compare(y.changed(), x.changed()) })
	}
	c.Differences = c.Differences[:min(len(c.Differences), maxDifferences)]
	return c
}

func (t *tally) verdict() Verdict {
	switch {
	case t.free:
		return Free
	case t.Different > 0:
		return Different
	case t.Acceptance.Drafted == 0 && t.pairs.Baseline.score.Drafting.Drafted == 0: // in neither; also without utterances
		return Inconclusive
	}
	return Identical
}

// A tally sums up the pairs of a comparison.
type tally struct {
	Comparison
	pairs   *Pairs
	times   quotients
	free    bool
	seconds Pair[transcript.Seconds]
	words   Pair[[]wer.Counts] // of utterances with a reference
	groups  map[string]*groupPairs
	tokens  wer.Counts // of the assisted variant against the baseline, if they may differ
}

// groupPairs are the pairs of one group.
type groupPairs struct {
	times  quotients
	decode Pair[float64] // s
	words  Pair[[]wer.Counts]
}

// add compares the records of an utterance.
func (t *tally) add(a, b utterance) {
	c, what := &t.Comparison, Differ(a.Record, b.Record)
	switch {
	case a.Error != "" && b.Error != "":
		c.Failed++
		return
	case a.Error != "":
		what = []string{"failed in " + t.pairs.Baseline.name}
	case b.Error != "":
		what = []string{"failed in " + t.pairs.Assisted.name}
	default:
		t.addTexts(a, b, what)
	}
	if len(what) > 0 {
		c.Different++
		t.list(a, b, what)
	}
}

// addTexts counts what differs between two texts, their times and their errors.
func (t *tally) addTexts(a, b utterance, what []string) {
	c := &t.Comparison
	c.Utterances++
	c.AudioSeconds += a.Duration
	same := &c.Identical
	for name, count := range map[string]*int{"tokens": &same.Tokens, "logprobs": &same.LogProbs, "segments": &same.Segments} {
		if !slices.Contains(what, name) {
			*count++
		}
	}
	if len(what) == 0 {
		c.Identical.All++
	}
	if !t.pairs.Timed {
		t.times.add(a.Seconds, b.Seconds)
	}
	t.seconds.Baseline.Add(a.Seconds)
	t.seconds.Assisted.Add(b.Seconds)
	if t.groups[a.group] == nil {
		t.groups[a.group] = &groupPairs{}
	}
	g := t.groups[a.group]
	g.times.add(a.Seconds, b.Seconds)
	g.decode = plus(g.decode, Pair[float64]{a.Seconds.Decode, b.Seconds.Decode})
	if t.free && t.runs.Baseline.ModelID == t.runs.Assisted.ModelID {
		t.tokens = t.tokens.Plus(wer.Count(a.Tokens(), b.Tokens()))
	}
	if a.NoReference || b.NoReference {
		return
	}
	if normal := normalizer("basic", ""); a.Reference != b.Reference && normal(a.Reference) != normal(b.Reference) {
		c.references++
	}
	for _, w := range []*Pair[[]wer.Counts]{&t.words, &g.words} {
		w.Baseline, w.Assisted = append(w.Baseline, a.score.Words), append(w.Assisted, b.score.Words)
	}
}

// addMissing counts an utterance that another set lacks. One that failed has no hypothesis to compare, and is not
// counted. partial says that shards of that set are missing.
func (t *tally) addMissing(a, b utterance, lacking string, partial bool) {
	switch {
	case a.Error != "" || b.Error != "":
	case partial:
		t.Unpaired++
	default:
		t.Missing++
		t.list(a, b, []string{"missing in " + lacking})
	}
}

// list lists a difference. Of variants that may differ it lists those in which the number of errors has changed, those
// with the most first, and where no reference tells, other texts.
func (t *tally) list(a, b utterance, what []string) {
	d := Difference{ID: cmp.Or(a.ID, b.ID), What: what, Text: Pair[string]{textOf(a.Record), textOf(b.Record)}}
	x, y := a.score.Words.Errors(), b.score.Words.Errors()
	scored := a.ID != "" && b.ID != "" && a.Error == "" && b.Error == "" && !a.NoReference && !b.NoReference
	switch {
	case t.free && (d.Text.Baseline == d.Text.Assisted || scored && x == y):
		return
	case t.free && scored:
		d.Errors = &Pair[int]{x, y}
	}
	t.Differences = append(t.Differences, d)
}

// changed returns by how much the number of errors has changed.
func (d Difference) changed() int {
	if d.Errors == nil {
		return 0
	}
	return max(d.Errors.Assisted-d.Errors.Baseline, d.Errors.Baseline-d.Errors.Assisted)
}

// textOf returns a record's hypothesis, or its error.
func textOf(r *Record) string {
	if r.Error != "" {
		return "failed: " + r.Error
	}
	return r.Hypothesis
}

// countErrors fills in the word error rates and their paired difference, which is nil if
// every utterance has the same errors in both variants.
func (t *tally) countErrors() {
	c := &t.Comparison
	for _, name := range slices.Sorted(maps.Keys(t.groups)) {
		if g := t.groups[name]; t.pairs.Baseline.by != "" {
			c.Groups = append(c.Groups, GroupChange{name, len(g.words.Baseline), speedup(g.times.decode, g.decode), changeOf(g.words)})
		}
	}
	if c.Scored = len(t.words.Baseline); c.Scored == 0 {
		return
	}
	c.WER = &Pair[Rate]{Rate(wer.Sum(t.words.Baseline).Rate()), Rate(wer.Sum(t.words.Assisted).Rate())}
	if slices.Equal(t.words.Baseline, t.words.Assisted) {
		return
	}
	change := changeOf(t.words)
	c.Change = &change
}

// changeOf returns the change of the word error rate over some utterances.
func changeOf(words Pair[[]wer.Counts]) Change {
	c := Change{Difference: wer.Sum(words.Assisted).Rate() - wer.Sum(words.Baseline).Rate()}
	if len(words.Baseline) >= fewUtterances {
		i := wer.Difference(words.Assisted, words.Baseline)
		c.Interval = &Interval{i.Low, i.High, level}
	}
	return c
}

// acceptance sums up what was drafted in all runs.
func (p *Pairs) acceptance(utterances int) Acceptance {
	d, runs := p.Assisted.score.Drafting, utterances
	if p.Timed {
		d, runs = p.drafting, p.runs
	}
	a := Acceptance{
		Runs: runs, Drafted: d.Drafted, Accepted: d.Accepted, Rate: d.Rate(), Agreement: d.Agreement(),
		Rounds: d.Rounds, Empty: d.Empty, Histogram: append([]int{}, d.Histogram...), MeanKept: d.TokensPerRound(),
		lost: d.TextLost, found: d.TextFound,
	}
	if d.Compared > 0 {
		mean := d.MeanOverlap()
		a.Overlap = &mean
	}
	return a
}

// speedup summarises the quotients of pairs and the quotient of their sums.
func speedup(quotients []float64, sum Pair[float64]) Speedup {
	if len(quotients) == 0 {
		return Speedup{}
	}
	q := slices.Sorted(slices.Values(quotients))
	mean, interval := meanInterval(q)
	return Speedup{quantile(q, 0.5), quantile(q, 0.05), quantile(q, 0.95),
		transcript.Ratio(sum.Baseline, sum.Assisted), mean, interval}
}

// meanInterval returns the geometric mean of quotients and its 95 % interval, by
// Student's t on their logarithms. The interval is nil for fewer than three quotients.
func meanInterval(quotients []float64) (mean float64, interval *[2]float64) {
	logs := make([]float64, len(quotients))
	for i, q := range quotients {
		logs[i] = math.Log(q)
	}
	m, s := stat.MeanStdDev(logs, nil)
	if len(logs) < 3 {
		return math.Exp(m), nil
	}
	n := float64(len(logs))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * s / math.Sqrt(n)
	return math.Exp(m), &[2]float64{math.Exp(m - half), math.Exp(m + half)}
}

// quantile returns the p-quantile of n sorted values, interpolated linearly at index
// p·(n-1), so that 0.5 gives the usual median. (Gonum's LinInterp interpolates at p·n,
// which is below the median for few values.)
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	if i < 0 {
		return sorted[0]
	}
	f := at - float64(i)
	return sorted[i]*(1-f) + sorted[i+1]*f
}
