package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"verity"
	"verity/internal/show"
	"verity/model"
	_ "verity/model/base" // DefaultModel
	"verity/model/hub"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcribe"
)

// The options under the heading Model.
var modelRows = []*Option{
	{Name: "model", Short: "m", Kind: Text, Arg: "name", Max: maxPath, Scope: Configurable | Server, Common: true,
		Help: "base (built in), another published model, such as small or openai/whisper-small, or a path; a published " +
			"model is downloaded if it is not in the cache, and a path is that of a Hugging Face or CTranslate2 " +
			"directory, an openai/whisper .pt file, or a whisper.cpp ggml file"},
	{Name: "language", Short: "l", Kind: Text, Arg: "language", Default: "auto", Max: 64, Check: checkLanguage,
		Scope: anywhere, Field: "Language", Set: setLanguage, Common: true,
		Help: "spoken language, such as en or English; a list, such as en,de, to choose the likeliest of them; auto " +
			"detects it"},
	{Name: "multilingual", Scope: Configurable, Field: "Multilingual",
		Set:  func(d *Decoding, v Value) { d.Multilingual = v.On },
		Help: "detect the language of every window; JSON reports it for each segment"},
	{Name: "task", Kind: Choice, Arg: "task", Default: string(zero.Task), Choices: []string{"transcribe", "translate"},
		Scope: Configurable, Field: "Task", Set: func(d *Decoding, v Value) { d.Task = transcribe.Task(v.Text) }, Common: true,
		Help: "transcribe, or translate to English"},
	{Name: "offline", Scope: Configurable | Server,
		Help: "download nothing, neither audio nor models; models come from the cache, as with HF_HUB_OFFLINE=1"},
}

// The options under the heading Speed.
var speedRows = []*Option{
	{Name: "threads", Kind: Whole, Max: parallel.MaxThreads, Scope: Configurable | Server, Common: true,
		Help: "number of threads; 0 means one per fast core. The text does not depend on it"},
	{Name: "precision", Kind: List, Arg: "format", Default: "auto", Choices: precision.List(),
		Check: checks(ParsePrecision), Scope: Configurable | Server, Common: true,
		Help: "number format of the weights: " + precision.Names() + ". auto is f16 if it represents " +
			"every weight exactly, otherwise f32; quantized weights keep their format. Formats of 8 bits and fewer round " +
			"activations to int8, too. Append :cache=FORMAT for the " +
			"attention cache"},
	{Name: "batch", Kind: Whole, Default: "1", Min: 1, Max: maxBatch, Scope: Configurable, Common: true,
		Help: "transcribe NUMBER files at the same time. They share every pass over the weights; each needs its own " +
			"memory. The text does not depend on it"},
	{Name: "chunked", Scope: Configurable, Field: "Chunked",
		Set: func(d *Decoding, v Value) { d.Chunked = v.On }, Common: true,
		Help: "split each file at quiet points and decode several parts at the same time; faster for files of three " +
			"minutes or more"},
}

// DefaultModel is used if no model is named. Tests replace it.
var DefaultModel = "base"

// ModelFlags choose a model and how to run it.
type ModelFlags struct {
	Name      string
	Offline   bool
	Threads   int
	Precision precision.Precision
	Assistant AssistantFlags
	Several   pflag.Value    // the value of --precision where a command accepts more than one
	Pool      *parallel.Pool // nil means a pool for this model alone
	Serving   bool           // clients wait for text: do not encode all windows first
}

func (m *ModelFlags) Register(f *pflag.FlagSet) {
	m.RegisterModel(f)
	m.RegisterSpeed(f)
	Bind(f, "draft-from", &m.Assistant.From)
	m.Assistant.Register(f)
}

func (m *ModelFlags) RegisterModel(f *pflag.FlagSet) {
	Bind(f, "model", &m.Name)
	Redefine(f, "model", DefaultModel, "")
	Bind(f, "offline", &m.Offline)
}

func (m *ModelFlags) RegisterSpeed(f *pflag.FlagSet) {
	Bind(f, "threads", &m.Threads)
	if m.Several != nil {
		o := Find("precision")
		f.Var(m.Several, o.Name, o.Help+". Several precisions, separated by commas, form one variant each; "+
			"+assistant adds the assistant to a variant: f16,mxfp6,mxfp6+assistant")
		Must(f.SetAnnotation(o.Name, GroupKey, []string{o.Group}))
		return
	}
	Precision(f, "precision", &m.Precision)
}

// Precision adds the flag of an option whose value is a precision.
func Precision(f *pflag.FlagSet, name string, to *precision.Precision) {
	AddOption(f, name, func(v Value) (err error) { *to, err = ParsePrecision(v.Text); return err })
}

