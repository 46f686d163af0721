package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"verity/transcript"
	"verity/wer"
)

// CompareSchema is the schema field of a comparison.
const CompareSchema = "verity.compare/1"

// A Verdict is the result of a comparison.
type Verdict string

// The verdicts.
const (
	Identical    Verdict = "identical"    // every utterance is identical to the bit
	Different    Verdict = "different"    // at least one bit of one utterance differs
	Inconclusive Verdict = "inconclusive" // identical, but nothing was drafted, so nothing is proven
	Free         Verdict = "free"         // the arms have different weights, so their texts may differ
)

// A Comparison compares two sets over the same utterances: their results and their
// costs. Its JSON is verity.compare/1. In each pair the baseline comes first.
type Comparison struct {
	Schema       string    `json:"schema"`
	Verdict      Verdict   `json:"verdict"`
	Utterances   int       `json:"utterances"`        // with a hypothesis in both sets
	Failed       int       `json:"failed"`            // without a hypothesis in either set
	Unpaired     int       `json:"unpaired"`          // with one hypothesis, the other being in a missing shard
	Resumed      int       `json:"resumed,omitempty"` // pairs of an earlier run; with batches, without their times
	AudioSeconds float64   `json:"audio_seconds"`
	Identical    Alike     `json:"identical"`
	Different    int       `json:"different"`   // in any way, failing in one arm included
	Differences  []Finding `json:"differences"` // at most fifty

	WER      *Pair[float64] `json:"wer"`       // of the scored utterances; null if there are none
	Scored   int            `json:"scored"`    // utterances with a reference, and a hypothesis in both sets
	NotWorse int            `json:"not_worse"` // of these, with a word error rate no higher than in the baseline

	// The word error rate of the assisted arm minus that of the baseline,
	// with an interval by resampling utterances; left out if every utterance has the
	// same errors in both.
	Change     *Change     `json:"wer_change,omitempty"`
	Divergence *Divergence `json:"divergence,omitempty"` // of arms that may differ

	Seconds Stages       `json:"seconds"`
	Memory  *Pair[int64] `json:"memory_bytes"` // of the process; null if not measured

	Batch      Batch      `json:"batch"`
	Speedup    Speedups   `json:"speedup"`
	Acceptance Acceptance `json:"acceptance"`
	Predicted  *float64   `json:"predicted_speedup"` // of decoding; null if little or nothing was drafted

	Names Pair[string] `json:"names"`
	Runs  Pair[Run]    `json:"runs"`

	decode []float64 // speed-ups, sorted
	scenes []Scene
	arm    int // index of the assisted score in its document; 0 if it is the comparison's own
}

// A Change is a difference of word error rates with its interval.
type Change struct {
	Difference float64 `json:"difference"` // assisted minus baseline
	Interval
}

// A Divergence counts the tokens in which two arms differ, by the shortest edit
// distance for each utterance.
type Divergence struct {
	Tokens int     `json:"tokens"` // in the baseline
	Differ int     `json:"differ"` // substitutions, deletions and insertions
	Share  float64 `json:"share"`  // of tokens that differ
}

// A Pair is one value for each arm.
type Pair[T any] struct {
	Baseline T `json:"baseline"`
	Assisted T `json:"assisted"`
}

// Alike counts the utterances that are identical to the bit in both arms.
type Alike struct {
	Tokens   int `json:"tokens"`
	LogProbs int `json:"logprobs"` // also no-speech probabilities, temperatures and compression ratios
	Segments int `json:"segments"` // number, times and text of segments; language
	All      int `json:"all"`
}

// A Finding is an utterance that differs.
type Finding struct {
	ID   string       `json:"id"`
	What []string     `json:"what"` // tokens, logprobs, segments; or the arm that failed or has no record
	Text Pair[string] `json:"text"`
}

// maxFindings is how many differences a comparison names; all are counted.
const maxFindings = 50

// Stages are seconds by stage, summed over the utterances that both sets have.
type Stages struct {
	Mel     Pair[float64] `json:"mel"`
	Encode  Pair[float64] `json:"encode"`
	CrossKV Pair[float64] `json:"cross_kv"`
	Decode  Pair[float64] `json:"decode"`
	Draft   Pair[float64] `json:"draft"`
	Verify  Pair[float64] `json:"verify"`
	Rules   Pair[float64] `json:"rules"` // of verify
	Total   Pair[float64] `json:"total"`
}

