package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"verity/audio"
	"verity/internal/show"
	"verity/model"
	"verity/precision"
	"verity/synth"
	"verity/tokenizer"
)

const infoHelp = `Info tells what a checkpoint is: its sizes, its languages, how long its windows
are, and which models it can be an assistant of.

  verity info
  verity info ~/whisper-small`

// An info is the output of the command. Its JSON has this form.
type info struct {
	Schema     string       `json:"schema"`
	Model      string       `json:"model"`
	Dims       model.Dims   `json:"dims"`
	Window     float64      `json:"window_seconds"`
	Params     int64        `json:"parameters"`
	Bytes      int64        `json:"bytes"`
	DType      string       `json:"dtype"`
	Head       string       `json:"head"`  // what the token embedding and vocabulary head is stored as
	Cache      string       `json:"cache"` // what keys and values are held in, those of the audio too, unless --precision says otherwise
	HasEncoder bool         `json:"has_encoder"`
	Languages  []string     `json:"languages,omitempty"` // codes
	Timestamps int          `json:"timestamps,omitempty"`
	Assists    string       `json:"assists"`
	Planted    *synth.Plant `json:"planted,omitempty"` // the text is; see verity synth
}

func infoCommand(e env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "info [MODEL]",
		Short: "Tell what a model is",
		Long:  infoHelp + exitHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("one model is told about at a time, got %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: completeModel,
		RunE: func(c *cobra.Command, args []string) error {
			name := defaultModel
			if len(args) == 1 {
				name = args[0]
			}
			i, err := inspect(c.Context(), name)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(e.out).Encode(i)
			}
			return i.print(e.out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}

// inspect opens a model and collects its properties.
func inspect(ctx context.Context, name string) (*info, error) {
	c, err := openCheckpoint(ctx, name)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	i := &info{
		Schema: "verity.info/1", Model: name, Dims: c.Dims,
		Window: float64(c.Dims.WindowFrames()*audio.HopLength) / audio.SampleRate,
		Params: c.Params(), Bytes: c.Bytes(), DType: cmp.Or(c.Quantized(), c.DType().String()),
		HasEncoder: c.Has("encoder."), Planted: synth.Planted(c.FS()),
	}
	i.Assists = i.assists()
	i.Head, i.Cache = headOf(c), cacheOf(i.DType)
	tok, err := tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab)
	if errors.Is(err, tokenizer.ErrMissing) && !i.HasEncoder {
		return i, nil // an assistant uses its target's
	}
	if err != nil {
		return nil, err
	}
	i.Timestamps, i.Languages = tok.Timestamps(), []string{"en"}
	if c.Generation.Multilingual {
		i.Languages = nil
		for _, l := range tok.Languages() {
			i.Languages = append(i.Languages, l.Code)
		}
	}
	return i, nil
}

// headOf returns what the token embedding is stored as.
func headOf(c *model.Checkpoint) string {
	w, err := c.Weight("decoder.embed_tokens.weight")
	switch {
	case err != nil:
		return "none"
	case w.Quantised():
		return w.Type
	}
	return w.DType.String()
}

// cacheOf returns what keys and values are held in beside weights stored as that: f32
// ones are taken to be f16, which most are.
func cacheOf(stored string) string {
	f, err := precision.ParseFormat(strings.ToLower(stored))
	if err != nil || f == precision.F32 { // q5_0 and others of ggml
		f = precision.F16
	}
	return precision.Of(f).Complete().Cache.String()
}

// assists says which targets the model can draft for.
func (i *info) assists() string {
	d := i.Dims
	same := fmt.Sprintf("targets with this vocabulary of %d tokens", d.Vocab)
	shared := fmt.Sprintf("an encoder of width %d and %d positions", d.AudioWidth, d.AudioPositions)
	if !i.HasEncoder {
		return fmt.Sprintf("%s and %s, which it shares", same, shared)
	}
	return fmt.Sprintf("%s and windows of %g s; its decoder alone, those with %s", same, i.Window, shared)
}

func (i *info) print(w io.Writer) error {
	d := i.Dims
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("model", "%s", i.Model)
	stored := i.DType
	if stored == precision.Int4Z.String() { // what quantize --to int4 makes of most weights
		stored += " (int4 with a zero for each group)"
	}
	row("parameters", "%s, stored as %s in %s", show.Rounded(i.Params), stored, show.Bytes(i.Bytes))
	row("head", "token embedding and vocabulary head, stored as %s", i.Head)
	row("attention", "keys and values of text and audio held in %s, unless --precision FORMAT:cache=FORMAT", i.Cache)
	row("window", "%g s: %d frames of %d mel bins", i.Window, d.WindowFrames(), d.MelBins)
	if i.HasEncoder {
		row("encoder", "%d layers, width %d, %d heads, %d positions", d.AudioLayers, d.AudioWidth, d.AudioHeads, d.AudioPositions)
	} else {
		row("encoder", "none: this model can only assist")
	}
	row("decoder", "%d layers, width %d, %d heads, %d positions", d.TextLayers, d.TextWidth, d.TextHeads, d.TextPositions)
	if i.Languages == nil {
		row("vocabulary", "%d tokens; the names are the target's", d.Vocab)
	} else {
		row("vocabulary", "%d tokens, %d of them timestamps", d.Vocab, i.Timestamps)
		row("languages", "%d: %s", len(i.Languages), wrap(i.Languages, 72))
	}
	row("assists", "%s", i.Assists)
	if i.Planted != nil {
		row("planted", "%v: this model was never trained", i.Planted)
	}
	return t.Flush()
}

// wrap joins words with spaces, with a new row of the table after width bytes.
func wrap(words []string, width int) string {
	var b strings.Builder
	line := 0
	for _, w := range words {
		if line > 0 && line+1+len(w) > width {
			b.WriteString("\n\t")
			line = 0
		} else if line > 0 {
			b.WriteByte(' ')
			line++
		}
		b.WriteString(w)
		line += len(w)
	}
	return b.String()
}
