package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity"
	"verity/assistant"
	"verity/assistant/ctc"
	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/decoder"
	"verity/encoder"
	"verity/eval/bench"
	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/internal/show"
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
	PaysFrom   []payment    `json:"pays_from,omitempty"`  // by the length of drafts, with --cost
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

// measure times passes of the model, and of its assistant if the flags name one that is a model.
func (i *Properties) measure(ctx context.Context, m *cli.ModelFlags) error {
	if !i.HasEncoder {
		return cli.Usagef("--cost: %s only drafts for another model: name that model, and this one with --assistant", m.Name)
	}
	flags := *m
	if m.Assistant.Name == "auto" {
		flags.Assistant = m.Assistant.Off()
	}
	l, err := flags.Load(ctx, transcribe.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	o := bench.Options{Pool: l.Pool, Stage: 300 * time.Millisecond}
	if i.Passes, i.Spread, err = bench.Passes(ctx, l.Decoder, o); err == nil {
		err = i.measureAssistant(ctx, flags.Assistant.Name, l.Model, o)
	}
	i.PaysFrom = i.paysFrom()
	return err
}

// windowTokens are the tokens of a window that is full of speech.
const windowTokens = 80

// measureAssistant times what the assistant of m, of that name, takes.
func (i *Properties) measureAssistant(ctx context.Context, name string, m *transcribe.Model, o bench.Options) (err error) {
	by, prepares := m.Assistant, m
	if first := m.DraftModel(); first != nil {
		by, prepares = &assistant.Model{Decoder: first.Decoder, Encoder: first.Encoder, EOT: first.Tokenizer.EOT}, first
	}
	if i.Opening, err = opening(ctx, by, prepares); err != nil {
		return err
	}
	step := i.Passes[0].Seconds
	name = filepath.Base(name)
	switch by := by.(type) {
	case *assistant.Model:
		steps, spread, err := bench.Passes(ctx, by.Decoder, o)
		if err != nil {
			return err
		}
		i.Spread = max(i.Spread, spread)
		if prepares != m {
			i.Opening += windowTokens * steps[0].Seconds
			i.assistant = fmt.Sprintf("%s takes %.1f steps to transcribe a window first; drafting from its text is left out", name, i.Opening/step)
			return nil
		}
		i.DraftCost = steps[0].Seconds / step
		i.assistant = fmt.Sprintf("%s takes %.1f steps for a window and %.2f for a drafted token", name, i.Opening/step, i.DraftCost)
	case *ctc.Assistant:
		i.assistant = fmt.Sprintf("%s takes %.1f steps for a window; the search for words in its letters is left out", name, i.Opening/step)
	case *assistant.NGram, *assistant.Bigram:
		i.assistant = name + " looks tokens up, which takes next to no time and is left out"
	}
	return nil
}

// opening returns how long an assistant needs for a window of a model before its first draft, once its weights are in memory.
func opening(ctx context.Context, by assistant.Assistant, m *transcribe.Model) (seconds float64, err error) {
	d := m.Dims
	mel := &audio.Mel{Bins: d.MelBins, Frames: d.WindowFrames(), Data: make([]float32, d.MelBins*d.WindowFrames())}
	mel.Data[d.WindowFrames()-2] = 1 // sound up to the end
	w := assistant.Window{Mel: mel, Features: &encoder.Features{
		Positions: d.AudioPositions, Width: d.AudioWidth, Data: make([]float32, d.AudioPositions*d.AudioWidth)}}
	o := decoder.SessionOptions{Prompt: []tokenizer.Token{m.Tokenizer.SOT}}
	if m.Generation.Multilingual {
		o.Prompt = append(o.Prompt, m.Tokenizer.Languages()[0].Token)
	}
	for range 2 {
		drafter := by.Open(w)
		drafter.Begin(o, nil)
		_, err = drafter.Propose(ctx, nil, 1)
		if reporter, ok := drafter.(assistant.CostReporter); ok {
			seconds = reporter.Cost().Opening.Seconds()
		}
		drafter.Close()
	}
	return seconds, err
}

// programBytes is the memory of everything but the network: the program, the tokenizer, sound and log-mel.
const programBytes = 60 << 20

// memoryFor estimates the memory of a process that transcribes one file at a time with c in a precision.
func memoryFor(c *model.Checkpoint, p precision.Precision) int64 {
	weights := c.Params() * int64(p.Weights.Bits()) / 8
	if p.Weights.Integer() && p.Weights.Like(layer.Stored(c)) { // the file has them
		weights = c.Bytes()
	}
	return programBytes + weights + ActivationBytes(c.Dims, p)
}

// ActivationBytes is the memory of one file besides the weights: the decoder's keys and values, the
// encoder's activations, and the keys and values of the audio before they are rounded.
func ActivationBytes(d model.Dims, p precision.Precision) int64 {
	n, w, ffn := int64(d.AudioPositions), int64(d.AudioWidth), int64(d.AudioFFN)
	cache := int64(p.Complete().Cache.Bits()) / 8
	return 2*int64(d.TextLayers*d.TextWidth)*(n+int64(d.TextPositions))*cache +
		4*n*(2*w+w+3*w+ffn+2*w+w) + // convolution, norm, q k v, hidden, keys and values, features
		4*n*2*int64(d.TextWidth)
}

// A textTable is text in two columns, labels and their values, folded to the width of help.
type textTable struct{ strings.Builder }

const labelWidth = 17

func (s *textTable) row(label, format string, args ...any) {
	for _, line := range show.Fold(fmt.Sprintf(format, args...), cli.HelpWidth-labelWidth) {
		fmt.Fprintf(s, "%-*s%s\n", labelWidth, label, line)
		label = ""
	}
}

func (i *Properties) print(w io.Writer) error {
	var s textTable
	where := show.Name(i.Model)
	if cli.Embedded(i.Model) {
		where = i.Model + ", inside this program; --model openai/whisper-" + i.Model +
			" takes the published weights, in float16"
	}
	s.row("model", "%s", where)
	i.printUse(&s)
	s.WriteByte('\n')
	i.printAuto(&s)
	s.WriteByte('\n')
	i.printNetwork(&s)
	if i.Planted != nil {
		s.row("planted", "%v: this model was never trained", i.Planted)
	}
	if len(i.names) > 1 {
		s.WriteByte('\n')
		s.row("languages", "%s", strings.Join(i.names, ", "))
	}
	s.WriteByte('\n')
	s.row("other models", "--model takes the name of a published one (small, large-v3, turbo, openai/whisper-small; "+
		"verity models --help) or the path of a checkpoint: "+
		"of Hugging Face, openai/whisper (.pt), CTranslate2 or whisper.cpp (ggml)")
	_, err := io.WriteString(w, s.String())
	return err
}

// printUse writes what the model is good for and what it takes.
func (i *Properties) printUse(s *textTable) {
	switch {
	case !i.HasEncoder:
		s.row("use", "drafts for another model; it cannot transcribe by itself")
	case len(i.Languages) == 1:
		s.row("use", "transcribes English")
	default:
		text := "transcribes %d languages, and translates them into English"
		if cli.Embedded(i.Model) {
			text += ", poorly: larger models do better"
		}
		s.row("use", text, len(i.Languages))
	}
	s.row("size", "%s weights, stored as %s in %s", show.Rounded(i.Params), i.DType, show.Bytes(i.Bytes))
	if i.HasEncoder {
		s.row("memory", "about %s to transcribe one file at a time", show.Bytes(i.Memory))
	}
}

// printAuto writes what auto chooses on this machine.
func (i *Properties) printAuto(s *textTable) {
	s.row("on this machine", "%s/%s, unless flags say otherwise:", runtime.GOOS, runtime.GOARCH)
	why := ""
	switch p := i.Auto.Precision; {
	case i.explicit:
	case i.Bytes > mostRead:
		why = " if it holds every weight exactly, else f32"
	case p == strings.ToLower(i.DType):
		why = ", as stored"
	case p == precision.F16.String() && i.DType == "f32":
		why = ", which holds every weight exactly"
	}
	s.row("--precision", "%s%s", i.Auto.Precision, why)
	cores := "one for each fast core"
	if i.Auto.Threads == 1 {
		cores = "for one core"
	}
	s.row("--threads", "%d, %s, with %s instructions",
		i.Auto.Threads, cores, strings.ReplaceAll(i.Auto.Kernels, "ref", "plain Go's"))
	s.row("--assistant", "%s", i.drafting())
	if len(i.Passes) > 0 {
		label := "drafts"
		for _, line := range i.payment() {
			s.row(label, "%s", line)
			label = ""
		}
		if busy := show.Busy(i.Spread); busy != "" {
			s.row("", "%s", busy)
		}
	}
}

// A payment is the share of right tokens from which drafts of a length pay, in a window full of speech.
type payment struct {
	Length int     `json:"length"` // tokens
	Share  float64 `json:"share"`  // of right tokens, up to the first wrong one; 1 if they never pay
}

func (i *Properties) paysFrom() (all []payment) {
	for n := 2; n <= len(i.Passes); n *= 2 {
		t := assistant.Theory{Cost: i.DraftCost, Verify: func(int) float64 { return max(1, i.Passes[n-1].Ratio) }}
		all = append(all, payment{n - 1, t.BreakEven(n-1, i.Opening/(windowTokens*i.Passes[0].Seconds))})
	}
	return all
}

// payment describes the cost of passes and of drafts, and the share of right tokens from which drafts of each length pay.
func (i *Properties) payment() []string {
	var rows, steps, lengths, shares []string
	can := false
	for _, p := range i.PaysFrom {
		rows, steps = append(rows, strconv.Itoa(p.Length+1)), append(steps, fmt.Sprintf("%.2f", i.Passes[p.Length].Ratio))
		lengths, shares = append(lengths, strconv.Itoa(p.Length)), append(shares, fmt.Sprintf("%.0f", 100*p.Share))
		can = can || p.Share < 1
	}
	pay := "drafts cannot pay, even if all tokens are right"
	if can {
		pay = fmt.Sprintf("in windows of %d tokens, drafts of %s tokens pay where %s %% are right", windowTokens,
			strings.Join(lengths, ", "), strings.Join(shares, ", "))
	}
	takes := cmp.Or(i.assistant, "the time of drafting is left out (--assistant NAME)")
	return []string{fmt.Sprintf("a pass of %s rows takes %s steps of %.1f ms",
		strings.Join(rows, ", "), strings.Join(steps, ", "), 1000*i.Passes[0].Seconds), takes, pay}
}

// drafting describes the assistant that auto chooses, or one that could be downloaded.
func (i *Properties) drafting() string {
	switch i.Auto.Assistant {
	case string(transcribe.None):
	case string(transcribe.Encoder):
		return "encoder: drafts from the output of base's encoder"
	default:
		return i.Auto.Assistant
	}
	repo, known := hub.Repo(i.Model)
	if partners := hub.Partners(repo); known && len(partners) > 0 {
		return "none; verity models pull " + partners[0] + " would be one"
	}
	return "none: plain decoding"
}

func (i *Properties) printNetwork(s *textTable) {
	const shape = "%d layers, width %d, %d heads, %s positions"
	d := i.Dims
	s.row("window", "%g s: %s frames of %d mel bins", i.Window, show.Count(d.WindowFrames()), d.MelBins)
	if i.HasEncoder {
		s.row("encoder", shape, d.AudioLayers, d.AudioWidth, d.AudioHeads, show.Count(d.AudioPositions))
	} else {
		s.row("encoder", "none")
	}
	s.row("decoder", shape, d.TextLayers, d.TextWidth, d.TextHeads, show.Count(d.TextPositions))
	if i.Languages == nil {
		s.row("vocabulary", "%s tokens, with the names of the model that it drafts for", show.Count(d.Vocab))
	} else {
		s.row("vocabulary", "%s tokens, %s of them timestamps", show.Count(d.Vocab), show.Count(i.Timestamps))
	}
}