// Speedups are those of decoding alone and of the whole path from sound to text.
type Speedups struct {
	Decode Speedup `json:"decode"`
	Total  Speedup `json:"total"`
}

// A Speedup is baseline seconds over assisted seconds. Median, Low and High are the
// 50th, 5th and 95th percentiles over pairs of runs; a pair is one utterance, unless
// utterances were run several times or in groups. Overall is the quotient of the sums:
// the gain over the whole dataset. Mean is the geometric mean over pairs. Interval
// contains it with 95 % confidence, by Student's t on the logarithms; null for fewer
// than three pairs.
type Speedup struct {
	Median   float64     `json:"median"`
	Low      float64     `json:"low"`
	High     float64     `json:"high"`
	Overall  float64     `json:"overall"`
	Mean     float64     `json:"mean"`
	Interval *[2]float64 `json:"interval"`
}

// Acceptance sums up the drafts of all measured runs: those of Time if the comparison
// is Timed, else those of the records.
type Acceptance struct {
	Runs      int      `json:"runs"` // of utterances
	Drafted   int      `json:"drafted"`
	Accepted  int      `json:"accepted"`
	Rate      float64  `json:"rate"`
	Agreement float64  `json:"alpha_agreement"` // accepted over judged
	Overlap   *float64 `json:"alpha_overlap"`   // mean of Σ min(p, q); null if not measured
	Rounds    int      `json:"rounds"`
	Empty     int      `json:"empty"`     // rounds without a draft; the histogram counts them as rounds with no accepted token
	Histogram []int    `json:"histogram"` // rounds by number of accepted tokens
	MeanKept  float64  `json:"mean_kept"`
}

// Pairs collects two sets, utterance by utterance, and compares them. It is not safe
// for concurrent use.
type Pairs struct {
	Baseline, Assisted *Set

	// Free says that the arms may differ, because their weights do. Differences are
	// counted but are not an error.
	Free bool

	// Timed says that speed-ups come from Time alone, not from the records that Add
	// gets.
	Timed bool

	c             Comparison
	decode, total []float64                // speed-ups
	runs          int                      // of utterances, passed to Time
	drafting      transcript.Drafts        // of the assisted arm in all runs
	words         Pair[wer.Counts]         // of utterances with a reference
	scored        Pair[[]wer.Counts]       // of each
	tokens        wer.Counts               // of the assisted arm against the baseline, if they may differ
	seconds       Pair[transcript.Seconds] // of the utterances that both sets have
}

// NewPairs compares two sets, which must be empty.
func NewPairs(baseline, assisted *Set) *Pairs { return &Pairs{Baseline: baseline, Assisted: assisted} }

// Add adds the two records of one utterance. It returns what differs between them: nil
// if they are identical or both failed.
func (p *Pairs) Add(ctx context.Context, baseline, assisted *Record) ([]string, error) {
	if baseline.ID != assisted.ID {
		return nil, fmt.Errorf("utterance %s is paired with %s", baseline.ID, assisted.ID)
	}
	a, err := p.Baseline.Add(ctx, baseline)
	if err != nil {
		return nil, err
	}
	b, err := p.Assisted.Add(ctx, assisted)
	if err != nil {
		return nil, err
	}
	what := p.add(digestOf(baseline, a), digestOf(assisted, b))
	if p.Free && baseline.Error == "" && assisted.Error == "" {
		p.tokens = p.tokens.Plus(wer.Count(baseline.Tokens(), assisted.Tokens()))
	}
	p.find(baseline.ID, what, Pair[string]{words(baseline), words(assisted)})
	return what, nil
}

// Resume is Add for a pair from an earlier run of this comparison. timed says that the
// times in the records are those of a pair of runs.
func (p *Pairs) Resume(ctx context.Context, baseline, assisted *Record, timed bool) ([]string, error) {
	what, err := p.Add(ctx, baseline, assisted)
	if err != nil {
		return nil, err
	}
	p.c.Resumed++
	if p.Timed {
		p.runs++
		p.drafting.Add(assisted.Drafting)
		if timed {
			p.time(baseline.Seconds, assisted.Seconds)
		}
	}
	return what, nil
}

// words returns a record's hypothesis, or its error.
func words(r *Record) string {
	if r.Error != "" {
		return "failed: " + r.Error
	}
	return r.Hypothesis
}

