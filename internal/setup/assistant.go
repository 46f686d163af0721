package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"verity/assistant"
	"verity/internal/command"
	"verity/internal/options"
	"verity/model"
	"verity/model/hub"
	"verity/precision"
	"verity/transcribe"
)

// AssistantFlags say what drafts tokens for the model, and how many.
type AssistantFlags struct {
	Name      string
	precision PrecisionFlag
	From      string // text to draft from
	Draft     options.Draft
	Sampler   string
	Auto      *assistant.Auto // that the latest policies share, if they are auto
	overlap   bool            // measure it
}

func (a *AssistantFlags) Register(f *pflag.FlagSet) {
	command.Bind(f, "assistant", &a.Name)
	command.AddOption(f, "assistant-precision", func(v options.Value) error { return a.precision.Set(v.Text) })
	command.AddOption(f, "draft-tokens", func(v options.Value) (err error) { a.Draft, err = options.ParseDraft(v.Text); return err })
	command.Bind(f, "sampler", &a.Sampler)
	command.Bind(f, "measure-alpha", &a.overlap)
}

func (a *AssistantFlags) registerText(f *pflag.FlagSet) { command.Bind(f, "draft-from", &a.From) }

// Off returns the flags of plain decoding.
func (a AssistantFlags) Off() AssistantFlags {
	a.Name, a.From = string(transcribe.None), ""
	return a
}

// Comparable refuses a sampler that does not keep the bits, for commands that
// compare them.
func (a *AssistantFlags) Comparable() error {
	if a.Sampler == string(transcribe.Rejection) {
		return command.Usagef("--sampler rejection cannot be compared bit for bit: it keeps the output distribution, not the exact tokens")
	}
	return nil
}

// Method resolves the flags for a model: it returns a method of transcribe, or the name
// of a checkpoint.
func (a *AssistantFlags) Method(model string) string {
	switch {
	case a.Name != "auto":
		return a.Name
	case hasAssistant(model):
		return model
	}
	// The published one, if it is in the cache.
	return cmp.Or(hub.FromEnv().Partner(model), string(transcribe.None))
}

// describe opens the assistant's checkpoint, if it has one.
func (a *AssistantFlags) describe(ctx context.Context, l *Model) (transcribe.Assistant, error) {
	d := transcribe.Assistant{Precision: a.precision.Precision}
	switch name := a.Method(l.name); transcribe.Method(name) {
	case transcribe.None, transcribe.NGram, transcribe.Bigram, transcribe.Self:
		d.Method = transcribe.Method(name)
	default:
		if a.Name == "auto" && !hasAssistant(l.name) {
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
func (a *AssistantFlags) inPrecision() precision.Precision {
	p := a.precision.Precision
	if p.Weights == precision.Auto {
		p.Weights = precision.Int8
	}
	return p
}

func openAssistant(ctx context.Context, name string, offline bool) (*model.Checkpoint, error) {
	if hasAssistant(name) {
		return model.OpenFS(Inside[name].Assistant(), name+" assistant")
	}
	return OpenCheckpoint(ctx, name, offline)
}

// hasAssistant reports whether the model of a name lies in this program with an assistant.
func hasAssistant(name string) bool {
	i, ok := InsideOf(name)
	return ok && i.Assistant != nil
}

// newPolicy returns the function that makes a policy for each sequence; nil means the
// default of transcribe.Load.
func (a *AssistantFlags) newPolicy() func() assistant.Policy {
	n := a.Draft.Tokens
	switch a.Draft.Policy {
	case "heuristic":
		return func() assistant.Policy { return assistant.Heuristic(n) }
	case "confidence":
		return func() assistant.Policy { return assistant.Confidence(n) }
	case "constant":
		return func() assistant.Policy { return assistant.Constant(n) }
	}
	return nil
}
