package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/assistant"
	"verity/model"
	"verity/precision"
	"verity/transcribe"
)

// assistantFlags say what drafts tokens for the model, and how many.
type assistantFlags struct {
	name      string
	precision precisionFlag
	tokens    draftTokens
	policy    string
	sampler   string
	auto      *assistant.Auto // that the latest policies share, if they are auto
	overlap   bool            // measure it
}

const assistantHelp = `what drafts tokens for the model to verify
auto: the model's own assistant if it lies in this program with one; else the published partner of a published model, if that is in the cache; else none
none: plain decoding
ngram: what followed the last words when they came before; no model
bigram: what followed each token most often before; no model, a baseline
self: the model itself, in --assistant-precision
or the directory of a distilled decoder or a smaller Whisper of the same family`

var (
	policies = []string{"auto", "constant", "heuristic", "confidence"}
	samplers = []string{string(transcribe.Gumbel), string(transcribe.Rejection)}
)

func (a *assistantFlags) register(f *pflag.FlagSet) {
	f.StringVarP(&a.name, "assistant", "a", "auto", assistantHelp)
	f.Var(&a.precision, "assistant-precision",
		"format to hold the assistant's weights in: "+precision.Names()+". auto is int8")
	f.Var(&a.tokens, "draft-tokens", "`number` of tokens to draft in a round, or auto")
	f.StringVar(&a.policy, "draft-policy", "auto", "how the length of drafts is chosen: auto (by cost and acceptance), "+
		"constant, heuristic (2 more after success, 1 less after failure), confidence (until the assistant is unsure)")
	f.StringVar(&a.sampler, "sampler", "gumbel", "how drafts are verified above temperature 0: gumbel (the text of "+
		"plain decoding), rejection (speculative sampling: its distribution, but other text, which depends on the lengths "+
		"of drafts too)")
	f.BoolVar(&a.overlap, "measure-alpha", false, "compare the distributions of model and assistant at every drafted "+
		"token: the statistics then have the mean of Σ min(p, q), the α of theory, at the temperature of the window, or 1 "+
		"where that is 0. It takes a little time")
}

func (a *assistantFlags) complete(c *cobra.Command) {
	completeOr(c, "assistant", assistantNames()...)
	completeValues(c, "draft-policy", policies...)
	completeValues(c, "sampler", samplers...)
}

// check reports the first flag with an unusable value.
func (a *assistantFlags) check() error {
	return cmp.Or(oneOf("draft-policy", a.policy, policies...), oneOf("sampler", a.sampler, samplers...))
}

// comparable refuses a sampler that does not keep the bits, for commands that
// compare them.
func (a *assistantFlags) comparable() error {
	if a.sampler == string(transcribe.Rejection) {
		return usagef("--sampler rejection cannot be compared bit for bit: it keeps the output distribution, not the exact tokens")
	}
	return nil
}

// method resolves the flags for a model: it returns a method of transcribe, or the name
// of a checkpoint.
func (a *assistantFlags) method(model string) string {
	switch {
	case a.name != "auto":
		return a.name
	case hasAssistant(model):
		return model
	}
	if p := partner(model); p != "" {
		return p
	}
	return string(transcribe.None)
}

// describe opens the assistant's checkpoint, if it has one.
func (a *assistantFlags) describe(ctx context.Context, l *loaded) (transcribe.Assistant, error) {
	d := transcribe.Assistant{Precision: a.precision.Precision}
	switch name := a.method(l.name); transcribe.Method(name) {
	case transcribe.None, transcribe.NGram, transcribe.Bigram, transcribe.Self:
		d.Method = transcribe.Method(name)
	default:
		if a.name == "auto" && !hasAssistant(l.name) {
			slog.Warn("assistant auto: taking the published one that is in the cache", "assistant", name)
		}
		c, err := openAssistant(ctx, name, l.offline)
		var missing *missingModel
		if errors.As(err, &missing) {
			return d, fmt.Errorf("--assistant %s; want none, ngram, bigram, self, or the directory or name of a smaller model "+
				"of the same family", missing.what())
		}
		if err != nil {
			return d, err
		}
		l.closers = append(l.closers, c)
		d.Checkpoint = c
	}
	return d, nil
}

// inPrecision returns the format of the assistant's weights.
func (a *assistantFlags) inPrecision() precision.Precision {
	p := a.precision.Precision
	if p.Weights == precision.Auto {
		p.Weights = precision.Int8
	}
	return p
}

func openAssistant(ctx context.Context, name string, offline bool) (*model.Checkpoint, error) {
	if hasAssistant(name) {
		return model.OpenFS(inside[name].assistant(), name+" assistant")
	}
	return openCheckpoint(ctx, name, offline)
}

// hasAssistant reports whether the model of a name lies in this program with an assistant.
func hasAssistant(name string) bool {
	i, ok := insideOf(name)
	return ok && i.assistant != nil
}

// newPolicy returns the function that makes a policy for each sequence; nil means the
// default of transcribe.Load.
func (a *assistantFlags) newPolicy() func() assistant.Policy {
	n, fixed := a.tokens.n, a.tokens.fixed
	switch {
	case a.policy == "auto" && !fixed:
		return nil
	case a.policy == "heuristic":
		return func() assistant.Policy { return assistant.NewHeuristic(n) }
	case a.policy == "confidence":
		return func() assistant.Policy { return &assistant.Confidence{Max: n} }
	case !fixed:
		n = 5
	}
	return func() assistant.Policy { return assistant.Constant(n) }
}

// draftTokens is a flag for a number of tokens. The zero value is auto.
type draftTokens struct {
	n     int
	fixed bool
}

func (d *draftTokens) String() string {
	if !d.fixed {
		return "auto"
	}
	return strconv.Itoa(d.n)
}

func (d *draftTokens) Set(s string) error {
	if s == "auto" {
		*d = draftTokens{}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 64 {
		return errors.New("want auto or a number from 0 to 64")
	}
	*d = draftTokens{n, true}
	return nil
}

func (d *draftTokens) Type() string { return "number" }
