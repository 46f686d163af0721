package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"verity/assistant"
	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/model"
	"verity/model/hub"
	"verity/precision"
	"verity/transcribe"
)

// AssistantFlags say what drafts tokens for the model, and how many.
type AssistantFlags struct {
	Name      string
	precision precision.Precision
	From      string                  // text to draft from
	Policy    func() assistant.Policy // of draft-tokens; nil is auto
	Sampler   string
	Auto      *assistant.Auto // that the latest policies share, if they are auto
	overlap   bool            // measure it
}

func (a *AssistantFlags) Register(f *pflag.FlagSet) {
	cli.Bind(f, "assistant", &a.Name)
	Precision(f, "assistant-precision", &a.precision)
	cli.AddOption(f, "draft-tokens", func(v options.Value) (err error) { a.Policy, err = options.ParseDraft(v.Text); return err })
	cli.Bind(f, "sampler", &a.Sampler)
	cli.Bind(f, "measure-alpha", &a.overlap)
}

func (a *AssistantFlags) registerText(f *pflag.FlagSet) { cli.Bind(f, "draft-from", &a.From) }

// Off returns the flags of plain decoding.
func (a AssistantFlags) Off() AssistantFlags {
	a.Name, a.From = string(transcribe.None), ""
	return a
}

// rejection reports whether the sampler does not keep the bits.
func (a *AssistantFlags) rejection() bool { return a.Sampler == "rejection" }

// Comparable refuses a sampler that does not keep the bits, for commands that
// compare them.
func (a *AssistantFlags) Comparable() error {
	if a.rejection() {
		return cli.Usagef("--sampler rejection cannot be compared bit for bit: it keeps the output distribution, not the exact tokens")
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
func (a *AssistantFlags) describe(ctx context.Context, l *Model) (transcribe.AssistantOptions, error) {
	d := transcribe.AssistantOptions{Precision: a.precision}
	switch name := a.Method(l.name); transcribe.Method(name) {
	case transcribe.None, transcribe.NGram, transcribe.Bigram, transcribe.Self:
		d.Method = transcribe.Method(name)
	default:
		if a.Name == "auto" && !hasAssistant(l.name) {
			slog.Warn("assistant auto: taking the published one that is in the cache", "assistant", name)
		}
		c, err := openAssistant(ctx, name, l.offline)
		if errors.As(err, new(*missingModel)) {
			return d, fmt.Errorf("--assistant %s: there is no such directory or file; want none, ngram, bigram, self, or the directory or name "+
				"of a smaller model of the same family", name)
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
	p := a.precision
	if p.Weights == precision.Auto {
		p.Weights = precision.Int8
	}
	return p
}

func openAssistant(ctx context.Context, name string, offline bool) (*model.Checkpoint, error) {
	if hasAssistant(name) {
		return model.OpenFS(EmbeddedModels[name].Assistant(), name+" assistant")
	}
	return OpenCheckpoint(ctx, name, offline)
}

// hasAssistant reports whether the model of a name lies in this program with an assistant.
func hasAssistant(name string) bool {
	i, ok := EmbeddedOf(name)
	return ok && i.Assistant != nil
}
