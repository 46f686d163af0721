package eval

import (
	"math"
	"sort"
	"strconv"

	"verity/assistant"
	"verity/eval/report"
	"verity/transcript"
)

// Predict fills in what theory expects of each assistant that is compared with plain decoding of the same model, from
// what was measured. Drafts whose tokens are right independently, each with probability α, yield E(α, γ) tokens in a
// round; a round takes c·γ + V(γ+1) steps. Where the prediction is far off, tokens are not right independently.
// Utterances decoded together share their times, so nothing is predicted of them.
//
// Source: Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8; assistant.Theory.
func Predict(d *report.Document) {
	for _, c := range d.Comparisons {
		a, b := d.Scores[c.Variants.Baseline], d.Scores[c.Variants.Assisted]
		same := a.Run.ModelID == b.Run.ModelID && a.Run.Precision == b.Run.Precision && a.Drafting.Drafted == 0
		if same && c.Batch.Size <= 1 && !a.Overlaps() && !b.Overlaps() {
			predict(c, a, b)
		}
	}
}

// predict fills in c, unless nothing was drafted. If fewer than one token was drafted in twenty rounds, no speed-up is
// predicted: that would only compare two measurements of the same work.
func predict(c *report.Comparison, baseline, assisted *report.Score) {
	p, q := baseline.Drafting, assisted.Drafting
	if q.Drafted == 0 || len(p.PassSeconds) == 0 || p.PassSeconds[0] <= 0 {
		return
	}
	m := measure(baseline, assisted)
	alpha := c.Acceptance.Agreement // of all runs, of which the scores have one
	if o := c.Acceptance.Overlap; o != nil && samplesByRejection(assisted.Run.Options) {
		alpha = *o
	}
	if q.Drafted*20 >= q.Rounds && len(q.Passes) > 0 {
		expected := m.speedup(alpha)
		even := float64(sort.Search(100, func(percent int) bool { return m.speedup(float64(percent)/100) > 1 })) / 100
		c.Predicted, c.BreakEven = &expected, &even
	}

	t := assistant.Theory{Alpha: alpha, Cost: m.cost, Verify: m.passCost}
	tokens, steps := m.rounds(alpha, func(int) float64 { return 1 })
	c.Theory = &report.Theory{
		Alpha: c.Acceptance.Agreement, Cost: m.cost, Length: m.length(),
		Tokens: transcript.Ratio(tokens, float64(sum(q.Passes))), Ideal: transcript.Ratio(tokens, steps),
	}
	const longest = 64 // tokens
	for n, most := 1, 1.0; n <= longest; n++ {
		if s := m.constant(t, n); s > most {
			c.Theory.Best, most = n, s
		}
	}
	for _, n := range []int{1, 2, 3, 5, 8, 12} {
		ideal := assistant.Theory{Alpha: alpha, Cost: m.cost}
		x := report.TheoryLength{Length: n, Tokens: assistant.Expected(alpha, n), Ideal: ideal.Speedup(n)}
		if s := m.constant(t, n); s > 0 {
			x.Speedup = &s
		}
		if o := assisted.DraftOperations; o != nil {
			ideal.Operations = *o
			ratio := ideal.OperationsRatio(n)
			x.Operations = &ratio
		}
		c.Theory.Lengths = append(c.Theory.Lengths, x)
	}
}

// samplesByRejection reports whether a token is accepted with probability Σ min(p, q).
func samplesByRejection(options map[string]string) bool {
	temperature, _ := strconv.ParseFloat(options["temperature"], 64) // 0 if it is not given
	return options["sampler"] == "rejection" && temperature > 0
}

// measured is plain decoding and decoding with drafts of the same text, as measured.
type measured struct {
	plain, drafts transcript.Drafts
	step          float64 // seconds of a plain pass
	cost          float64 // of drafting a token, in steps
	firsts        float64 // rounds that begin an attempt
	firstLength   float64 // tokens drafted in each
	decode        float64 // seconds of plain decoding
	other         float64 // seconds with drafts, without the rounds after the first of each attempt
	apart         curve   // passes measured apart, in passes of one row
}

