package report

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"verity/transcript"
	"verity/wer"
)

// Pairs compares two sets, utterance by utterance. It is not safe for concurrent use.
type Pairs struct {
	Baseline, Assisted *Set

	// Timed means that only Time measures speed-ups: the times in the records do not count.
	Timed bool

	c             Comparison
	free          bool              // the variants may differ
	decode, total []float64         // speed-ups
	runs          int               // of utterances, passed to Time
	drafting      transcript.Drafts // of the assisted variant in all runs
	seconds       Pair[transcript.Seconds]
	words         Pair[[]wer.Counts] // of utterances with a reference
	groups        []string           // of the same utterances; nil without groups
	tokens        wer.Counts         // of the assisted variant against the baseline, if they may differ
	clock         Pair[float64]      // tokens in the time that Time was given
}

// NewPairs compares two sets.
func NewPairs(baseline, assisted *Set) *Pairs { return &Pairs{Baseline: baseline, Assisted: assisted} }

// Add compares the two records of one utterance, which the sets have already, given their word
// counts. It returns what differs: nil if the records are identical or both failed, or if the
// runs may differ ([MustAgree]).
func (p *Pairs) Add(baseline, assisted *Record, of Pair[wer.Counts]) []string {
	a, b := digestOf(baseline, of.Baseline), digestOf(assisted, of.Assisted)
	p.free = !MustAgree(baseline.Run, assisted.Run)
	what := p.compare(a, b)
	if p.free && !a.failed && !b.failed {
		p.tokens = p.tokens.Plus(wer.Count(baseline.Tokens(), assisted.Tokens()))
	}
	p.addDifference(a, b, what)
	if p.free {
		return nil
	}
	return what
}

// Resume is Add for a pair from an earlier run of this comparison. If timed, the times in the
// records are those of a pair of runs.
func (p *Pairs) Resume(baseline, assisted *Record, of Pair[wer.Counts], timed bool) []string {
	what := p.Add(baseline, assisted, of)
	p.c.Resumed++
	p.runs++
	p.drafting.Add(assisted.Drafting)
	if timed {
		p.time(baseline.Seconds, assisted.Seconds)
	}
	return what
}

// Time adds a pair of runs of a group of utterances, of which size ran at the same time. It gets
// their records in both variants, and the wall seconds of decoding and in total. A group in which an
// utterance failed in only one variant is not timed, but its drafts are counted.
func (p *Pairs) Time(size int, baseline, assisted []*Record, decode, total Pair[float64]) {
	b := &p.c.Batch
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
	p.time(transcript.Seconds{Decode: decode.Baseline, Total: total.Baseline},
		transcript.Seconds{Decode: decode.Assisted, Total: total.Assisted})
}

func plus(a, b Pair[float64]) Pair[float64] {
	return Pair[float64]{a.Baseline + b.Baseline, a.Assisted + b.Assisted}
}

// textOf returns a record's hypothesis, or its error.
func textOf(r *Record) string {
	if r.Error != "" {
		return "failed: " + r.Error
	}
	return r.Hypothesis
}

// addDifference counts and lists a difference.
func (p *Pairs) addDifference(a, b digest, what []string) {
	if len(what) == 0 {
		return
	}
	p.c.Different++
	p.list(a, b, what)
}

// list lists a difference if there is room and text to show. The digest of an utterance that one set lacks is empty.
func (p *Pairs) list(a, b digest, what []string) {
	if len(p.c.Differences) < maxDifferences && !(p.free && a.text == b.text) {
		p.c.Differences = append(p.c.Differences, Difference{cmp.Or(a.id, b.id), what, Pair[string]{a.text, b.text}})
	}
}

// compare compares two digests and counts the result.
func (p *Pairs) compare(a, b digest) (what []string) {
	switch {
	case a.failed && b.failed:
		p.c.Failed++
		return nil
	case a.failed:
		return []string{"failed in " + p.Baseline.name}
	case b.failed:
		return []string{"failed in " + p.Assisted.name}
	}
	p.c.Utterances++
	p.c.AudioSeconds += a.duration
	for i, x := range []struct {
		name  string
		count *int
	}{{"tokens", &p.c.Identical.Tokens}, {"logprobs", &p.c.Identical.LogProbs}, {"segments", &p.c.Identical.Segments}} {
		if a.hashes[i] == b.hashes[i] {
			*x.count++
		} else {
			what = append(what, x.name)
		}
	}
	if len(what) == 0 {
		p.c.Identical.All++
	}
	if !p.Timed {
		p.time(a.seconds, b.seconds)
	}
	p.seconds.Baseline.Add(a.seconds)
	p.seconds.Assisted.Add(b.seconds)
	if a.scored && b.scored {
		if a.ref != b.ref {
			p.c.references++
		}
		p.words.Baseline, p.words.Assisted = append(p.words.Baseline, a.words), append(p.words.Assisted, b.words)
		if p.Baseline.by != "" {
			p.groups = append(p.groups, a.group)
		}
	}
	return what
}

