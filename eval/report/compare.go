package report

import (
	"math"
	"slices"

	"verity/transcript"
)

// A Verdict is the result of a comparison.
type Verdict string

// The verdicts.
const (
	Identical    Verdict = "identical"    // every utterance is identical to the bit
	Different    Verdict = "different"    // at least one bit of one utterance differs
	Inconclusive Verdict = "inconclusive" // identical, but nothing was drafted, so nothing is proven
	Free         Verdict = "free"         // the variants have different weights or options, so their texts may differ
)

// A Comparison compares two variants over the same utterances: their results and their
// costs.
type Comparison struct {
	Variants     Pair[int]       `json:"arms"`              // indices of the variants
	Names        Pair[string]    `json:"names"`             // names of the runs
	Verdict      Verdict         `json:"verdict"`           // identical, different or inconclusive
	Utterances   int             `json:"utterances"`        // with a hypothesis in both variants
	Failed       int             `json:"failed"`            // without a hypothesis in either variant
	Unpaired     int             `json:"unpaired"`          // with one hypothesis, because the other is in a missing shard
	Resumed      int             `json:"resumed,omitempty"` // pairs of an earlier run; with batches, without their times
	AudioSeconds float64         `json:"audio_seconds"`     // length of the audio
	Identical    IdenticalCounts `json:"identical"`         // utterances that are the same bits in both variants
	Different    int             `json:"different"`         // in any way, failing in one variant included
	Differences  []Difference    `json:"differences"`       // at most fifty

	WER    *Pair[Rate] `json:"wer"`    // of the scored utterances; null if there are none
	Scored int         `json:"scored"` // utterances with a reference, and a hypothesis in both variants

	// The word error rate of the assisted variant minus that of the baseline,
	// with an interval by resampling utterances; left out if every utterance has the
	// same errors in both.
	Change     *Change       `json:"wer_change,omitempty"`
	Groups     []GroupChange `json:"groups,omitempty"`     // with report --by
	Divergence *Divergence   `json:"divergence,omitempty"` // of variants that may differ

	Seconds    Stages     `json:"seconds"`    // time by stage
	Batch      Batch      `json:"batch"`      // how utterances were run together
	Speedup    Speedups   `json:"speedup"`    // baseline seconds over assisted seconds
	Acceptance Acceptance `json:"acceptance"` // what the assistant was worth

	// The speed-up of decoding that theory predicts, from the measured times of passes; null if little or nothing was drafted.
	Predicted *float64 `json:"predicted_speedup"`

	// The share of judged tokens that must be right for drafts to pay here, 1 if they cannot;
	// null if nothing is predicted.
	BreakEven *float64 `json:"break_even"`

	Theory *Theory `json:"theory"` // null if nothing was drafted

	Missing int `json:"-"` // utterances of one set alone, although no shard of the other is missing

	references int // pairs with different references
	runs       Pair[transcript.Provenance]
	foreign    bool      // a set is of another program, which has neither tokens nor times
	decode     []float64 // speed-ups, sorted
}

// Theory is what the theory of speculative decoding expects of an assistant if every draft token is right with the same
// probability: the symbols of Leviathan et al. 2023, arXiv:2211.17192. Its times are of this run: V(m), the time of a
// pass of m rows, and c and E are in steps of plain decoding.
type Theory struct {
	Alpha   float64        `json:"alpha"`            // the chance that a drafted token is right: accepted over judged tokens
	Cost    float64        `json:"draft_cost"`       // c: drafting a token, without what a window needs once
	Length  float64        `json:"draft_length"`     // γ, on average, without the first rounds of windows
	Tokens  float64        `json:"tokens_per_round"` // E at these lengths
	Ideal   float64        `json:"ideal_speedup"`    // E/(c·γ + 1): if a pass of any length took one step
	Best    int            `json:"best_length"`      // 0 if none pays
	Lengths []TheoryLength `json:"lengths"`          // constant ones
}

// TheoryLength is what theory expects of drafts of a constant length.
type TheoryLength struct {
	Length     int      `json:"length"`               // γ
	Tokens     float64  `json:"tokens_per_round"`     // tokens a round yields
	Speedup    *float64 `json:"speedup"`              // of decoding; null if no pass that long was timed
	Ideal      float64  `json:"ideal_speedup"`        // E/(c·γ + 1)
	Operations *float64 `json:"operations_per_token"` // over those of plain decoding; null if unknown
}

// A Change is a difference of word error rates with its interval.
type Change struct {
	Difference float64   `json:"difference"` // assisted minus baseline
	Interval   *Interval `json:"interval"`   // null for fewer than ten utterances
}

// A GroupChange is the change in the utterances with one value of a field of the dataset.
type GroupChange struct {
	Name   string `json:"name"`   // value of the field in the baseline
	Scored int    `json:"scored"` // utterances with references

	Speedup Speedup `json:"speedup"` // of decoding
	Change
}

// A Divergence counts the tokens in which two variants differ, by the shortest edit
// distance for each utterance.
type Divergence struct {
	Tokens int     `json:"tokens"` // in the baseline
	Differ int     `json:"differ"` // substitutions, deletions and insertions
	Share  float64 `json:"share"`  // of tokens that differ
}

// A Pair is one value for each variant.
type Pair[T any] struct {
	Baseline T `json:"baseline"`
	Assisted T `json:"assisted"`
}

// IdenticalCounts counts the utterances that are identical to the bit in both variants.
type IdenticalCounts struct {
	Tokens   int `json:"tokens"`   // in their token ids, timestamps included
	LogProbs int `json:"logprobs"` // also no-speech probabilities, temperatures and compression ratios
	Segments int `json:"segments"` // number, times and text of segments; language
	All      int `json:"all"`      // in all of these
}

