package setup

import (
	"github.com/spf13/pflag"

	"verity"
	"verity/assistant"
	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/precision"
	"verity/transcribe"
)

// AssistantFlags choose what drafts tokens for the model, and how many.
type AssistantFlags struct {
	Name      string
	Named     []string // every value of the flag, the last of which is Name
	precision precision.Precision
	From      string                  // text to draft from
	Policy    func() assistant.Policy // of draft-tokens; nil is auto
	Lengths   []string                // every value of draft-tokens that was given
	Sampler   string
	overlap   bool // measure-alpha
}

func (a *AssistantFlags) Register(f *pflag.FlagSet) {
	cli.AddOption(f, "assistant", func(v options.Value) error {
		if a.Name = v.Text; f.Lookup("assistant") != nil { // not the default
			a.Named = append(a.Named, v.Text)
		}
		return nil
	})
	Precision(f, "assistant-precision", &a.precision)
	cli.AddOption(f, "draft-tokens", func(v options.Value) (err error) {
		if a.Policy, err = options.ParseDraft(v.Text); f.Lookup("draft-tokens") != nil {
			a.Lengths = append(a.Lengths, v.Text)
		}
		return err
	})
	cli.Bind(f, "sampler", &a.Sampler)
	cli.Bind(f, "measure-alpha", &a.overlap)
}

func (a *AssistantFlags) registerText(f *pflag.FlagSet) { cli.Bind(f, "draft-from", &a.From) }

// Off returns the flags of plain decoding.
func (a AssistantFlags) Off() AssistantFlags {
	a.Name, a.From = string(transcribe.None), ""
	return a
}

// rejection reports whether the sampler keeps only the distribution of texts, not the text.
func (a *AssistantFlags) rejection() bool { return a.Sampler == "rejection" }

// Comparable refuses that sampler, for commands that compare texts bit for bit.
func (a *AssistantFlags) Comparable() error {
	if a.rejection() {
		return cli.Usagef("--sampler rejection cannot be compared bit for bit: it keeps the output distribution, " +
			"not the exact tokens")
	}
	return nil
}

// For returns the assistant for the named model: a method, or the name of the assistant's model.
func (a *AssistantFlags) For(model string) string {
	return verity.Options{Assistant: a.Name}.AssistantFor(model)
}

// unknown is the error of an assistant that does not exist.
func (a *AssistantFlags) unknown() error {
	return cli.Usagef("--assistant %s: want auto, none, encoder, ngram, bigram, self, or the name or directory of a smaller model "+
		"of the same family; there is no such directory or file", a.Name)
}

// AssistantNames are what --assistant accepts besides models.
func AssistantNames() []string {
	return []string{
		"auto", string(transcribe.None), string(transcribe.Encoder), string(transcribe.NGram), string(transcribe.Bigram),
		string(transcribe.Self),
	}
}
