package datasets

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"verity/internal/show"
)

// An Utterance is a piece of sound and its reference text.
type Utterance struct {
	ID       string // unique within the dataset
	Text     string // the reference; blank means silence
	Lang     string // empty if not stated; as the dataset writes it: "en", "sv-SE"
	Duration float64
	Offset   float64 // start of the utterance in the audio
	Part     bool    // the utterance is only Duration of the audio, from Offset on
	Turns    []Turn  // who says what, if the dataset states it; of a part, those that overlap it
	TurnsErr error   // why Turns cannot be read; the row is usable without them
	NoText   bool    // there is no reference text; only who speaks is known

	// Other fields of a row with short texts, such as lang, tag or speaker, by name.
	Fields map[string]string
	Audio  Source
}

// A Turn is what a speaker says: without times if Start and End are 0.
type Turn struct {
	Speaker    string
	Text       string
	Start, End float64 // s from the start of the audio
}

// Options says how to read a dataset.
type Options struct {
	// Audio and Text name the JSON fields or columns to use. Empty means the first of the
	// usual names that the row has.
	Audio, Text string

	Split string // read only rows of jsonl, tsv or csv whose field "split" has this value; empty means all
}

// maxLine bounds a line, or a text file of a folder, in bytes. A longer one is a broken row.
const maxLine = 1 << 20

// manifestSplit matches the path of a manifest and a split of it: m.jsonl:test.
var manifestSplit = regexp.MustCompile(`(?i)^(.*\.(?:jsonl|ndjson|json|tsv|csv)):([^/\\]+)$`)

// CutSplit returns the path of a dataset and the split that follows it after a colon, if any.
func CutSplit(path string) (file, split string) {
	if m := manifestSplit.FindStringSubmatch(path); m != nil {
		return m[1], m[2]
	}
	return path, ""
}

// A RowError is a row that cannot be used.
type RowError struct {
	File string
	Line int // from 1; for parquet the row number; 0 for the file itself
	Err  error
	ID   string // the ID the row would have if it were valid; empty if unknown
}

func (e *RowError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

// A Dataset is a source of utterances. It holds file names, not rows. It may be
// iterated any number of times, also concurrently.
type Dataset struct {
	Format string   // the layout, as the package comment names it
	Root   string   // folder that identifiers and paths are relative to
	Files  []string // manifests, transcripts, parquet files or audio files, in order

	options  Options
	manifest string          // beside sound with texts, and not read
	splits   map[string]bool // if not nil, collects the splits of the rows
}

// A sink gets the rows of a file in turn and reports whether it wants more.
type sink func(u Utterance, err error) bool

// errStop ends reading when the sink wants no more rows.
var errStop = errors.New("stop")

// A reader reads one file of a dataset. It passes broken rows to the sink and returns
// an error only if the rest of the file cannot be read, or when ctx has ended.
type reader func(ctx context.Context, d *Dataset, file string, rows sink) error

// All iterates over the utterances in a stable order. With a nil error the utterance is
// valid; with a *RowError it is not, and iteration continues; any other error is ctx's
// and ends it. Files are opened when iteration reaches them: one that cannot be opened
// is a RowError with line 0.
func (d *Dataset) All(ctx context.Context) iter.Seq2[Utterance, error] {
	return func(yield func(Utterance, error) bool) {
		seen := make(map[string]int)
		rows := func(u Utterance, err error) bool {
			if ctx.Err() != nil {
				yield(Utterance{}, context.Cause(ctx))
				return false
			}
			var row *RowError
			if err == nil {
				u.ID = unique(seen, u.ID)
			} else if errors.As(err, &row) && row.ID != "" {
				row.ID = unique(seen, row.ID) // other rows keep their IDs when this one is repaired
			}
			return yield(u, err)
		}
		for _, file := range d.Files {
			err := d.readFile(ctx, file, rows)
			if err == errStop {
				return
			}
			if err != nil && !rows(Utterance{}, rowError(file, 0, "", err)) {
				return
			}
		}
	}
}

// rowError returns the error for a row.
func rowError(file string, line int, id string, err error) *RowError {
	return &RowError{File: file, Line: line, Err: shorten(err), ID: id}
}

// shorten cuts a message: it may quote values and names as long as their file.
func shorten(err error) error {
	const most = 1000
	if err == nil || len(err.Error()) <= most {
		return err
	}
	return fmt.Errorf("%.*w…", most, err)
}

// unique returns id, with a number appended if seen has it already.
func unique(seen map[string]int, id string) string {
	seen[id]++
	if seen[id] == 1 {
		return id
	}
	for {
		numbered := fmt.Sprintf("%s#%d", id, seen[id])
		if seen[numbered] == 0 {
			seen[numbered] = 1
			return numbered
		}
		seen[id]++
	}
}

// ErrSplit is the cause if no row is of the split that Options.Split names.
var ErrSplit = errors.New("no row is of this split")

// maxSplits is how many other splits an error lists, about.
const maxSplits = 50

// CheckSplit returns an error, ErrSplit or ctx's, if Options.Split matches no row. It reads
// rows up to the first match.
func (d *Dataset) CheckSplit(ctx context.Context) error {
	if d.options.Split == "" {
		return nil
	}
	look := *d
	look.splits = map[string]bool{}
	for _, err := range look.All(ctx) {
		if look.splits[d.options.Split] {
			return nil
		}
		var row *RowError
		if err != nil && !errors.As(err, &row) {
			return err
		}
	}
	delete(look.splits, "")
	if len(look.splits) == 0 {
		return fmt.Errorf("%w: none has a field split; leave the split out", ErrSplit)
	}
	return shorten(fmt.Errorf("%w: want %s", ErrSplit, show.JoinOr(slices.Sorted(maps.Keys(look.splits)))))
}

// Count returns the number of rows, broken ones included. It opens no audio file. The error
// is ctx's.
func (d *Dataset) Count(ctx context.Context) (n int, err error) {
	for _, err := range d.All(ctx) {
		if err != nil && !errors.As(err, new(*RowError)) {
			return n, err
		}
		n++
	}
	return n, nil
}

// resolve returns the path of a file that a manifest names.
func resolve(manifest, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(manifest), filepath.FromSlash(name))
}

// relative returns file as an identifier: relative to the root, with forward slashes.
func (d *Dataset) relative(file string) string {
	rel, err := filepath.Rel(d.Root, file)
	if err != nil {
		rel = file
	}
	return filepath.ToSlash(rel)
}
