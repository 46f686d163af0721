package main

import (
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/assistant"
	"verity/internal/tensor"
	"verity/model"
	"verity/models/demo"
)

// assistantFlags say what drafts tokens for the model, and how many.
type assistantFlags struct {
	name      string
	precision precision
	shortlist int
	tokens    draftTokens
	policy    string
	sampler   string
	auto      *assistant.Auto // of the policies last made, if they are auto
	weigh     bool            // odds of both sides
}

const assistantHelp = `what drafts tokens for the model to verify; it changes the time, never the text:
  auto   the demo's own assistant for the demo model, else none
  none   plain decoding
  ngram  what followed the last words when they came before; no model
  bigram what followed each token most often before; no model, a baseline
  self   the model itself, in --assistant-precision
  demo   the assistant of the demo model
  or the ` + "`directory`" + ` of a distilled decoder or a smaller Whisper of the same family
`

var (
	policies = []string{"auto", "constant", "heuristic", "confidence"}
	samplers = []string{"gumbel", rejection}
)

const rejection = "rejection"

func (a *assistantFlags) register(f *pflag.FlagSet) {
	f.StringVarP(&a.name, "assistant", "a", "auto", assistantHelp)
	f.Var(&a.precision, "assistant-precision", "type to hold the assistant's weights in: auto, f32, f16, bf16 or int8. auto is int8")
	f.IntVar(&a.shortlist, "assistant-shortlist", 0, "`number` of text tokens, those of lowest id, that a model may draft: less\nof it is read for each, but speech needs most of them (docs/SPECULATIVE.md);\n0 for all")
	f.Var(&a.tokens, "draft-tokens", "`number` of tokens to draft in a round, or auto")
	f.StringVar(&a.policy, "draft-policy", "auto", "how a draft's length is chosen: auto (by what it costs and how often it is\nright), constant, heuristic (2 more after success, 1 less after failure),\nconfidence (until the assistant doubts)")
	f.StringVar(&a.sampler, "sampler", "gumbel", "how drafts meet temperatures above 0: gumbel (the text is that of plain\ndecoding), rejection (it is as likely as that, but another: speculative\nsampling; it depends on the lengths of drafts too)")
	f.BoolVar(&a.weigh, "measure-alpha", false, "compare the odds of model and assistant at every place: the mean of Σ min(p, q),\nthe α of theory, at the temperature of the window, or 1 where that is 0. It\ntakes a little time and is part of the statistics")
}

func (a *assistantFlags) complete(c *cobra.Command) {
	must(c.MarkFlagDirname("assistant"))
	must(c.RegisterFlagCompletionFunc("draft-policy", cobra.FixedCompletions(policies, cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("sampler", cobra.FixedCompletions(samplers, cobra.ShellCompDirectiveNoFileComp)))
}

// attach gives e the assistant that the flags name.
func (a *assistantFlags) attach(e *engine) error {
	newPolicy, err := a.newPolicy()
	if err != nil {
		return err
	}
	if !slices.Contains(samplers, a.sampler) {
		return usagef("--sampler %s: want one of %v", a.sampler, samplers)
	}
	if a.sampler == rejection {
		e.Model = e.Model.Rejecting()
	}
	if a.weigh {
		e.Model = e.Model.Weighing()
	}
	with, err := a.open(e)
	if err != nil || with == nil {
		return err
	}
	e.Model = e.Model.With(with, newPolicy)
	return nil
}

// bits refuses a sampler that does not keep them, for commands that hold them
// against each other.
func (a *assistantFlags) bits() error {
	if a.sampler == rejection {
		return usagef("--sampler rejection keeps how likely a text is, not its bits: there is nothing to hold against each other")
	}
	return nil
}

// open returns the assistant; nil means plain decoding.
func (a *assistantFlags) open(e *engine) (assistant.Assistant, error) {
	_, d, _ := e.Network()
	target := assistant.Target{Checkpoint: e.checkpoint, Tokenizer: e.Tokenizer, Decoder: d}
	o := assistant.LoadOptions{Pool: e.pool, Precision: a.precision.DType, Shortlist: a.shortlist}
	if a.shortlist < 0 {
		return nil, usagef("--assistant-shortlist %d: must be 0 or more", a.shortlist)
	}
	if o.Precision == 0 {
		o.Precision = tensor.I8
	}
	name := a.name
	if name == "auto" {
		name = "none"
		if e.checkpoint.Name == demoName {
			name = demoName
		}
	}
	switch name {
	case "none":
		return nil, nil
	case "ngram":
		return &assistant.Lookup{EOT: e.Tokenizer.EOT}, nil
	case "bigram":
		return &assistant.Bigram{EOT: e.Tokenizer.EOT}, nil
	case "self":
		return assistant.Self(target, o)
	}
	c, err := openAssistant(name)
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, c)
	return assistant.Load(c, target, o)
}

func openAssistant(name string) (*model.Checkpoint, error) {
	if name == demoName {
		return model.OpenFS(demo.Assistant(), "demo assistant")
	}
	return openCheckpoint(name)
}

// newPolicy returns what makes a policy for each sequence.
func (a *assistantFlags) newPolicy() (func() assistant.Policy, error) {
	n, fixed := a.tokens.n, a.tokens.fixed
	switch a.policy {
	case "auto":
		if fixed {
			return func() assistant.Policy { return assistant.Constant(n) }, nil
		}
		a.auto = new(assistant.Auto)
		return a.auto.Policy, nil
	case "constant":
		if !fixed {
			n = 5
		}
		return func() assistant.Policy { return assistant.Constant(n) }, nil
	case "heuristic":
		return func() assistant.Policy { return assistant.NewHeuristic(n) }, nil
	case "confidence":
		return func() assistant.Policy { return &assistant.Confidence{Max: n} }, nil
	}
	return nil, usagef("--draft-policy %s: want one of %v", a.policy, policies)
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