// A Difference is an utterance with other results in the two variants.
type Difference struct {
	ID   string       `json:"id"`   // of the utterance
	What []string     `json:"what"` // tokens, logprobs, segments; or "failed in" or "missing in" the name of a variant
	Text Pair[string] `json:"text"` // the text

	Errors *Pair[int] `json:"errors,omitempty"` // wrong words, if the variants may differ and do so in them
}

// maxDifferences is how many differences a comparison names; all are counted.
const maxDifferences = 50

// Stages are seconds by stage, summed over the utterances that both variants have.
type Stages struct {
	Mel     Pair[float64] `json:"mel"`      // reading the sound, and its log-mel spectrogram
	Encode  Pair[float64] `json:"encode"`   // encoder
	CrossKV Pair[float64] `json:"cross_kv"` // keys and values of cross-attention
	Decode  Pair[float64] `json:"decode"`   // decoding, drafts and rules included
	Draft   Pair[float64] `json:"draft"`    // of decoding, drafting
	Verify  Pair[float64] `json:"verify"`   // of decoding, passes of the model
	Rules   Pair[float64] `json:"rules"`    // of verify
	Total   Pair[float64] `json:"total"`    // everything
}

// A Batch says how many utterances ran at the same time, sharing every pass over the
// weights, and how they were timed. Its seconds are wall time summed over all pairs of
// runs. Decode counts the time in which at least one utterance of the group was being
// decoded and none was being encoded. The seconds in records, and their sums in
// Seconds, are per utterance: a shared pass counts in each of them.
type Batch struct {
	Size   int           `json:"size"`           // most utterances at the same time
	Group  int           `json:"group"`          // most utterances timed together
	Pairs  int           `json:"pairs"`          // pairs of runs of a group
	Decode Pair[float64] `json:"decode_seconds"` // time by the clock in which any was decoding
	Total  Pair[float64] `json:"total_seconds"`  // time by the clock

	// Tokens per second of decoding; 0 if nothing was decoded.
	TokensPerSecond Pair[float64] `json:"tokens_per_second"`
}

// Speedups are those of decoding alone and of the whole path from sound to text.
type Speedups struct {
	Decode Speedup `json:"decode"` // decoding, drafts and rules included
	Total  Speedup `json:"total"`  // everything
}

// A Speedup is baseline seconds over assisted seconds. Median, Low and High are the
// 50th, 5th and 95th percentiles over pairs of runs; a pair is one utterance, unless
// utterances were run several times or in groups. Overall is the quotient of the sums:
// the gain over the whole dataset. Mean is the geometric mean over pairs. Interval
// contains it with 95 % confidence, by Student's t on the logarithms; null for fewer
// than three pairs.
type Speedup struct {
	Median   float64     `json:"median"`   // median over pairs of runs
	Low      float64     `json:"low"`      // lower end
	High     float64     `json:"high"`     // upper end
	Overall  float64     `json:"overall"`  // quotient of the sums
	Mean     float64     `json:"mean"`     // geometric mean over pairs
	Interval *[2]float64 `json:"interval"` // 95 % interval of the mean; null for fewer than three pairs
}

// Acceptance sums up the drafts of all measured runs.
type Acceptance struct {
	Runs      int      `json:"runs"`            // of utterances
	Drafted   int      `json:"drafted"`         // tokens the assistant proposed
	Accepted  int      `json:"accepted"`        // drafted by the assistant and accepted
	Rate      float64  `json:"rate"`            // accepted over drafted
	Agreement float64  `json:"alpha_agreement"` // accepted over judged
	Overlap   *float64 `json:"alpha_overlap"`   // mean of Σ min(p, q); null if not measured
	Rounds    int      `json:"rounds"`          // passes of the model
	Empty     int      `json:"empty"`           // rounds without a draft; in the histogram, rounds of 0 tokens
	Histogram []int    `json:"histogram"`       // rounds by number of accepted tokens
	MeanKept  float64  `json:"mean_kept"`       // tokens a round yields

	lost, found int // how often the text to draft from was lost, and found again
}

// Differ returns what differs between two records: tokens, logprobs, segments; nil if they are identical to the bit
// or both failed.
func Differ(a, b *Record) (what []string) {
	switch {
	case a.Error != "" && b.Error != "":
		return nil
	case a.Error != "" || b.Error != "":
		return []string{"failed"}
	}
	var x, y transcript.ChoiceHashes
	if a.ChoiceHashes != nil {
		x = *a.ChoiceHashes
	}
	if b.ChoiceHashes != nil {
		y = *b.ChoiceHashes
	}
	each := func(same func(s, t *transcript.Segment) bool) bool {
		return slices.EqualFunc(a.Segments, b.Segments, func(s, t transcript.Segment) bool { return same(&s, &t) })
	}
	if x.Tokens != y.Tokens || !each(func(s, t *transcript.Segment) bool { return slices.Equal(s.Tokens, t.Tokens) }) {
		what = append(what, "tokens")
	}
	if x.LogProbs != y.LogProbs || !each(func(s, t *transcript.Segment) bool {
		return sameBits(s.AvgLogProb, t.AvgLogProb) && sameBits(s.NoSpeechProb, t.NoSpeechProb) &&
			sameBits(s.Temperature, t.Temperature) && sameBits(s.CompressionRatio, t.CompressionRatio)
	}) {
		what = append(what, "logprobs")
	}
	if a.Hypothesis != b.Hypothesis || a.Language != b.Language || !each(func(s, t *transcript.Segment) bool {
		return sameBits(s.Start, t.Start) && sameBits(s.End, t.End) && s.Text == t.Text
	}) {
		what = append(what, "segments")
	}
	return what
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
