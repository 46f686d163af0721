package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"verity/datasets"
	"verity/eval"
	"verity/internal/show"
	"verity/wer/normalize"
)

// The options under the heading Dataset.
var datasetRows = []*Option{
	{Name: "dataset", Short: "d", Kind: Text, Arg: "path", Max: maxPath, Common: true,
		Help: "the dataset: a directory of LibriSpeech, MLS or Kaldi, a JSON Lines, TSV, CSV or STM manifest, Parquet files, or a directory " +
			"with a .txt transcript next to each audio file. manifest.jsonl:test reads only rows whose split is test; hf:OWNER/NAME:CONFIG:SPLIT downloads a split of the Hub"},
	{Name: "limit", Kind: Whole, Max: 1e9, Common: true, Help: "process only the first NUMBER utterances; 0 means all"},
	{Name: "columns", Kind: Text, Arg: "names", Max: maxLine,
		Help: "names of the audio and text fields or columns, such as path,sentence"},
}

// The options under the heading Runs.
var runRows = []*Option{
	{Name: "repeats", Kind: Whole, Max: 1000, Common: true,
		Help: "run each utterance NUMBER times in each variant; 0 means five pairs of runs in all, as far as a minute allows"},
}

// The options under the heading Report.
var reportRows = []*Option{
	{Name: "out", Short: "o", Kind: Text, Arg: "directory", Max: maxPath, Common: true,
		Help: "write records to this directory"},
	{Name: "html", Kind: Text, Arg: "file", Max: maxPath, Common: true,
		Help: "write an HTML page to this file; it works offline"},
	{Name: "normalizer", Kind: Choice, Arg: "name", Default: "auto",
		Choices: append([]string{"auto"}, normalize.Names()...),
		Help:    "text normalization before scoring: auto, " + show.JoinOr(normalize.Names())},
	{Name: "by", Kind: Text, Arg: "fields", Max: maxLine,
		Help: "also score the utterances of each value of a field of the manifest, such as lang, tag or speaker, or of several, as in " +
			"lang,speaker; language is the detected one where the manifest has none, and seconds groups by length"},
	{Name: "json", Common: true, Help: "write JSON"},
}

// DatasetFlags select the utterances of a run.
type DatasetFlags struct {
	Path  string
	Audio []string // sound files instead of a dataset, without references
	Opt   datasets.Options
	Limit int

	Offline bool // use only the cache of the hub
}

func (d *DatasetFlags) RegisterPath(f *pflag.FlagSet) {
	AddOption(f, "dataset", func(v Value) error {
		if d.Path, d.Opt.Split = v.Text, ""; !strings.HasPrefix(v.Text, ofHub) {
			d.Path, d.Opt.Split = datasets.CutSplit(v.Text)
		}
		return nil
	})
	Bind(f, "limit", &d.Limit)
}

func (d *DatasetFlags) Register(f *pflag.FlagSet) {
	AddOption(f, "columns", func(v Value) error {
		two := false
		if d.Opt.Audio, d.Opt.Text, two = strings.Cut(v.Text, ","); !two && v.Text != "" {
			return errors.New("want two names, as path,sentence")
		}
		return nil
	})
}

// ofHub begins the name of a data set of the Hub.
const ofHub = "hf:"

// A Corpus is the dataset or the files that DatasetFlags name.
type Corpus struct {
	Name     string
	All      func(ctx context.Context) eval.Dataset
	Count    func(ctx context.Context) int // 0 if it would take long
	Unscored bool                          // there are no references
}

// ErrNoDataset is the error of a missing --dataset.
var ErrNoDataset = Usagef("--dataset PATH is missing: want a directory of LibriSpeech, MLS or Kaldi, a JSON Lines, TSV, CSV or STM " +
	"manifest, Parquet files, or a folder with a .txt beside each sound")

