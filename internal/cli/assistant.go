package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"verity/assistant"
	"verity/internal/options"
	"verity/model"
	"verity/precision"
	"verity/transcribe"
)

// assistantFlags say what drafts tokens for the model, and how many.
type assistantFlags struct {
	name      string
	precision precisionFlag
	from      string // text to draft from
	draft     options.Draft
	sampler   string
	auto      *assistant.Auto // that the latest policies share, if they are auto
	overlap   bool            // measure it
}

func (a *assistantFlags) register(f *pflag.FlagSet) {
	bind(f, "assistant", &a.name)
	addOption(f, "assistant-precision", func(v options.Value) error { return a.precision.Set(v.Text) })
	addOption(f, "draft-tokens", func(v options.Value) (err error) { a.draft, err = options.ParseDraft(v.Text); return err })
	bind(f, "sampler", &a.sampler)
	bind(f, "measure-alpha", &a.overlap)
}

func (a *assistantFlags) registerText(f *pflag.FlagSet) { bind(f, "draft-from", &a.from) }

// off returns the flags of plain decoding.
func (a assistantFlags) off() assistantFlags {
	a.name, a.from = string(transcribe.None), ""
	return a
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
	n := a.draft.Tokens
	switch a.draft.Policy {
	case "heuristic":
		return func() assistant.Policy { return assistant.NewHeuristic(n) }
	case "confidence":
		return func() assistant.Policy { return &assistant.Confidence{Max: n} }
	case "constant":
		return func() assistant.Policy { return assistant.Constant(n) }
	}
	return nil
}