func measure(baseline, assisted *report.Score) measured {
	a, b := baseline.Seconds, assisted.Seconds
	m := measured{plain: baseline.Drafting, drafts: assisted.Drafting, decode: a.Decode, apart: baseline.Steps}
	if n := len(m.apart); n > 0 && !(m.apart[0] > 0 && m.apart[n-1] > 0) {
		m.apart = nil
	}
	m.step = m.plain.PassSeconds[0] / float64(m.plain.Passes[0])
	m.drafts.PassSeconds = rising(m.drafts.Passes, m.drafts.PassSeconds, m.step)
	m.cost = (b.Draft - b.Opening) / float64(m.drafts.Drafted) / m.step
	drafted := m.drafts.Drafted
	for n, count := range m.drafts.Passes {
		drafted -= n * count
	}
	m.firsts = float64(min(assisted.Work.Attempts, m.drafts.Rounds-sum(m.drafts.Passes)))
	m.firstLength = transcript.Ratio(float64(drafted), m.firsts)
	m.other = a.Decode - m.plain.PassSeconds[0] - a.Prefill + b.Prefill + b.Opening
	return m
}

// rising returns the seconds of passes, by their rows, as if none took less than step, and none less than one of fewer rows:
// where the means fall, all take the mean of both.
func rising(passes []int, seconds []float64, step float64) []float64 {
	type block struct {
		begin, passes int
		seconds       float64
	}
	var blocks []block
	mean := func(b block) float64 { return transcript.Ratio(b.seconds, float64(b.passes)) }
	for i, n := range passes {
		if n == 0 {
			continue
		}
		b := block{i, n, max(seconds[i], step*float64(n))}
		for len(blocks) > 0 && mean(blocks[len(blocks)-1]) > mean(b) {
			last := blocks[len(blocks)-1]
			b, blocks = block{last.begin, last.passes + b.passes, last.seconds + b.seconds}, blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	list := make([]float64, len(seconds))
	for _, b := range blocks {
		for i := b.begin; i < len(list); i++ {
			list[i] = mean(b) * float64(passes[i])
		}
	}
	return list
}

// rounds returns the tokens of the rounds at the lengths that were used, and what they take in steps.
func (m measured) rounds(alpha float64, pass func(rows int) float64) (tokens, steps float64) {
	for n, count := range m.drafts.Passes {
		if count > 0 {
			tokens += float64(count) * assistant.Expected(alpha, n)
			steps += float64(count) * (m.cost*float64(n) + pass(n+1))
		}
	}
	return tokens, steps
}

// length returns the mean draft length of those rounds.
func (m measured) length() float64 {
	drafted := 0
	for n, count := range m.drafts.Passes {
		drafted += n * count
	}
	return transcript.Ratio(float64(drafted), float64(sum(m.drafts.Passes)))
}

// speedup returns the expected speed-up of decoding at the lengths that were used.
func (m measured) speedup(alpha float64) float64 {
	tokens, steps := m.rounds(alpha, m.passCost)
	return m.overall(alpha, m.firstLength, tokens/steps)
}

// constant returns the expected speed-up of decoding with drafts of n tokens; 0 if it is unknown.
func (m measured) constant(t assistant.Theory, n int) float64 {
	if t.Speedup(n) == 0 {
		return 0
	}
	return m.overall(t.Alpha, float64(n), t.Speedup(n))
}

// overall returns the speed-up of all of decoding. first is the draft length in the first round of each attempt, and
// speedup is that of the rounds after it.
func (m measured) overall(alpha, first, speedup float64) float64 {
	n, more := math.Modf(first)
	extra := (1-more)*assistant.Expected(alpha, int(n)) + more*assistant.Expected(alpha, int(n)+1) - 1
	left := max(0, float64(m.plain.Passes[0])-m.firsts*extra)
	return m.decode / (m.other + m.step*(m.cost*m.firsts*first+left/speedup))
}

// passCost returns the cost of a pass with a number of rows, in passes of one row. It interpolates between the numbers of
// rows of the run. Above the largest of them it rises as passes do that were measured apart, and is infinite without such.
func (m measured) passCost(rows int) float64 {
	const few = 3 // passes of a length: their mean says little
	run := curve{m.step}
	for i, n := range m.drafts.Passes {
		if n >= few || n > 0 && i+1 == rows {
			run = append(append(run, make(curve, max(0, i-len(run)))...)[:i], m.drafts.PassSeconds[i]/float64(n))
		}
	}
	last := len(run)
	switch {
	case rows <= last:
		return run.at(rows) / m.step
	case rows > len(m.apart):
		return math.Inf(1)
	}
	return run.at(last) / m.step * m.apart.at(rows) / m.apart.at(last)
}

// A curve is the time of passes by their rows, from 1 on; 0 where it is unknown. The first and the last are known.
type curve []float64

// at returns the time of a pass, which it interpolates where it is unknown.
func (c curve) at(rows int) float64 {
	below, above := rows-1, rows-1
	for c[below] == 0 {
		below--
	}
	for c[above] == 0 {
		above++
	}
	share := transcript.Ratio(float64(rows-1-below), float64(above-below))
	return c[below] + (c[above]-c[below])*share
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}
