package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"verity/audio"
	"verity/internal/options"
	"verity/internal/show"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/transcribe"
)

// modelFlags say which model to use and how to run it.
type modelFlags struct {
	name      string
	offline   bool
	threads   int
	precision precisionFlag
	assistant assistantFlags
	arms      *armsFlag      // of --precision, where a command takes several
	pool      *parallel.Pool // nil means one of its own
	serving   bool           // people wait for text, so that windows do not go first
}

func (m *modelFlags) register(f *pflag.FlagSet) {
	m.registerModel(f)
	m.registerSpeed(f)
	m.assistant.registerText(f)
	m.assistant.register(f)
}

func (m *modelFlags) registerModel(f *pflag.FlagSet) {
	bind(f, "model", &m.name)
	redefine(f, "model", defaultModel, "")
	bind(f, "offline", &m.offline)
}

func (m *modelFlags) registerSpeed(f *pflag.FlagSet) {
	bind(f, "threads", &m.threads)
	if m.arms != nil {
		m.arms.one = &m.precision
		o := options.Find("precision")
		f.Var(m.arms, o.Name, o.Help+". Several precisions separated by commas are arms, with the assistant where +assistant follows: "+
			"f16,mxfp6,mxfp6+assistant")
		must(f.SetAnnotation(o.Name, groupKey, []string{o.Group}))
		return
	}
	addOption(f, "precision", func(v options.Value) error { return m.precision.Set(v.Text) })
}

// must panics on an error of flag registration, a programmer's mistake.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// openCheckpoint opens the model of a name, which is downloaded unless offline forbids it.
func openCheckpoint(ctx context.Context, name string, offline bool) (*model.Checkpoint, error) {
	if i, ok := insideOf(name); ok {
		return model.OpenFS(i.target(), name)
	}
	path, err := locate(ctx, name, offline)
	if err != nil {
		return nil, err
	}
	c, err := model.Open(ctx, path)
	if err != nil && isSound(path) {
		return nil, fmt.Errorf("%s: is a sound file, not a model: --model names the model; sound files are named without a flag",
			show.Name(path))
	}
	return c, err
}

// isSound reports whether a file can be read as sound.
func isSound(path string) bool {
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() {
		return false
	}
	clip, err := audio.Open(path)
	if err != nil {
		return false
	}
	clip.Close()
	return true
}

// A loaded is a model ready for work, and what has to be closed after it.
type loaded struct {
	*transcribe.Model
	name       string // as --model has it
	offline    bool
	checkpoint *model.Checkpoint
	closers    []io.Closer
}

// load loads the model that the flags name, with its assistant.
func (m *modelFlags) load(ctx context.Context) (*loaded, error) {
	c, err := openCheckpoint(ctx, m.name, m.offline)
	if err != nil {
		return nil, err
	}
	l := &loaded{name: m.name, offline: m.offline, checkpoint: c, closers: []io.Closer{c}}
	l.Model, err = l.wire(ctx, &m.assistant, transcribe.LoadOptions{
		Threads: m.threads, Pool: m.pool, Precision: m.precision.Precision, WindowsFirst: !m.serving, Log: slog.Default(),
	})
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// assisted returns the same model with an assistant: both share all weights.
func (l *loaded) assisted(ctx context.Context, a *assistantFlags) (*transcribe.Model, error) {
	return l.wire(ctx, a, transcribe.LoadOptions{Like: l.Model, WindowsFirst: true})
}

// wire loads the checkpoint, or takes the weights of o.Like, and gives it an assistant.
func (l *loaded) wire(ctx context.Context, a *assistantFlags, o transcribe.LoadOptions) (*transcribe.Model, error) {
	o.Policy, o.Sampler, o.MeasureOverlap = a.newPolicy(), transcribe.Sampler(a.sampler), a.overlap
	var err error
	if o.Assistant, err = a.describe(ctx, l); err != nil {
		return nil, err
	}
	m, err := transcribe.Load(ctx, l.checkpoint, o)
	if err == nil {
		a.auto = m.Auto()
	}
	return m, err
}

func (l *loaded) close() {
	if l.Model != nil {
		l.Model.Close()
	}
	for _, c := range l.closers {
		c.Close() // an error means nothing: the file was only read
	}
}

// A precisionFlag is a flag for what a network is held and computed in.
type precisionFlag struct{ precision.Precision }

func (p *precisionFlag) Set(s string) (err error) {
	if p.Precision, err = precision.Parse(s); err != nil && !strings.Contains(s, ":") {
		return fmt.Errorf("want %s", precision.Names()) // Parse names s once more
	}
	return err
}

func (p *precisionFlag) Type() string { return "format" }

// noModel says that nothing is there under the name of a model, and what to do.
func noModel(name string) error {
	if name == defaultModel && insideNames() == "" {
		return fmt.Errorf("this program was built without a model (-tags nomodel): name the directory of a Whisper checkpoint with --model DIR")
	}
	return &missingModel{name}
}

// A missingModel is the name of a model that is no directory, no file and no published one.
type missingModel struct{ name string }

func (m *missingModel) Error() string {
	return fmt.Sprintf("model %s; name a checkpoint, a published model such as small or openai/whisper-small, or %s",
		m.what(), insideNames())
}

// what returns the name and what is wrong with it.
func (m *missingModel) what() string {
	if strings.TrimSpace(m.name) == "" {
		return strconv.Quote(m.name) + ": the name is empty"
	}
	return m.name + ": there is no such directory or file"
}