func (p *Pairs) time(a, b transcript.Seconds) {
	for _, x := range []struct {
		all  *[]float64
		a, b float64
	}{{&p.decode, a.Decode, b.Decode}, {&p.total, a.Total, b.Total}} {
		// Records may contain anything: skip a ratio that is not finite.
		if q := x.a / x.b; x.a > 0 && x.b > 0 && q > 0 && !math.IsInf(q, 0) {
			*x.all = append(*x.all, q)
		}
	}
}

// Comparison returns the result.
func (p *Pairs) Comparison() *Comparison {
	c := p.c
	c.Names = Pair[string]{p.Baseline.name, p.Assisted.name}
	c.runs = Pair[transcript.Provenance]{p.Baseline.score.Run, p.Assisted.score.Run}
	c.foreign = p.Baseline.foreign || p.Assisted.foreign
	c.Seconds = stagesOf(p.seconds.Baseline, p.seconds.Assisted)
	decode, total := c.Seconds.Decode, c.Seconds.Total
	if c.Batch.Pairs > 0 {
		decode, total = c.Batch.Decode, c.Batch.Total
	}
	c.Batch.TokensPerSecond = Pair[float64]{transcript.Ratio(p.clock.Baseline, c.Batch.Decode.Baseline),
		transcript.Ratio(p.clock.Assisted, c.Batch.Decode.Assisted)}
	c.Speedup = Speedups{speedup(p.decode, decode), speedup(p.total, total)}
	c.decode = slices.Sorted(slices.Values(p.decode))
	p.errors(&c)
	c.Acceptance = p.acceptance(c.Utterances)
	switch c.Verdict = Identical; {
	case p.free:
		c.Verdict = Free
	case c.Different > 0:
		c.Verdict = Different
	case c.Acceptance.Drafted == 0 && p.Baseline.score.Drafting.Drafted == 0: // in neither; also if there are no utterances
		c.Verdict = Inconclusive
	}
	if p.tokens.Ref() > 0 {
		c.Divergence = &Divergence{p.tokens.Ref(), p.tokens.Errors(), p.tokens.Rate()}
	}
	if c.Differences == nil {
		c.Differences = []Difference{}
	}
	return &c
}

// errors fills in the word error rates and their paired difference, which is nil if
// every utterance has the same errors in both variants.
func (p *Pairs) errors(c *Comparison) {
	if c.Scored = len(p.words.Baseline); c.Scored == 0 {
		return
	}
	c.WER = &Pair[float64]{sum(p.words.Baseline).Rate(), sum(p.words.Assisted).Rate()}
	if slices.Equal(p.words.Baseline, p.words.Assisted) {
		return
	}
	change := changeOf(p.words)
	c.Change = &change
	for _, name := range slices.Compact(slices.Sorted(slices.Values(p.groups))) {
		var words Pair[[]wer.Counts]
		for i, group := range p.groups {
			if group == name {
				words.Baseline, words.Assisted = append(words.Baseline, p.words.Baseline[i]), append(words.Assisted, p.words.Assisted[i])
			}
		}
		c.Groups = append(c.Groups, GroupChange{name, len(words.Baseline), changeOf(words)})
	}
}

func sum(all []wer.Counts) (s wer.Counts) {
	for _, x := range all {
		s = s.Plus(x)
	}
	return s
}

// changeOf returns the change of the word error rate over some utterances.
func changeOf(words Pair[[]wer.Counts]) Change {
	c := Change{Difference: sum(words.Assisted).Rate() - sum(words.Baseline).Rate()}
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

func stagesOf(a, b transcript.Seconds) Stages {
	return Stages{
		Mel: Pair[float64]{a.Mel, b.Mel}, Encode: Pair[float64]{a.Encode, b.Encode},
		CrossKV: Pair[float64]{a.CrossKV, b.CrossKV}, Decode: Pair[float64]{a.Decode, b.Decode},
		Draft: Pair[float64]{a.Draft, b.Draft}, Verify: Pair[float64]{a.Verify, b.Verify},
		Rules: Pair[float64]{a.Rules, b.Rules}, Total: Pair[float64]{a.Total, b.Total},
	}
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
