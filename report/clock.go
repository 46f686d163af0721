package report

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"verity/transcript"
)

// A Batch says how many utterances ran at the same time, sharing every pass over the
// weights, and how they were timed. Its seconds are wall time summed over all pairs of
// runs. Decode counts the time in which at least one utterance of the group was being
// decoded and none was being encoded. The seconds in records, and their sums in
// Seconds, are per utterance: a shared pass counts in each of them.
type Batch struct {
	Size   int           `json:"size"`  // most utterances at the same time
	Group  int           `json:"group"` // most utterances timed together
	Pairs  int           `json:"pairs"` // pairs of runs of a group
	Decode Pair[float64] `json:"decode_seconds"`
	Total  Pair[float64] `json:"total_seconds"`

	// Tokens per second of decoding; 0 if nothing was decoded.
	TokensPerSecond Pair[float64] `json:"tokens_per_second"`

	tokens Pair[float64]
}

// Time adds a pair of runs of a group of utterances, size of them at the same time:
// their records in both arms, and the wall seconds of decoding and in total. A group in
// which an utterance failed in only one arm is not timed, but its drafts are counted.
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
		tokens.Baseline += float64(r.Work.Tokens)
		tokens.Assisted += float64(assisted[i].Work.Tokens)
	}
	if decode.Baseline <= 0 || decode.Assisted <= 0 {
		return
	}
	b.Pairs++
	b.Decode, b.Total, b.tokens = plus(b.Decode, decode), plus(b.Total, total), plus(b.tokens, tokens)
	p.time(transcript.Seconds{Decode: decode.Baseline, Total: total.Baseline},
		transcript.Seconds{Decode: decode.Assisted, Total: total.Assisted})
}

func plus(a, b Pair[float64]) Pair[float64] {
	return Pair[float64]{a.Baseline + b.Baseline, a.Assisted + b.Assisted}
}

// speeds computes the rates from the sums.
func (b *Batch) speeds() {
	b.TokensPerSecond = Pair[float64]{transcript.Ratio(b.tokens.Baseline, b.Decode.Baseline),
		transcript.Ratio(b.tokens.Assisted, b.Decode.Assisted)}
}

// clock returns the speeds of batches as lines of label and value.
func (c *Comparison) clock() (l [][2]string) {
	if b := c.Batch; b.Size > 1 {
		l = append(l, [2]string{"batch", fmt.Sprintf("%d utterances at a time: %.1f tokens a second baseline, %.1f assisted",
			b.Size, b.TokensPerSecond.Baseline, b.TokensPerSecond.Assisted)})
	}
	return l
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