func (d *DatasetFlags) Open(ctx context.Context) (*Corpus, error) {
	switch {
	case d.Path != "" && len(d.Audio) > 0:
		return nil, Usagef("--dataset and sound files are two ways to say what to run: choose one")
	case len(d.Audio) > 0:
		return d.files(), nil
	case d.Path == "":
		return nil, ErrNoDataset
	}
	data, err := d.openPath(ctx)
	if err == nil {
		err = d.checkRows(ctx, data)
	}
	if err != nil {
		return nil, err
	}
	count := func(ctx context.Context) int {
		if data.Format == "parquet" {
			return 0 // the files hold the sound itself and would have to be read whole
		}
		n, err := data.Count(ctx)
		if err != nil {
			return 0 // the run reports the error
		}
		return d.limited(n)
	}
	return &Corpus{Name: d.Name(), All: data.All, Count: count}, nil
}

// openPath opens what --dataset names.
func (d *DatasetFlags) openPath(ctx context.Context) (data *datasets.Dataset, err error) {
	path := d.Path
	if name, is := strings.CutPrefix(path, ofHub); is {
		if path, err = NewHub(d.Offline).Dataset(ctx, name); err != nil {
			return nil, OfHub(fmt.Errorf("--dataset %s%w", ofHub, err))
		}
	}
	if data, err = datasets.Open(ctx, path, d.Opt); err == nil {
		err = data.CheckSplit(ctx)
	}
	switch {
	case errors.Is(err, datasets.ErrSplit):
		err = Usagef("--dataset %s:%s: %w", d.Path, d.Opt.Split, err)
	case errors.Is(err, fs.ErrNotExist):
		name := "OWNER/NAME"
		if strings.Count(d.Path, "/") == 1 && !strings.Contains(d.Path, ".") {
			name = d.Path
		}
		err = Usagef("--%w; want a directory or manifest on this machine, or %s%s of the Hub", err, ofHub, name)
	case errors.Is(err, datasets.ErrKind):
		err = Usagef("--%w", err)
	}
	return data, Unusable(err)
}

// checkRows refuses a dataset that has no row, or none that can be read.
func (d *DatasetFlags) checkRows(ctx context.Context, data *datasets.Dataset) error {
	var first error
	var columns *datasets.ColumnsError
	empty := true // not even a broken row
	for _, err := range data.All(ctx) {
		if empty && errors.Is(err, datasets.ErrKind) {
			return Usagef("--dataset %w", err)
		}
		first, empty = cmp.Or(first, err), false
		if !errors.As(err, &columns) {
			columns = nil
			break
		}
	}
	switch err := context.Cause(ctx); {
	case err != nil:
		return err
	case empty:
		return Usagef("--dataset %s holds no utterance: there is nothing to do", d.Path)
	case columns != nil:
		example := "AUDIO,TEXT"
		if names := strings.Join(columns.Has, ","); len(columns.Has) == 2 && !strings.Contains(names, " ") {
			example = names
		}
		return Usagef("--dataset %w; --columns %s names those of sound and text", first, example)
	}
	return nil
}

// Name identifies the utterances by the path and the flags that select from it.
func (d *DatasetFlags) Name() string {
	s := d.Path
	if !strings.Contains(s, "://") { // verity-beam reads from remote storage
		s = filepath.Clean(s)
	}
	if d.Opt.Split != "" {
		s += ":" + d.Opt.Split
	}
	if columns := strings.TrimSuffix(d.Opt.Audio+","+d.Opt.Text, ","); columns != "" {
		s += " --columns=" + columns
	}
	return s
}

// files returns the corpus of sound files without references.
func (d *DatasetFlags) files() *Corpus {
	name := d.Audio[0]
	if n := len(d.Audio); n > 1 {
		name = fmt.Sprintf("%s and %d more", name, n-1)
	}
	all := func(ctx context.Context) eval.Dataset {
		return func(yield func(datasets.Utterance, error) bool) {
			for _, name := range d.Audio { // eval numbers equal names
				if !yield(datasets.Utterance{ID: name, Audio: datasets.Source{Path: name}}, ctx.Err()) {
					return
				}
			}
		}
	}
	count := func(context.Context) int { return d.limited(len(d.Audio)) }
	return &Corpus{Name: name, All: all, Count: count, Unscored: true}
}

// limited returns how many of n utterances --limit leaves.
func (d *DatasetFlags) limited(n int) int {
	if d.Limit > 0 {
		return min(n, d.Limit)
	}
	return n
}
