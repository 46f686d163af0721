package datasets

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/internal/input"
)

// audioEndings are the extensions of audio in a folder without a manifest.
var audioEndings = []string{
	".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".m4a", ".mp4",
	".aac", ".aiff", ".aif", ".aifc", ".au", ".webm", ".wma",
}

// ending returns a file name's extension in lower case.
func ending(name string) string { return strings.ToLower(filepath.Ext(name)) }

func isAudio(name string) bool { return slices.Contains(audioEndings, ending(name)) }

// Open detects what kind of dataset is at path, a file or a folder, and where its rows
// are. It reads no rows. The error says what was looked for, or is ctx's cause.
func Open(ctx context.Context, path string, o Options) (*Dataset, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.defaults()
	real, err := filepath.EvalSymlinks(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err // without the name of the system call
	}
	if err != nil {
		return nil, fmt.Errorf("dataset %s: %w", path, err)
	}
	var d *Dataset
	switch {
	case info.IsDir():
		d, err = openFolder(ctx, path, real, o)
	case info.Mode().IsRegular():
		d, err = openFile(ctx, path, o)
	default: // a pipe or device may never end, and cannot be read twice
		err = input.ErrNotRegular
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("dataset %s: %w", path, err)
	}
	if o.Split != "" && !hasFields(d.Format) {
		return nil, fmt.Errorf("dataset %s: %w", path, &SplitError{Split: o.Split, Format: d.Format})
	}
	return d, nil
}

// openFile decides by the extension, then by the first bytes.
func openFile(ctx context.Context, path string, o Options) (*Dataset, error) {
	d := &Dataset{Format: o.Format, Root: filepath.Dir(path), Files: []string{path}, options: o}
	switch {
	case d.Format != "":
	case slices.Contains([]string{".jsonl", ".ndjson", ".json"}, ending(path)):
		d.Format = "jsonl"
	case slices.Contains([]string{".tsv", ".csv", ".parquet"}, ending(path)):
		d.Format = ending(path)[1:]
	case strings.HasSuffix(path, ".trans.txt"):
		d.Format = "librispeech"
	default:
		head, err := firstBytes(ctx, path)
		if err != nil {
			return nil, err
		}
		switch {
		case bytes.HasPrefix(head, []byte("PAR1")):
			d.Format = "parquet"
		case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
			d.Format = "jsonl"
		default:
			return nil, errors.New("neither a JSON-lines, TSV or CSV manifest, a Parquet file or a *.trans.txt transcript")
		}
	}
	return d, nil
}

func firstBytes(ctx context.Context, path string) ([]byte, error) {
	f, err := input.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// openFolder decides by the files in the folder. A manifest.jsonl at the top has
// priority: it was written to describe the folder.
func openFolder(ctx context.Context, path, real string, o Options) (*Dataset, error) {
	found, err := listFiles(ctx, path, real)
	if err != nil {
		return nil, err
	}
	candidates := []struct {
		format string
		files  []string
		many   bool // several files are read as one dataset
	}{
		{"jsonl", found.manifest, false},
		{"librispeech", found.transcripts, true},
		{"parquet", found.parquet, true},
		{"jsonl", found.jsonl, false},
		{"tsv", found.tsv, false},
		{"folder", found.audio, true},
		{"csv", found.csv, false}, // beside sound it may be about something else
	}
	for _, c := range candidates {
		if len(c.files) == 0 || o.Format != "" && o.Format != c.format {
			continue
		}
		if len(c.files) > 1 && !c.many {
			return nil, fmt.Errorf("holds several manifests, name one of them: %s", strings.Join(c.files, ", "))
		}
		return &Dataset{Format: c.format, Root: path, Files: c.files, options: o}, nil
	}
	want := "no manifest.jsonl, *.trans.txt, *.parquet, *.jsonl, *.tsv, *.csv or audio file found"
	if o.Format != "" {
		want = "no files of format " + o.Format + " found"
	}
	return nil, errors.New(want)
}

// files are the files that can make a folder a dataset. Manifests count only at the
// top.
type files struct {
	manifest, transcripts, parquet, jsonl, tsv, csv, audio []string
}

// listFiles walks the folder real in the order of names and lists what it finds under
// path. Hidden files and folders, and links to folders, are skipped.
func listFiles(ctx context.Context, path, real string) (files, error) {
	var f files
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
		f.add(filepath.Join(path, rel), rel == e.Name())
		return nil
	})
	return f, err
}

func (f *files) add(p string, top bool) {
	switch {
	case top && filepath.Base(p) == "manifest.jsonl":
		f.manifest = append(f.manifest, p)
	case strings.HasSuffix(p, ".trans.txt"):
		f.transcripts = append(f.transcripts, p)
	case ending(p) == ".parquet":
		f.parquet = append(f.parquet, p)
	case top && ending(p) == ".jsonl":
		f.jsonl = append(f.jsonl, p)
	case top && ending(p) == ".tsv":
		f.tsv = append(f.tsv, p)
	case top && ending(p) == ".csv":
		f.csv = append(f.csv, p)
	case isAudio(p):
		f.audio = append(f.audio, p)
	}
}
