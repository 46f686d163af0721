package decoder

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"verity/internal/kernel"
	"verity/tokenizer"
)

// SearchOptions configure the decoding of one window in several sequences. The zero value
// is one sequence.
type SearchOptions struct {
	// EOT is end-of-text.
	EOT tokenizer.Token

	// Beams is the number of live sequences of a beam search. 0 and 1 mean no beam
	// search.
	Beams int

	// Patience ends a beam search when Beams times as many sequences have ended. 0
	// means 1.
	Patience float64

	// Samples is how many sequences are sampled if there is no beam search. 0 means 1.
	Samples int

	// LengthPenalty is α of Wu et al. 2016: sums of log-probabilities are divided by
	// ((5+tokens)/6)^α before they are compared. Nil means to divide by the tokens.
	LengthPenalty *float64
}

// MaxSequences is the maximum number of sequences of a search. Each has its own keys and
// values, 73 MB with large models.
const MaxSequences = 64

// Size returns how many sequences there are.
func (o SearchOptions) Size() int {
	if o.Beams > 1 {
		return o.Beams
	}
	return max(1, o.Samples)
}

// A Hypothesis is one sequence of a search.
type Hypothesis struct {
	// Choices end with end-of-text if the sequence has ended.
	Choices []Choice

	// Score is the value that sequences are ranked by.
	Score float64

	sum    float32 // of log-probabilities
	sample int
}

// with returns h with one more choice.
func (h Hypothesis) with(t tokenizer.Token, logProb float32) Hypothesis {
	h.Choices, h.sum = append(slices.Clip(h.Choices), Choice{t, logProb}), h.sum+logProb
	return h
}

// A SearchResult is the result of a search.
type SearchResult struct {
	Hypotheses   []Hypothesis // the best first
	NoSpeechProb float32      // see Session.NoSpeechProb
	Passes       int
	Traffic      Traffic
	RulesTime    time.Duration // spent in rules and choices
}

// Search decodes a window in the sequences of w. All sequences share every pass.
//
// With Beams it is a beam search, whatever the temperature; else sequences are sampled,
// sequence i with the noise of Sampling.Sample i.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, BeamSearchDecoder, GreedyDecoder,
// MaximumLikelihoodRanker and DecodingTask.
func (d *Decoder) Search(
	ctx context.Context, c *Cross, o SessionOptions, w SearchOptions,
) (*SearchResult, error) {
	o.Sampling.Sample = 0
	first, err := d.NewSession(c, o) // checks o
	if err != nil {
		return nil, err
	}
	s := &search{SearchOptions: w, runner: first.o.Runner, live: []*beam{{session: first}}, result: new(SearchResult)}
	defer s.close()
	for range first.Limit() {
		enough, err := s.step(ctx)
		if err != nil {
			return nil, err
		}
		if enough || len(s.live) == 0 {
			break
		}
	}
	s.finish()
	return s.result, nil
}

// A search is the state of Search.
type search struct {
	SearchOptions
	runner Runner
	live   []*beam // sequences that have not ended
	ended  []Hypothesis
	rows   []Row
	logits []float32
	result *SearchResult
}

// A beam is a live sequence.
type beam struct {
	Hypothesis
	session *Session
}

// close closes all live sequences.
func (s *search) close() {
	for _, b := range s.live {
		s.closeBeam(b)
	}
	s.live = nil
}

func (s *search) closeBeam(b *beam) {
	s.result.Traffic.Add(b.session.Traffic())
	b.session.Close()
}

// step extends every live sequence by a token. It reports whether enough sequences have
// ended.
func (s *search) step(ctx context.Context) (enough bool, err error) {
	s.rows = s.rows[:0]
	for _, b := range s.live {
		b.session.buildRows(nil)
		s.rows = append(s.rows, b.session.rows...)
	}
	logits, err := s.runner.StepInto(ctx, s.rows, &s.logits)
	if err != nil {
		return false, err
	}
	began := time.Now()
	defer func() { s.result.RulesTime += time.Since(began) }()
	s.result.Passes++
	var rows [][]float32
	for _, b := range s.live {
		logits, _ = b.session.eachPosition(logits, func(_ int, row []float32) (more bool, err error) {
			rows = append(rows, row)
			return true, nil
		})
	}
	s.result.NoSpeechProb = s.live[0].session.NoSpeechProb
	if s.Beams > 1 {
		return s.extendBeams(rows)
	}
	return false, s.extendSamples(rows)
}

