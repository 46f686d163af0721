package measure

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/eval/plan"
)

const planHelp = `Plan tells what theory expects of an assistant: tokens a round, speed-up of decoding,
operations and bytes a token, and the best draft length. A round drafts n tokens, at c
steps of the model each, and verifies them in one pass; each is right with chance α:

  tokens a round   E = (1 - α^(n+1)) / (1 - α)
  speed-up         E / (c·n + V(n+1)),  V(m): steps that a pass of m rows costs
  operations       (ĉ·n + n + 1) / E    over those of plain decoding
  bytes            (b·n + 1) / E        likewise

V is 1 where reading the weights is all that costs. What it is on this machine
verity bench measures. (Leviathan et al. 2023, arXiv:2211.17192, sections 3.2 to 3.4.)

--from takes what other commands write as JSON: of bench V, of compare α, c and V, of
transcribe with an assistant α, the share of judged drafts that were accepted. A second
bench is one of the assistant: with that of the model it gives c, ĉ and b. What is given
by a flag is not taken from a file.

  verity plan --alpha 0.8 --cost 0.1
  verity bench --size large-v2 --json > large.json
  verity bench --size distil-large-v2 --precision int8 --json > distil.json
  verity plan --alpha 0.8 --from large.json --from distil.json

Exit status: 0 done, 1 a file cannot be read or written, 2 wrong usage.`

// A planCommand is the plan command with its flags.
type planCommand struct {
	cli.Env
	given plan.Assumptions
	from  []string
	most  int
	json  bool

	changed func(flag string) bool
}

func Plan(e cli.Env) *cobra.Command {
	p := &planCommand{Env: e}
	c := cli.New("plan [flags]", "Tell what theory expects of an assistant", planHelp, p.run)
	f := c.Flags()
	p.changed = f.Changed
	f.Float64Var(&p.given.Alpha, "alpha", 0.8, "`chance` α that a drafted token is accepted, 0 to 1")
	f.Float64Var(&p.given.Cost, "cost", 0.1, "`steps` of the model that drafting a token costs: c")
	f.IntVar(&p.most, "draft-tokens", 12, "longest draft to look at, 1 to 64")
	f.StringArrayVar(&p.from, "from", nil, "`file` of JSON by bench, compare or transcribe; may be given again")
	f.BoolVar(&p.json, "json", false, "write JSON (verity.plan/1)")
	cli.Must(c.MarkFlagFilename("from", "json"))
	return c
}

func (p *planCommand) run(ctx context.Context, _ []string) error {
	if p.most < 1 || p.most > 64 {
		return cli.Usagef("--draft-tokens %d: want 1 to 64", p.most)
	}
	a, err := p.assume(ctx)
	if err != nil {
		return err
	}
	if err := a.Check(); err != nil {
		return cli.Usagef("--%w", err)
	}
	forecast := plan.New(a, p.most)
	if p.json {
		return json.NewEncoder(p.Out).Encode(forecast)
	}
	return forecast.Write(p.Out)
}

// assume combines flags and files.
func (p *planCommand) assume(ctx context.Context) (plan.Assumptions, error) {
	a := p.given
	for _, name := range p.from {
		if err := a.Read(ctx, name); err != nil {
			return a, err
		}
	}
	if p.changed("alpha") {
		a.Alpha = p.given.Alpha
	}
	if p.changed("cost") {
		a.Cost = p.given.Cost
	}
	a.Operations, a.Bytes = cmp.Or(a.Operations, a.Cost), cmp.Or(a.Bytes, a.Cost)
	return a, nil
}
