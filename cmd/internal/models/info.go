package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity"
	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/eval/bench"
	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/model"
	"verity/model/hub"
	"verity/model/synth"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcribe"
)

const infoHelp = `Info describes a model: its size and languages, the memory that it needs, and the values
that auto flags resolve to on this machine. With --cost, it times passes of the model
and shows the acceptance rate above which drafts pay off on this machine, those of an
assistant with --assistant.

  verity info
  verity info small
  verity info ~/whisper-small
  verity info --cost
  verity info --cost large-v2 --assistant tiny`

// Properties are the output of info. Its JSON has this form.
type Properties struct {
	Schema     string       `json:"schema"`               // name and version of this format
	Model      string       `json:"model"`                // as named
	Dims       model.Dims   `json:"dims"`                 // sizes of the network
	Window     float64      `json:"window_seconds"`       // length of a window
	Params     int64        `json:"parameters"`           // number of weights
	Bytes      int64        `json:"bytes"`                // bytes
	Memory     int64        `json:"memory_bytes"`         // estimate, to transcribe one file at a time
	DType      string       `json:"dtype"`                // type the file stores
	HasEncoder bool         `json:"has_encoder"`          // the checkpoint has an encoder
	Auto       automatic    `json:"auto"`                 // what auto chooses on this machine; the precision is the one asked for, if any
	Languages  []string     `json:"languages,omitempty"`  // codes
	Timestamps int          `json:"timestamps,omitempty"` // number of timestamp tokens
	Passes     []bench.Pass `json:"passes,omitempty"`     // their measured cost, with --cost
	DraftCost  float64      `json:"draft_cost,omitempty"` // of a token of --assistant, over a pass of one row, with --cost
	Opening    float64      `json:"opening,omitempty"`    // s, before its first draft of a window: its encoder, keys and values, letters or whole text
	PaysFrom   []breakEven  `json:"pays_from,omitempty"`  // by the length of drafts, with --cost
	Spread     float64      `json:"spread,omitempty"`     // how much the machine's speed varied meanwhile: above 1.3, it was busy
	Planted    *synth.Plant `json:"planted,omitempty"`    // if the text is planted; see verity synth

	names    []string // of the languages
	explicit bool     // Auto.Precision is what a flag says

	assistant string // what DraftCost and Opening are, in words; empty if no assistant is named
}

// automatic holds the settings that auto chooses on this machine.
type automatic struct {
	Precision string `json:"precision"` // format of the weights
	Threads   int    `json:"threads"`   // threads used
	Kernels   string `json:"kernels"`   // the instruction set in use
	Assistant string `json:"assistant"` // its name; none for plain decoding; the one asked for, if any
}

// Info returns the info command.
func Info(e cli.Env) *cobra.Command {
	var asJSON, drafts bool
	m := new(cli.ModelFlags)
	run := func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			m.Name = args[0]
		}
		if drafts {
			e.Stage("timing passes")
		}
		i, err := Inspect(ctx, m, drafts)
		e.ClearStage()
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(e.Out).Encode(i)
		}
		return i.print(e.Out)
	}
	c := cli.New("info [MODEL]", "Describe a model and what it needs", infoHelp+exitHelp+", 130 interrupted.", run)
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return cli.Usagef("want one model, got %d", len(args))
		case len(args) == 1 && c.Flags().Changed("model"):
			return cli.Usagef("want one model, got %s and --model %s", args[0], m.Name)
		case c.Flags().Changed("assistant") && !drafts:
			return cli.Usagef("--assistant needs --cost")
		}
		return nil
	}
	c.ValidArgsFunction = cli.CompleteModel
	cli.AddFlags(c,
		func(f *pflag.FlagSet) {
			cli.Bind(f, "model", &m.Name)
			cli.Redefine(f, "model", cli.DefaultModel, "")
			cli.Precision(f, "precision", &m.Precision)
			cli.Bind(f, "assistant", &m.Assistant.Name)
			cli.Bind(f, "json", &asJSON)
			f.BoolVar(&drafts, "cost", false,
				"time passes of the model and report the acceptance rate above which drafts pay off")
			cli.Title(f, "Speed")
		})
	return c
}

// Inspect opens a model and collects its properties; with drafts, it times passes.
func Inspect(ctx context.Context, m *cli.ModelFlags, drafts bool) (*Properties, error) {
	c, err := cli.OpenCheckpoint(ctx, m.Name, true)
	if err != nil {
		if errors.Is(err, hub.ErrOffline) {
			err = cli.Usagef("model %s is not on this machine: if it is published, verity models pull %[1]s downloads it", m.Name)
		}
		return nil, err
	}
	defer c.Close()
	i := &Properties{
		Schema: "verity.info/1", Model: m.Name, Dims: c.Dims,
		Window: float64(c.Dims.WindowFrames()*audio.HopLength) / audio.SampleRate,
		Params: c.Params(), Bytes: c.Bytes(), DType: storedAs(c),
		HasEncoder: c.Has("encoder."), Planted: synth.Planted(c.FS()),
	}
	if err = i.decide(c, m.Precision); err == nil && m.Assistant.Name != "auto" {
		i.Auto.Assistant = m.Assistant.Name
	}
	if err == nil && drafts {
		err = i.measure(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab)
	if errors.Is(err, tokenizer.ErrMissing) && !i.HasEncoder {
		return i, nil // an assistant uses its target's
	}
	if err != nil {
		return nil, err
	}
	i.Timestamps, i.Languages, i.names = tok.Timestamps(), []string{"en"}, []string{"English (en)"}
	if c.Generation.Multilingual {
		i.Languages, i.names = nil, nil
		for _, l := range tok.Languages() {
			i.Languages, i.names = append(i.Languages, l.Code), append(i.names, l.Name+" ("+l.Code+")")
		}
	}
	return i, nil
}

// storedAs returns the format of the weights in the file.
func storedAs(c *model.Checkpoint) string {
	if f := layer.Stored(c); f != precision.Auto {
		return f.String()
	}
	return cmp.Or(c.Quantised(), c.DType().String())
}

// mostRead is the size of the largest file that is read to choose a precision. A larger one takes too long.
const mostRead = 2 << 30

// decide sets what auto chooses, unless a precision is given, and the memory that it needs.
func (i *Properties) decide(c *model.Checkpoint, explicit precision.Precision) (err error) {
	pool := parallel.New(0)
	defer pool.Close()
	p := precision.Of(precision.F16).Complete()
	if c.Bytes() <= mostRead || explicit != (precision.Precision{}) {
		if p, err = layer.Resolve(c, explicit, pool); err != nil {
			return err
		}
	}
	i.Memory, i.explicit = memoryFor(c, p), explicit != (precision.Precision{})
	i.Auto = automatic{
		Precision: p.String(), Threads: pool.Threads(), Kernels: kernel.Implementations()[0],
		Assistant: (&cli.AssistantFlags{Name: "auto"}).For(i.Model),
	}
	if i.Auto.Assistant == string(transcribe.Encoder) {
		source, err := verity.DraftEncoder(c, true)
		switch {
		case err != nil:
			return err
		case source == nil:
			i.Auto.Assistant = string(transcribe.None)
		case source != c:
			source.Close()
		}
	}
	return err
}