// Options returns the options of verity.Open that the flags set, with d for decoding.
func (m *ModelFlags) Options(d transcribe.Options) verity.Options {
	a := &m.Assistant
	return verity.Options{
		Threads: m.Threads, Precision: m.Precision, Decoding: d, Hub: NewHub(m.Offline), Offline: m.Offline, Pool: m.Pool,
		Assistant: a.Name, AssistantPrecision: a.Precision, WindowsFirst: !m.Serving,
		Policy: a.Policy, Rejection: a.Rejection, MeasureOverlap: a.overlap, Log: slog.Default(),
	}
}

// Load loads the model that the flags name, with its assistant, for decoding with d.
func (m *ModelFlags) Load(ctx context.Context, d transcribe.Options) (*verity.Model, error) {
	if cores := runtime.NumCPU(); m.Threads > cores {
		slog.Warn(fmt.Sprintf("--threads %d on %s is slower than %d", m.Threads, show.Some(cores, "processor"), cores))
	}
	if err := checkDefault(m.Name); err != nil {
		return nil, err
	}
	if m.Assistant.Name == "" {
		return nil, Usagef(`--assistant "": want a name, such as none, or leave it out`)
	}
	l, err := verity.Open(ctx, m.Name, m.Options(d))
	return l, m.explain(err)
}

// Assisted returns the same model with the assistant of the flags: both share all weights.
func (m *ModelFlags) Assisted(ctx context.Context, plain *verity.Model, d transcribe.Options) (*verity.Model, error) {
	l, err := plain.Assisted(ctx, m.Options(d))
	return l, m.explain(err)
}

// OpenCheckpoint opens the named model, which it downloads unless offline forbids it.
func OpenCheckpoint(ctx context.Context, name string, offline bool) (*model.Checkpoint, error) {
	if err := checkDefault(name); err != nil {
		return nil, err
	}
	h := NewHub(offline)
	c, err := h.Open(ctx, name)
	return c, (&ModelFlags{Name: name}).explain(err)
}

// checkDefault refuses the default model in a program built without it: downloading it needs the
// user's decision.
func checkDefault(name string) error {
	if Embedded(name) || name != DefaultModel {
		return nil
	}
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	return Usagef("this program was built without a model (-tags nomodel): name the directory of a Whisper " +
		"checkpoint with --model DIR")
}

// explain adds to an error of the library the flag or command that helps.
func (m *ModelFlags) explain(err error) error {
	if errors.Is(err, hub.ErrOffline) {
		lacking := m.Name
		if a := m.Assistant.Name; a != "" && strings.Contains(err.Error(), "model "+a+":") {
			lacking = a
		}
		err = fmt.Errorf("%w (--offline or HF_HUB_OFFLINE); verity models pull %s downloads it with a network", err, lacking)
	}
	return Unusable(InFlag(err))
}

// Embedded reports whether the named model is part of this program.
func Embedded(name string) bool {
	_, ok := model.EmbeddedModel(name)
	return ok
}

// NewHub returns a client that shows the progress of downloads, or makes none if offline.
func NewHub(offline bool) *hub.Client {
	h := hub.FromEnv()
	h.Offline = h.Offline || offline
	h.Notice = func(line string) { slog.Warn(line) }
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return h
	}
	b, current, began := Bar{W: os.Stderr}, "", time.Time{}
	h.Progress = func(file string, done, total int64) {
		if file != current {
			current, began = file, time.Now()
		}
		if done >= total {
			b.Clear()
			return
		}
		share := float64(done) / float64(total)
		text := fmt.Sprintf("%s, %s of %s", file, show.Bytes(done), show.Bytes(total))
		b.Set(text+Remaining(time.Since(began), share), share)
	}
	return h
}

// CompleteModel completes an argument by names of models, files and directories.
func CompleteModel(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return hub.AllNames(), cobra.ShellCompDirectiveDefault
}

// ParsePrecision is [precision.Parse] with an error that leaves out the text.
func ParsePrecision(text string) (precision.Precision, error) {
	p, err := precision.Parse(text)
	if err != nil && !strings.Contains(text, ":") {
		_, want, _ := strings.Cut(err.Error(), ": ")
		err = errors.New(want)
	}
	return p, err
}

func checkLanguage(text string) error {
	if strings.EqualFold(text, "auto") {
		return nil
	}
	for one := range strings.SplitSeq(text, ",") {
		// A checkpoint may know further languages by their codes.
		if len(one) > 3 && !tokenizer.IsKnownLanguage(one) {
			var names []string
			for _, l := range tokenizer.KnownLanguages() {
				names = append(names, strings.ToLower(l.Name))
			}
			return fmt.Errorf("want the code or name of a language, such as en or English; several, such as en,de; or auto%s; verity info lists them%s",
				gotPart(one, text), nearest(one, names))
		}
	}
	return nil
}

func setLanguage(d *Decoding, v Value) {
	if d.Language = v.Text; strings.EqualFold(v.Text, "auto") {
		d.Language = ""
	}
}
