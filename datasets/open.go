package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/audio"
	"verity/internal/input"
)

// ending returns a file name's extension in lower case.
func ending(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Open detects what kind of dataset is at path, a file or a folder, and where its rows
// are. It reads no rows. An error names the files that it looked for, or is ctx's cause.
func Open(ctx context.Context, path string, o Options) (*Dataset, error) {
	real, err := filepath.EvalSymlinks(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset %s: %w", path, input.Cause(err))
	}
	var d *Dataset
	switch {
	case info.IsDir():
		d, err = openFolder(ctx, path, real, o)
	case info.Mode().IsRegular():
		d, err = openFile(path, o)
	default: // a pipe or device may never end, and cannot be read twice
		err = input.ErrNotRegular
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("dataset %s: %w", path, shorten(err))
	}
	return d, nil
}

// ErrKind is the cause of an error about files that are no dataset.
var ErrKind = errors.New("no dataset")

// A kindError is an ErrKind with what was looked for.
type kindError string

func (e kindError) Error() string        { return string(e) }
func (e kindError) Is(target error) bool { return target == ErrKind }

// openFile decides by the extension.
func openFile(path string, o Options) (*Dataset, error) {
	d := &Dataset{Root: filepath.Dir(path), Files: []string{path}, options: o}
	switch e := ending(path); {
	case slices.Contains([]string{".jsonl", ".ndjson", ".json"}, e):
		d.Format = "jsonl"
	case slices.Contains([]string{".tsv", ".csv", ".parquet"}, e):
		d.Format = e[1:]
	case strings.HasSuffix(path, ".trans.txt"):
		d.Format = "librispeech"
	default:
		return nil, kindError("want a directory, a manifest (*.jsonl, *.tsv or *.csv), *.parquet or *.trans.txt")
	}
	return d, nil
}

// kinds are the files that make a folder a dataset. The first kind found decides: a manifest.jsonl
// at the top describes the folder, but a CSV file beside sound may be about something else.
var kinds = []struct {
	format string
	top    bool // only at the top, and only one file
	is     func(p string) bool
}{
	{"jsonl", true, func(p string) bool { return filepath.Base(p) == "manifest.jsonl" }},
	{"librispeech", false, func(p string) bool { return strings.HasSuffix(p, ".trans.txt") }},
	{"parquet", false, func(p string) bool { return ending(p) == ".parquet" }},
	{"jsonl", true, func(p string) bool { return ending(p) == ".jsonl" }},
	{"tsv", true, func(p string) bool { return ending(p) == ".tsv" }},
	{"csv", true, func(p string) bool { return filepath.Base(p) == "metadata.csv" }},
	{"folder", false, audio.HasEnding},
	{"csv", true, func(p string) bool { return ending(p) == ".csv" }},
}

// openFolder decides by the files in the folder.
func openFolder(ctx context.Context, path, real string, o Options) (*Dataset, error) {
	found, err := listFiles(ctx, path, real)
	if err != nil {
		return nil, err
	}
	for i, k := range kinds {
		switch {
		case len(found[i]) > 1 && k.top:
			return nil, fmt.Errorf("the folder has several manifests: name one of them: %s", strings.Join(found[i], ", "))
		case len(found[i]) > 0:
			return &Dataset{Format: k.format, Root: path, Files: found[i], options: o}, nil
		}
	}
	if arrow, _ := filepath.Glob(filepath.Join(real, "*.arrow")); len(arrow) > 0 {
		return nil, kindError("it holds Arrow files, which are not read; in Python: " +
			`datasets.load_from_disk("DIR").to_parquet("test.parquet")`)
	}
	return nil, kindError("no manifest.jsonl, *.trans.txt, *.parquet, *.jsonl, *.tsv, *.csv or audio file found; want a manifest, or audio files with a .txt beside each")
}

// listFiles walks the folder real in the order of names and lists what it finds under
// path, by kind. Hidden files and folders, and links to folders, are skipped.
func listFiles(ctx context.Context, path, real string) ([][]string, error) {
	found := make([][]string, len(kinds))
	err := filepath.WalkDir(real, func(p string, e fs.DirEntry, err error) error {
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return err
		}
		if p != real && strings.HasPrefix(e.Name(), ".") {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if e.IsDir() || e.Type()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0 {
			return nil
		}
		rel, err := filepath.Rel(real, p)
		if err != nil {
			return err
		}
		p, top := filepath.Join(path, rel), rel == e.Name()
		for i, k := range kinds {
			if k.is(p) && (top || !k.top) {
				found[i] = append(found[i], p)
				break
			}
		}
		return nil
	})
	return found, err
}
