package cli

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"verity"
	"verity/assistant"
	"verity/precision"
	"verity/transcribe"
)

// The options under the heading Drafting.
var draftRows = []*Option{
	{Name: "assistant", Short: "a", Kind: Text, Arg: "name", Default: "auto", Max: maxPath, Scope: Configurable | Server,
		Common: true, Field: "Assistant",
		Help: "source of the draft tokens that the model verifies\n" +
			"auto: the model's own assistant if built in; otherwise, for a published model, its published assistant if " +
			"cached; otherwise encoder\n" +
			"none: plain decoding\n" +
			"encoder: text that a small network reads from the encoder's output, in English, German and Dutch; for models " +
			"with base's encoder. Other models also run the built-in base's encoder for it (auto: " +
			"medium and larger)\n" +
			"ngram: the tokens that followed the most recent words where they occurred earlier; no model\n" +
			"self: the model itself, in int8\n" +
			"or the directory of a distilled decoder or a smaller Whisper model; one with a different vocabulary " +
			"transcribes each input first, and its transcript becomes the draft"},
	{Name: "draft-from", Kind: Text, Arg: "path", Max: maxPath, Common: true,
		Help: "draft from an existing transcript of the audio: the result is the same, but sooner\n" +
			"a transcript by a program or a person: txt, srt, vtt, or json from verity, " +
			"openai-whisper or whisper.cpp\n" +
			"a directory with a transcript of the same name for each audio file, or beside: next to the audio files\n" +
			"for a dataset, also the records directory of an earlier eval or compare, or references: the dataset's own " +
			"texts\n" +
			"The assistant drafts where the transcript offers nothing"},
	{Name: "assistant-precision", Kind: List, Arg: "format", Default: "auto", Choices: precision.List(),
		Check: checks(ParsePrecision), Scope: Configurable,
		Help: "number format of the assistant's weights: " + precision.Names() + ". auto is int8"},
	{Name: "draft-tokens", Kind: List, Arg: "number", Default: "auto", Choices: []string{"auto"}, Check: checks(ParseDraft),
		Scope: Configurable | Server,
		Help:  "tokens to draft per round: a number up to 64, or auto (by cost and acceptance rate)"},
	{Name: "sampler", Kind: Choice, Arg: "method", Default: "gumbel", Choices: []string{"gumbel", "rejection"},
		Scope: Configurable,
		Help: "how drafts are verified above temperature 0. gumbel: exactly the text of plain decoding. rejection: the " +
			"same distribution, but different text, which also depends on the draft length"},
	{Name: "measure-alpha",
		Help: "compare the model's and assistant's distributions at every drafted token. Statistics then include the " +
			"mean of Σ min(p, q), the chance that rejection sampling accepts a token, at the window's temperature, or 1 if " +
			"that is 0. Measuring takes time, which no other time includes"},
}

// AssistantFlags choose what drafts tokens for the model, and how many.
type AssistantFlags struct {
	Name      string
	Named     []string // every value of the flag, the last of which is Name
	Precision precision.Precision
	From      string                  // text to draft from
	Policy    func() assistant.Policy // of draft-tokens; nil is auto
	Lengths   []string                // every value of draft-tokens that was given
	Rejection bool                    // the sampler keeps only the distribution of texts, not the text
	overlap   bool                    // measure-alpha
	research  bool                    // the command measures drafts
}

func (a *AssistantFlags) Register(f *pflag.FlagSet) {
	AddOption(f, "assistant", func(v Value) error {
		if a.Name = v.Text; f.Lookup("assistant") != nil { // not the default
			a.Named = append(a.Named, v.Text)
		}
		return a.checkResearch(v.Text == string(transcribe.Bigram))
	})
	AddOption(f, "draft-tokens", func(v Value) (err error) {
		if a.Policy, err = ParseDraft(v.Text); f.Lookup("draft-tokens") != nil {
			a.Lengths = append(a.Lengths, v.Text)
		}
		return cmp.Or(err, a.checkResearch(isRule(v.Text)))
	})
}

// checkResearch refuses a value that serves only measurements, on commands that do not measure.
func (a *AssistantFlags) checkResearch(is bool) error {
	if is && !a.research {
		return errors.New("is for measurements: use verity compare or verity eval")
	}
	return nil
}

// RegisterResearch adds the flags for those who measure drafts.
func (a *AssistantFlags) RegisterResearch(f *pflag.FlagSet) {
	a.research = true
	Precision(f, "assistant-precision", &a.Precision)
	AddOption(f, "sampler", func(v Value) error { a.Rejection = v.Text == "rejection"; return nil })
	Bind(f, "measure-alpha", &a.overlap)
}

// Off returns the flags of plain decoding.
func (a AssistantFlags) Off() AssistantFlags {
	a.Name, a.From = string(transcribe.None), ""
	return a
}

// For returns the assistant for the named model: a method, or the name of the assistant's model.
func (a *AssistantFlags) For(model string) string {
	return verity.Options{Assistant: a.Name}.AssistantFor(model)
}

// AssistantNames are what --assistant accepts besides models.
func AssistantNames() []string {
	return []string{
		"auto", string(transcribe.None), string(transcribe.Encoder), string(transcribe.NGram), string(transcribe.Self),
	}
}

// ParseDraft reads the value of draft-tokens. It returns a function that makes the policy of a
// sequence, or nil for auto.
func ParseDraft(text string) (func() assistant.Policy, error) {
	wrong := errors.New("want auto or a number from 0 to 64; compare and eval also take heuristic and confidence, alone or " +
		"with :NUMBER")
	policy, number, more := strings.Cut(text, ":")
	switch {
	case text == "auto":
		return nil, nil
	case !isRule(text):
		policy, number, more = "constant", text, true
	}
	n := 0 // the default
	if more {
		var err error
		if n, err = strconv.Atoi(number); err != nil || n < 0 || n > 64 {
			return nil, wrong
		}
	}
	return func() assistant.Policy {
		switch policy {
		case "heuristic":
			return assistant.Heuristic(n)
		case "confidence":
			return assistant.Confidence(n)
		}
		return assistant.Constant(n)
	}, nil
}

// isRule reports whether a value of draft-tokens is a rule of other programs, for comparison.
func isRule(text string) bool {
	policy, _, _ := strings.Cut(text, ":")
	return policy == "heuristic" || policy == "confidence"
}
