package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/internal/tensor"
	"verity/model"
	"verity/parallel"
	"verity/transcribe"
)

// demoName names the model inside this program. A directory of that name is
// ./demo.
const demoName = "demo"

// modelFlags say which model to use and how to run it.
type modelFlags struct {
	name      string
	threads   int
	precision precision
	assistant assistantFlags
}

func (m *modelFlags) register(f *pflag.FlagSet) {
	f.StringVarP(&m.name, "model", "m", demoName, "demo, or the `directory` of a Whisper checkpoint in Hugging Face layout")
	f.IntVar(&m.threads, "threads", 0, "`number` of threads; 0 means one for each core. The text does not depend on it")
	f.Var(&m.precision, "precision", "type to hold the weights in: auto, f32, f16, bf16 or int8. auto is f16\nif no weight changes by it, else as stored")
	m.assistant.register(f)
}

// complete offers directories for --model.
func (m *modelFlags) complete(c *cobra.Command) {
	must(c.MarkFlagDirname("model"))
	must(c.RegisterFlagCompletionFunc("precision", cobra.FixedCompletions([]string{"auto", "f32", "f16", "bf16", "int8"}, cobra.ShellCompDirectiveNoFileComp)))
	m.assistant.complete(c)
}

// must panics on an error of flag registration, a programmer's mistake.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// openCheckpoint opens the model of a name.
func openCheckpoint(name string) (*model.Checkpoint, error) {
	if name == demoName {
		return model.OpenFS(demoTarget(), demoName)
	}
	c, err := model.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, missing := os.Stat(name); missing != nil {
			return nil, fmt.Errorf("model %s: there is no such directory; name that of a Whisper checkpoint in Hugging Face layout, or demo", name)
		}
	}
	return c, err
}

// An engine is a model ready for work, and what has to be closed behind it.
type engine struct {
	*transcribe.Model
	checkpoint *model.Checkpoint
	pool       *parallel.Pool
	closers    []io.Closer
}

// load opens the model that the flags name.
func (m *modelFlags) load() (*engine, error) {
	if m.threads < 0 {
		return nil, usagef("--threads %d: must be 0 or more", m.threads)
	}
	c, err := openCheckpoint(m.name)
	if err != nil {
		return nil, err
	}
	e := &engine{checkpoint: c, pool: parallel.New(m.threads), closers: []io.Closer{c}}
	e.Model, err = transcribe.Load(c, transcribe.LoadOptions{Pool: e.pool, Precision: m.precision.DType})
	if err == nil {
		err = m.assistant.attach(e)
	}
	if err != nil {
		e.close()
		return nil, err
	}
	m.remember(e)
	return e, nil
}

func (e *engine) close() {
	e.pool.Close()
	for _, c := range e.closers {
		c.Close() // a mapping of a file that was only read
	}
}

// A precision is a flag for the type of weights. The zero value is auto.
type precision struct{ tensor.DType }

func (p *precision) String() string {
	if p.DType == 0 {
		return "auto"
	}
	return p.DType.String()
}

func (p *precision) Set(s string) error {
	for _, d := range []tensor.DType{0, tensor.F32, tensor.F16, tensor.BF16, tensor.I8} {
		if q := (precision{d}); q.String() == s {
			*p = q
			return nil
		}
	}
	return errors.New("want auto, f32, f16, bf16 or int8")
}

func (p *precision) Type() string { return "type" }