// find counts a difference and keeps it if there is room.
func (p *Pairs) find(id string, what []string, text Pair[string]) {
	if len(what) == 0 {
		return
	}
	p.c.Different++
	if p.Free && text.Baseline == text.Assisted {
		return // no text to show
	}
	if len(p.c.Differences) < maxFindings {
		p.c.Differences = append(p.c.Differences, Finding{id, what, text})
	}
}

// add compares two digests and counts the result.
func (p *Pairs) add(a, b digest) (what []string) {
	switch {
	case a.failed && b.failed:
		p.c.Failed++
		return nil
	case a.failed:
		return []string{"baseline failed"}
	case b.failed:
		return []string{"assisted failed"}
	}
	p.c.Utterances++
	p.c.AudioSeconds += a.duration
	proven := a.proven && b.proven
	for _, x := range []struct {
		name  string
		same  bool
		count *int
	}{
		{"tokens", a.tokens == b.tokens && (!proven || a.choices == b.choices), &p.c.Identical.Tokens},
		{"logprobs", a.logProbs == b.logProbs && (!proven || a.odds == b.odds), &p.c.Identical.LogProbs},
		{"segments", a.segments == b.segments, &p.c.Identical.Segments},
	} {
		if x.same {
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
		p.words.Baseline, p.words.Assisted = p.words.Baseline.Plus(a.words), p.words.Assisted.Plus(b.words)
		p.scored.Baseline, p.scored.Assisted = append(p.scored.Baseline, a.words), append(p.scored.Assisted, b.words)
		p.c.NotWorse += wer.NotWorse([]wer.Counts{b.words}, []wer.Counts{a.words})
		p.c.Scored++
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
	c, a, b := p.c, p.Baseline.Score(), p.Assisted.Score()
	c.Schema = CompareSchema
	c.Names, c.Runs = Pair[string]{a.Name, b.Name}, Pair[Run]{a.Run, b.Run}
	c.Seconds = stagesOf(p.seconds.Baseline, p.seconds.Assisted)
	decode, total := c.Seconds.Decode, c.Seconds.Total
	if c.Batch.Pairs > 0 {
		decode, total = c.Batch.Decode, c.Batch.Total
	}
	c.Batch.speeds()
	c.Speedup.Decode = speedup(p.decode, decode)
	c.Speedup.Total = speedup(p.total, total)
	c.decode, c.scenes = slices.Sorted(slices.Values(p.decode)), p.Scenes()
	if c.Scored > 0 {
		c.WER = &Pair[float64]{p.words.Baseline.Rate(), p.words.Assisted.Rate()}
		c.Change = p.change()
	}
	d, runs := b.Drafting, c.Utterances
	if p.Timed {
		d, runs = p.drafting, p.runs
	}
	c.Acceptance = Acceptance{
		Runs: runs, Drafted: d.Drafted, Accepted: d.Accepted, Rate: d.Rate(), Agreement: d.Agreement(),
		Rounds: d.Rounds, Empty: d.Empty, Histogram: slices.Clone(d.Histogram), MeanKept: d.MeanKept(),
	}
	if d.Weighed > 0 {
		mean := d.MeanOverlap()
		c.Acceptance.Overlap = &mean
	}
	if c.Acceptance.Histogram == nil {
		c.Acceptance.Histogram = []int{}
	}
	c.Verdict = Identical
	switch {
	case p.Free:
		c.Verdict = Free
		c.Divergence = &Divergence{p.tokens.Ref(), p.tokens.Errors(), p.tokens.Rate()}
	case c.Different > 0:
		c.Verdict = Different
	case d.Drafted == 0: // also if there are no utterances
		c.Verdict = Inconclusive
	}
	if c.Differences == nil {
		c.Differences = []Finding{}
	}
	return &c
}

// change returns the difference of the word error rates; nil if every utterance has the
// same errors in both arms.
func (p *Pairs) change() *Change {
	if slices.Equal(p.scored.Baseline, p.scored.Assisted) {
		return nil
	}
	o := p.Assisted.opt.Bootstrap
	i := o.Difference(p.scored.Assisted, p.scored.Baseline)
	return &Change{p.words.Assisted.Rate() - p.words.Baseline.Rate(), Interval{i.Low, i.High, cmp.Or(o.Level, 0.95)}}
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
