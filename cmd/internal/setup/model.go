package setup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/model"
	"verity/model/base"
	"verity/model/hub"
	"verity/parallel"
	"verity/precision"
	"verity/transcribe"
)

// ModelFlags say which model to use and how to run it.
type ModelFlags struct {
	Name      string
	Offline   bool
	Threads   int
	Precision precision.Precision
	Assistant AssistantFlags
	Several   pflag.Value    // of --precision, where a command takes more than one
	Pool      *parallel.Pool // nil means one of its own
	Serving   bool           // people wait for text, so that windows do not go first
}

func (m *ModelFlags) Register(f *pflag.FlagSet) {
	m.RegisterModel(f)
	m.RegisterSpeed(f)
	m.Assistant.registerText(f)
	m.Assistant.Register(f)
}

func (m *ModelFlags) RegisterModel(f *pflag.FlagSet) {
	cli.Bind(f, "model", &m.Name)
	cli.Redefine(f, "model", DefaultModel, "")
	cli.Bind(f, "offline", &m.Offline)
}

func (m *ModelFlags) RegisterSpeed(f *pflag.FlagSet) {
	cli.Bind(f, "threads", &m.Threads)
	if m.Several != nil {
		o := options.Find("precision")
		f.Var(m.Several, o.Name, o.Help+". Several precisions separated by commas are arms, with the assistant where +assistant follows: "+
			"f16,mxfp6,mxfp6+assistant")
		cli.Must(f.SetAnnotation(o.Name, cli.GroupKey, []string{o.Group}))
		return
	}
	Precision(f, "precision", &m.Precision)
}

// Precision adds the flag of an option for what a network is held and computed in.
func Precision(f *pflag.FlagSet, name string, to *precision.Precision) {
	cli.AddOption(f, name, func(v options.Value) (err error) { *to, err = options.ParsePrecision(v.Text); return err })
}

// OpenCheckpoint opens the model of a name, which is downloaded unless offline forbids it.
func OpenCheckpoint(ctx context.Context, name string, offline bool) (*model.Checkpoint, error) {
	if i, ok := EmbeddedOf(name); ok {
		return model.OpenFS(i.Target(), name)
	}
	path, err := locate(ctx, name, offline)
	if err != nil {
		return nil, err
	}
	return model.Open(ctx, path)
}

// A Model is a model ready for work, and what has to be closed after it.
type Model struct {
	*transcribe.Model
	name       string // as --model has it
	offline    bool
	Checkpoint *model.Checkpoint
	closers    []io.Closer
}

// Load loads the model that the flags name, with its assistant.
func (m *ModelFlags) Load(ctx context.Context) (*Model, error) {
	if cores := runtime.NumCPU(); m.Threads > cores {
		slog.Warn("more --threads than processors take longer", "threads", m.Threads, "processors", cores)
	}
	c, err := OpenCheckpoint(ctx, m.Name, m.Offline)
	if err != nil {
		return nil, err
	}
	l := &Model{name: m.Name, offline: m.Offline, Checkpoint: c, closers: []io.Closer{c}}
	l.Model, err = l.wire(ctx, &m.Assistant, transcribe.LoadOptions{
		Threads: m.Threads, Pool: m.Pool, Precision: m.Precision, WindowsFirst: !m.Serving, Log: slog.Default(),
	})
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Assisted returns the same model with an assistant: both share all weights.
func (l *Model) Assisted(ctx context.Context, a *AssistantFlags) (*transcribe.Model, error) {
	return l.wire(ctx, a, transcribe.LoadOptions{Like: l.Model, WindowsFirst: true, Log: slog.Default()})
}

// wire loads the checkpoint, or takes the weights of o.Like, and gives it an assistant.
func (l *Model) wire(ctx context.Context, a *AssistantFlags, o transcribe.LoadOptions) (*transcribe.Model, error) {
	o.Policy, o.Rejection, o.MeasureOverlap = a.Policy, a.rejection(), a.overlap
	var err error
	if o.Assistant, err = a.describe(ctx, l); err != nil {
		return nil, err
	}
	m, err := transcribe.Load(ctx, l.Checkpoint, o)
	if err == nil {
		a.Auto = m.Auto
	}
	return m, err
}

func (l *Model) Close() {
	if l.Model != nil {
		l.Model.Close()
	}
	for _, c := range l.closers {
		c.Close() // an error means nothing: the file was only read
	}
}

// A missingModel is the name of a model that is no directory, no file and no published one.
type missingModel struct{ name string }

func (m *missingModel) Error() string {
	text := fmt.Sprintf("model %s: there is no such directory or file", cmp.Or(m.name, `""`))
	if near := cli.Nearest(strings.TrimPrefix(m.name, "whisper-"), ModelNames()); len(near) > 0 {
		return text + cli.DidYouMean(near)
	}
	return fmt.Sprintf("%s; name a checkpoint, a published model such as small or openai/whisper-small, or %s", text, strings.Join(embeddedNames(), " or "))
}

// An Embedded is a model that lies in this program.
type Embedded struct {
	Target    func() fs.FS // nil if the program was built without
	Assistant func() fs.FS // nil if it has none
}

// EmbeddedModels are the models that lie in this program, by name. A directory of such a
// name is ./NAME. Tests have another.
var EmbeddedModels = map[string]Embedded{"base": {Target: base.Base}}

// DefaultModel is what is used if no model is named.
var DefaultModel = "base"

// EmbeddedOf returns the model of a name, if it is one that lies in this program.
func EmbeddedOf(name string) (Embedded, bool) {
	i, ok := EmbeddedModels[name]
	return i, ok && i.Target() != nil
}

// embeddedNames returns the names of the models that lie in this program.
func embeddedNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(EmbeddedModels)), func(name string) bool {
		_, ok := EmbeddedOf(name)
		return !ok
	})
}

// CompleteModel offers names of models as the argument, and files and directories.
func CompleteModel(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return ModelNames(), cobra.ShellCompDirectiveDefault
}

// ModelNames are the names that --model takes beside paths.
func ModelNames() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(embeddedNames(), hub.Names()))))
}

// AssistantNames are what --assistant takes beside models.
func AssistantNames() []string {
	return []string{"auto", string(transcribe.None), string(transcribe.NGram), string(transcribe.Bigram), string(transcribe.Self)}
}