// extendSamples draws a token for each sequence. The first pass is the same for all, so
// it has run once.
func (s *search) extendSamples(rows [][]float32) error {
	if s.result.Passes == 1 {
		for i := 1; i < s.Size(); i++ {
			f := s.live[0].session.fork()
			f.o.Sampling.Sample = i
			f.chooser = f.o.Sampling.chooser()
			s.live, rows = append(s.live, &beam{Hypothesis{sample: i}, f}), append(rows, rows[0])
		}
	}
	live := s.live
	s.live = nil
	for i, b := range live {
		row, x := rows[i], b.session
		t := x.chooser.choose(row, len(x.tokens))
		if row[t] == negInf {
			s.live = append(s.live, live[i:]...)
			return forbidden(len(x.tokens))
		}
		b.Hypothesis = b.with(t, row[t]-kernel.LogSumExp(row))
		if t == s.EOT {
			s.closeBeam(b)
			s.ended = append(s.ended, b.Hypothesis)
		} else {
			x.tokens = append(x.tokens, t)
			s.live = append(s.live, b)
		}
	}
	return nil
}

// A candidate is a live sequence and one more token.
type candidate struct {
	from    int // index of the sequence
	token   tokenizer.Token
	logProb float32
	sum     float32
}

// extendBeams keeps the best continuations. Those with end-of-text have ended; of the
// others, as many as there are beams stay live.
func (s *search) extendBeams(rows [][]float32) (enough bool, err error) {
	most := int(math.RoundToEven(float64(s.Beams) * cmp.Or(s.Patience, 1)))
	candidates := s.candidates(rows)
	if len(candidates) == 0 {
		return false, forbidden(len(s.live[0].session.tokens))
	}
	var next []candidate
	for _, c := range candidates {
		if c.token != s.EOT {
			if next = append(next, c); len(next) == s.Beams {
				break
			}
		} else if len(s.ended) < most {
			s.ended = append(s.ended, s.live[c.from].with(c.token, c.logProb))
		}
	}
	s.setLive(next)
	return len(s.ended) >= most, nil
}

// candidates returns the continuations of all live sequences with the likeliest tokens,
// the best first. Each sequence has one more than there are beams, since one may be
// end-of-text.
func (s *search) candidates(rows [][]float32) []candidate {
	var all []candidate
	for i, row := range rows {
		lse := kernel.LogSumExp(row)
		for _, t := range top(row, s.Beams+1) {
			lp := row[t] - lse
			all = append(all, candidate{i, t, lp, s.live[i].sum + lp})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.sum, a.sum) })
	return all
}

// top returns the n tokens with the highest logits, the highest first and the lowest id
// among equals, without forbidden ones.
func top(row []float32, n int) []tokenizer.Token {
	best := make([]tokenizer.Token, 0, n+1)
	for i, v := range row {
		if !(v > negInf) || len(best) == n && v <= row[best[n-1]] {
			continue
		}
		at := len(best)
		for at > 0 && v > row[best[at-1]] {
			at--
		}
		best = slices.Insert(best, at, tokenizer.Token(i))
		best = best[:min(len(best), n)]
	}
	return best
}

// setLive makes next the live sequences. The first continuation of a sequence reuses its session;
// the others copy it.
func (s *search) setLive(next []candidate) {
	live := make([]*beam, len(next))
	reused := make([]bool, len(s.live))
	for i, c := range next {
		from := s.live[c.from]
		live[i] = &beam{from.with(c.token, c.logProb), from.session}
		if reused[c.from] {
			live[i].session = from.session.fork()
		}
		reused[c.from] = true
	}
	for i, b := range s.live {
		if !reused[i] {
			s.closeBeam(b)
		}
	}
	for i, c := range next {
		live[i].session.tokens = append(live[i].session.tokens, c.token)
	}
	s.live = live
}

// finish ranks the ended sequences. If fewer have ended than were asked for, it adds the
// best of the live ones.
func (s *search) finish() {
	var rest []Hypothesis
	for _, b := range s.live {
		rest = append(rest, b.Hypothesis)
	}
	beams := s.Beams > 1
	if beams {
		slices.Reverse(rest) // of equal ones the last comes first, as in upstream
		slices.SortStableFunc(rest, func(a, b Hypothesis) int { return cmp.Compare(b.sum, a.sum) })
	}
	missing := max(0, s.Size()-len(s.ended))
	s.ended = append(s.ended, rest[:min(missing, len(rest))]...)
	if !beams {
		slices.SortFunc(s.ended, func(a, b Hypothesis) int { return cmp.Compare(a.sample, b.sample) })
	}
	for i, h := range s.ended {
		s.ended[i].Score = s.score(h)
	}
	slices.SortStableFunc(s.ended, func(a, b Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
	s.result.Hypotheses = s.ended
}

// score returns the sum of log-probabilities divided by the length penalty.
func (s *search) score(h Hypothesis) float64 {
	n := float64(len(h.Choices))
	if n > 0 && h.Choices[len(h.Choices)-1].Token == s.EOT {
		n--
	}
	if s.LengthPenalty == nil {
		return float64(h.sum) / max(1, n) // upstream divides by zero
	}
	return float64(h.sum) / math.Pow((5+n)/6, *s.LengthPenalty)
}
