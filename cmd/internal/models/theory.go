package models

import (
	"fmt"
	"strings"

	"verity/assistant"
	"verity/cmd/internal/cli"
	"verity/eval/bench"
)

// A guess replaces the measurement of an assistant.
type guess struct {
	alpha float64 // chance that a drafted token is accepted, or noGuess
	cost  float64 // of drafting a token, in steps of the model
}

const noGuess = -1

func (g guess) given() bool { return g != guess{alpha: noGuess} }

// check reports the first invalid flag. measured means that passes of the model are timed.
func (g guess) check(measured bool) error {
	const mostCost = 1000
	switch {
	case g.alpha == noGuess:
		return cli.Usagef("--draft-cost is of use with --alpha only")
	case !measured:
		return cli.Usagef("--alpha is of use with --cost only")
	case !(g.alpha >= 0 && g.alpha <= 1):
		return cli.Usagef("--alpha %v: want a chance from 0 to 1", g.alpha)
	case !(g.cost >= 0 && g.cost <= mostCost):
		return cli.Usagef("--draft-cost %v: want steps of the model, from 0 to %d", g.cost, mostCost)
	}
	return nil
}

// An Outlook is the speed-up and the work that theory expects of drafts of one length.
type Outlook struct {
	DraftTokens int     `json:"draft_tokens"`
	Tokens      float64 `json:"tokens_per_round"`
	Ideal       float64 `json:"speedup_ideal"`    // if a pass takes as long as a step, whatever its rows
	Speedup     float64 `json:"speedup"`          // with the passes measured here
	Operations  float64 `json:"operations_ratio"` // operations per token over those of plain decoding
	Bytes       float64 `json:"bytes_ratio"`      // bytes read per token over those of plain decoding
}

// outlooks applies the theory to drafts of every length whose pass was measured. It assumes that
// drafting takes the same share of a step's operations and bytes as of its time.
func (g guess) outlooks(passes []bench.Pass) []Outlook {
	ideal := assistant.Theory{Alpha: g.alpha, Cost: g.cost, Operations: g.cost, Bytes: g.cost}
	here := ideal
	here.Verify = func(rows int) float64 { return max(1, passes[rows-1].Ratio) }
	all := make([]Outlook, len(passes))
	for n := range all {
		all[n] = Outlook{
			DraftTokens: n, Tokens: assistant.Expected(g.alpha, n), Ideal: ideal.Speedup(n), Speedup: here.Speedup(n),
			Operations: ideal.OperationsRatio(n), Bytes: ideal.BytesRatio(n),
		}
	}
	return all
}

// table formats outlooks and marks the best.
func table(g guess, all []Outlook) string {
	best := all[0]
	for _, o := range all {
		if o.Speedup > best.Speedup {
			best = o
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "If %.3g %% of drafted tokens are right, and drafting one takes %.3g of a step:\n\n", 100*g.alpha, g.cost)
	b.WriteString("   draft    tokens   speed-up   speed-up   operations     bytes\n" +
		"  tokens   a round    at best       here      a token   a token\n")
	for _, o := range all {
		mark := ""
		if o == best {
			mark = "  ← best"
		}
		fmt.Fprintf(&b, "%8d %9.2f %9.2f× %9.2f× %11.2f× %8.2f×%s\n",
			o.DraftTokens, o.Tokens, o.Ideal, o.Speedup, o.Operations, o.Bytes, mark)
	}
	if best.DraftTokens == 0 {
		b.WriteString("\nPlain decoding is best here: drafts cost more than they bring.\n")
	}
	return b.String()
}
