package decoder

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"verity/internal/kernel"
	"verity/tokenizer"
)

// SearchOptions say how several sequences of one window are decoded together, and how the
// best is found. The zero value is one sequence.
type SearchOptions struct {
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

// MaxSequences is the most sequences of a search: each holds keys and values of its own,
// 73 MB with large models.
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
}

// A Found is the result of a search.
type Found struct {
	Hypotheses   []Hypothesis // the best first
	NoSpeechProb float32      // see Session.NoSpeechProb
	Passes       int
	Traffic      Traffic
	Judging      time.Duration // in rules and choices
}

// Search decodes a window in the sequences of o.Search, at most limit tokens of each (see
// Session.Limit), with end-of-text eot. All sequences share every pass.
//
// With Beams it is a beam search, whatever the temperature; else sequences are sampled,
// sequence i with the noise of Sampling.Sample i.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, BeamSearchDecoder, GreedyDecoder,
// MaximumLikelihoodRanker and DecodingTask.
func (d *Decoder) Search(
	ctx context.Context, c *Cross, o SessionOptions, eot tokenizer.Token, limit int,
) (*Found, error) {
	if err := o.Search.Check(); err != nil {
		return nil, err
	}
	first, err := d.NewSession(c, o) // checks o
	if err != nil {
		return nil, err
	}
	s := &search{d: d, o: first.o, so: o.Search, eot: eot, found: new(Found)}
	s.live = []*beam{{stream: first.stream, tokens: slices.Clone(o.Prompt)}}
	defer s.close()
	for i := range o.Search.Size() {
		sampling := o.Sampling
		sampling.Sample = i
		s.pick = append(s.pick, sampling.chooser())
	}
	for i := 0; i < first.Limit(limit) && len(s.live) > 0; i++ {
		rows, err := s.pass(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		enough, err := s.extend(rows)
		s.found.Judging += time.Since(began)
		if err != nil {
			return nil, err
		}
		if enough {
			break
		}
	}
	s.finish()
	return s.found, nil
}

// A search is the state of Search.
type search struct {
	d      *Decoder
	o      SessionOptions
	so     SearchOptions
	eot    tokenizer.Token
	pick   []*chooser // of each sample
	live   []*beam    // sequences that have not ended
	ended  []*beam
	rows   []Row
	logits []float32
	found  *Found
}

// A beam is one sequence.
type beam struct {
	stream  *Stream
	tokens  []tokenizer.Token // prompt and chosen, without end-of-text
	choices []Choice
	sum     float32 // of log-probabilities
	sample  int
}

// close returns the streams.
func (s *search) close() {
	for _, b := range s.live {
		s.drop(b.stream)
	}
	s.live = nil
}

func (s *search) drop(x *Stream) {
	s.found.Traffic.Add(x.traffic)
	x.Close()
}

// pass runs the tokens of live sequences that have not run yet, and returns for each the
// logits of the next token, after the rules.
func (s *search) pass(ctx context.Context) ([][]float32, error) {
	s.rows = s.rows[:0]
	for _, b := range s.live {
		last := len(b.tokens) - 1
		for p := b.stream.Len(); p <= last; p++ {
			loud := p == last || s.o.NoSpeech >= 0 && p == s.o.SOT
			s.rows = append(s.rows, Row{b.stream, p, b.tokens[p], !loud})
		}
	}
	logits, err := s.o.Stepper.Lend(ctx, s.rows, &s.logits)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	defer func() { s.found.Judging += time.Since(began) }()
	s.found.Passes++
	var rows [][]float32
	for _, r := range s.rows {
		if r.Silent {
			continue
		}
		row := logits[:s.d.dims.Vocab]
		logits = logits[s.d.dims.Vocab:]
		if s.o.NoSpeech >= 0 && r.Position == s.o.SOT {
			s.found.NoSpeechProb = kernel.Exp(row[s.o.NoSpeech] - kernel.LogSumExp(row))
		}
		b := s.live[len(rows)]
		if r.Position < len(b.tokens)-1 {
			continue
		}
		for _, rule := range s.o.Rules {
			rule.Apply(row, b.tokens, len(s.o.Prompt))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// extend gives every live sequence its next token. It reports whether enough sequences
// have ended.
func (s *search) extend(rows [][]float32) (enough bool, err error) {
	if s.so.Beams > 1 {
		return s.extendBeams(rows)
	}
	return false, s.extendSamples(rows)
}

// extendSamples draws a token for each sequence. The first pass is the same for all, so
// it has run once.
func (s *search) extendSamples(rows [][]float32) error {
	if len(s.live) < len(s.pick) && len(s.live[0].choices) == 0 {
		for i := 1; i < len(s.pick); i++ {
			b := s.live[0].fork(s.live[0].stream.Fork())
			b.sample = i
			s.live, rows = append(s.live, b), append(rows, rows[0])
		}
	}
	live := s.live
	s.live = nil
	for i, b := range live {
		row := rows[i]
		t := s.pick[b.sample].choose(row, len(b.tokens))
		if row[t] == negInf {
			s.live = append(s.live, live[i:]...)
			return forbidden(len(b.tokens))
		}
		b.add(t, row[t]-kernel.LogSumExp(row), s.eot)
		if t == s.eot {
			s.drop(b.stream)
			s.ended = append(s.ended, b)
		} else {
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
	most := int(math.RoundToEven(float64(s.so.Beams) * cmp.Or(s.so.Patience, 1)))
	candidates := s.candidates(rows)
	if len(candidates) == 0 {
		return false, forbidden(len(s.live[0].tokens))
	}
	var next []candidate
	for _, c := range candidates {
		if c.token != s.eot {
			if next = append(next, c); len(next) == s.so.Beams {
				break
			}
			continue
		}
		if len(s.ended) < most {
			b := s.live[c.from].fork(nil)
			b.add(c.token, c.logProb, s.eot)
			s.ended = append(s.ended, b)
		}
	}
	s.move(next)
	return len(s.ended) >= most, nil
}

// candidates returns the continuations of all live sequences with the likeliest tokens,
// the best first. Each sequence has one more than there are beams, since one may be
// end-of-text.
func (s *search) candidates(rows [][]float32) []candidate {
	var all []candidate
	for i, row := range rows {
		lse := kernel.LogSumExp(row)
		for _, t := range top(row, s.so.Beams+1) {
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

// move makes next the live sequences. The first one that continues a sequence takes its
// stream; the others copy it.
func (s *search) move(next []candidate) {
	live := make([]*beam, len(next))
	taken := make([]bool, len(s.live))
	for i, c := range next {
		from := s.live[c.from]
		if stream := from.stream; taken[c.from] {
			live[i] = from.fork(stream.Fork())
		} else {
			live[i], taken[c.from] = from.fork(stream), true
		}
	}
	for i, b := range s.live {
		if !taken[i] {
			s.drop(b.stream)
		}
	}
	for i, c := range next {
		live[i].add(c.token, c.logProb, s.eot)
	}
	s.live = live
}

// fork returns a copy of b over a stream.
func (b *beam) fork(x *Stream) *beam {
	return &beam{stream: x, tokens: slices.Clone(b.tokens), choices: slices.Clone(b.choices),
		sum: b.sum, sample: b.sample}
}

func (b *beam) add(t tokenizer.Token, logProb float32, eot tokenizer.Token) {
	b.choices = append(b.choices, Choice{t, logProb})
	b.sum += logProb
	if t != eot {
		b.tokens = append(b.tokens, t)
	}
}

// finish ranks the ended sequences. If fewer have ended than were asked for, it adds the
// best of the live ones.
func (s *search) finish() {
	rest := slices.Clone(s.live)
	if s.so.Beams > 1 {
		slices.Reverse(rest) // of equal ones the last comes first, as in upstream
		slices.SortStableFunc(rest, func(a, b *beam) int { return cmp.Compare(b.sum, a.sum) })
	}
	for _, b := range rest {
		if len(s.ended) >= s.so.Size() {
			break
		}
		s.ended = append(s.ended, b)
	}
	if s.so.Beams <= 1 {
		slices.SortFunc(s.ended, func(a, b *beam) int { return cmp.Compare(a.sample, b.sample) })
	}
	for _, b := range s.ended {
		s.found.Hypotheses = append(s.found.Hypotheses, Hypothesis{b.choices, s.score(b)})
	}
	slices.SortStableFunc(s.found.Hypotheses, func(a, b Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
}

// score returns the sum of log-probabilities divided by the length penalty.
func (s *search) score(b *beam) float64 {
	n := float64(len(b.tokens) - len(s.o.Prompt))
	if s.so.LengthPenalty == nil {
		return float64(b.sum) / max(1, n) // upstream divides by zero
	}
	return float64(b.sum) / math.Pow((5+n)/6, *s.so.LengthPenalty)
}

// Check returns an error if the options are invalid.
func (o SearchOptions) Check() error {
	switch {
	case o.Beams < 0 || o.Samples < 0 || max(o.Beams, o.Samples) > MaxSequences:
		return fmt.Errorf("decoder: search: got %d beams and %d samples, want 0 to %d", o.Beams, o.Samples, MaxSequences)
	case !(o.Patience >= 0 && o.Patience <= MaxSequences):
		return fmt.Errorf("decoder: search: patience: got %v, want 0 to %d", o.Patience, MaxSequences)
	case o.LengthPenalty != nil && !(*o.LengthPenalty >= 0 && *o.LengthPenalty <= 1):
		return fmt.Errorf("decoder: search: length penalty: got %v, want 0 to 1", *o.LengthPenalty)
	}
	return nil
}
