package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"verity/datasets"
	"verity/eval"
	"verity/internal/options"
)

// datasetFlags say which utterances to run.
type datasetFlags struct {
	path  string
	audio []string // sound files instead of a dataset, without references
	opt   datasets.Options
	limit int
}

func (d *datasetFlags) registerPath(f *pflag.FlagSet) {
	bind(f, "dataset", &d.path)
	bind(f, "limit", &d.limit)
}

func (d *datasetFlags) register(f *pflag.FlagSet) {
	addOption(f, "dataset-format", func(v options.Value) error {
		if d.opt.Format = v.Text; v.Text == "auto" {
			d.opt.Format = ""
		}
		return nil
	})
	bind(f, "split", &d.opt.Split)
	bind(f, "audio-column", &d.opt.Audio)
	bind(f, "text-column", &d.opt.Text)
	bind(f, "allow-empty-text", &d.opt.AllowEmpty)
}

// A corpus is the dataset or the files that datasetFlags name.
type corpus struct {
	name     string
	all      func(ctx context.Context) eval.Dataset
	count    func(ctx context.Context) int // 0 if it would take long
	unscored bool                          // there are no references
}

// errNoDataset says that --dataset is missing, and what it takes.
var errNoDataset = usagef("--dataset PATH is missing: want a LibriSpeech folder, a JSON-lines or TSV manifest, " +
	"Parquet files, or a folder with a .txt beside each sound")

func (d *datasetFlags) open(ctx context.Context) (*corpus, error) {
	switch {
	case d.path != "" && len(d.audio) > 0:
		return nil, usagef("--dataset and --audio are two ways to say the same: take one")
	case len(d.audio) > 0:
		return d.files(), nil
	case d.path == "":
		return nil, errNoDataset
	}
	data, err := datasets.Open(ctx, d.path, d.opt)
	if err == nil {
		err = data.CheckSplit(ctx)
	}
	empty := false
	if err == nil {
		empty, err = isEmpty(ctx, data)
	}
	switch {
	case errors.As(err, new(*datasets.SplitError)):
		return nil, usagef("--split %s: %w", d.opt.Split, err)
	case err != nil:
		return nil, err
	case empty:
		return nil, fmt.Errorf("dataset %s holds no utterance: there is nothing to do", d.path)
	}
	return &corpus{
		name:  d.name(),
		all:   func(ctx context.Context) eval.Dataset { return eval.Dataset(data.All(ctx)) },
		count: func(ctx context.Context) int { return d.capped(countRows(ctx, data)) },
	}, nil
}

// name identifies these utterances: the path, and the flags that select from it.
func (d *datasetFlags) name() string {
	s := d.path
	if !strings.Contains(s, "://") { // as verity-beam takes it
		s = filepath.Clean(s)
	}
	for _, f := range []struct{ name, value string }{
		{"dataset-format", d.opt.Format}, {"split", d.opt.Split}, {"audio-column", d.opt.Audio}, {"text-column", d.opt.Text},
	} {
		if f.value != "" {
			s += " --" + f.name + "=" + f.value
		}
	}
	if d.opt.AllowEmpty {
		s += " --allow-empty-text"
	}
	return s
}

// isEmpty reports whether a dataset has not even a broken row. The error is the cause
// that ended ctx.
func isEmpty(ctx context.Context, data *datasets.Dataset) (bool, error) {
	for range data.All(ctx) {
		return false, context.Cause(ctx)
	}
	return true, nil
}

// files is the corpus of the files that --audio names.
func (d *datasetFlags) files() *corpus {
	name := d.audio[0]
	if n := len(d.audio); n > 1 {
		name = fmt.Sprintf("%s and %d more", name, n-1)
	}
	return &corpus{
		name: name, unscored: true,
		count: func(context.Context) int { return d.capped(len(d.audio)) },
		all: func(ctx context.Context) eval.Dataset {
			return func(yield func(datasets.Utterance, error) bool) {
				seen := map[string]int{}
				for _, name := range d.audio {
					id := name
					if seen[name]++; seen[name] > 1 {
						id = fmt.Sprintf("%s#%d", name, seen[name])
					}
					if !yield(datasets.Utterance{ID: id, Audio: datasets.File(name)}, ctx.Err()) {
						return
					}
				}
			}
		},
	}
}

func (d *datasetFlags) capped(n int) int {
	if d.limit > 0 {
		return min(n, d.limit)
	}
	return n
}

// countRows counts for a progress bar. Parquet files hold the sound itself and
// would have to be read whole.
func countRows(ctx context.Context, data *datasets.Dataset) int {
	if data.Format == "parquet" {
		return 0
	}
	c, err := data.Count(ctx)
	if err != nil {
		return 0 // the run will report it
	}
	return c.Utterances + c.Broken
}
