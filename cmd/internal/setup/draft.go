package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"verity/cmd/internal/cli"
	"verity/eval/report"
	"verity/internal/input"
	"verity/internal/show"
	"verity/transcript"
)

// What --draft-from takes instead of a path.
const (
	besideSound = "beside"     // transcripts beside the sounds
	references  = "references" // of the dataset
)

// transcriptTypes are the extensions of transcripts, best first: those with more times.
var transcriptTypes = []string{".json", ".srt", ".vtt", ".ass", ".tsv", ".csv", ".lrc", ".txt"}

// A DraftSource finds the text of a sound to draft from. Nil finds nothing.
type DraftSource struct {
	from  string // the value of the flag
	file  bool   // it is a single file
	one   []transcript.Cue
	byID  map[string][]transcript.Cue
	found atomic.Bool // some text, by Lines
}

// Found reports whether Lines has found any text.
func (d *DraftSource) Found() bool { return d.found.Load() }

// OpenDrafts opens what --draft-from names, for n sounds; 0 for those of a dataset. It
// returns nil for an empty name.
func OpenDrafts(ctx context.Context, from string, n int) (*DraftSource, error) {
	d := &DraftSource{from: from}
	switch from {
	case "":
		return nil, nil
	case besideSound:
		return d, nil
	case references:
		if n > 0 {
			return nil, cli.Usagef("--draft-from references: sound files have none; it is for a dataset")
		}
		return d, nil
	}
	st, err := os.Stat(from)
	switch {
	case err != nil:
		return nil, cli.Usagef("--draft-from %s: %w", from, input.Cause(err))
	case st.IsDir():
		if _, err := report.Find(from); n == 0 && err == nil {
			return d, d.readRecords(ctx)
		}
		return d, nil
	case filepath.Ext(from) == ".jsonl":
		return d, d.readRecords(ctx)
	case n != 1:
		return nil, cli.Usagef("--draft-from %s: one file cannot be the text of several sounds; name a directory with a transcript of each", from)
	}
	d.file = true
	if d.one, err = readLines(ctx, from); err == nil && len(d.one) == 0 {
		slog.Warn("the text to draft from is empty", "file", from)
	}
	return d, err
}

func readLines(ctx context.Context, name string) ([]transcript.Cue, error) {
	raw, err := input.Read(ctx, name, transcript.MaxText)
	if err != nil {
		return nil, fmt.Errorf("--draft-from %s: %w", name, input.Cause(err))
	}
	lines, err := transcript.Read(name, raw)
	if err != nil {
		return nil, fmt.Errorf("--draft-from %w", err)
	}
	return lines, nil
}

// readRecords reads the hypotheses of an earlier evaluation: of the arms of a comparison,
// those of the first.
func (d *DraftSource) readRecords(ctx context.Context) error {
	files, err := report.Find(d.from)
	if err != nil {
		return err
	}
	d.byID = map[string][]transcript.Cue{}
	for _, path := range files[0].Paths {
		f, err := input.Open(ctx, path)
		if err != nil {
			return fmt.Errorf("--draft-from %s: %w", path, err)
		}
		for r, problem := range report.Read(path, f) {
			if problem != nil {
				err = problem
				break
			}
			for _, s := range r.Segments {
				d.byID[r.ID] = append(d.byID[r.ID], transcript.Cue{Start: s.Start, End: s.End, Text: s.Text})
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, report.ErrTorn) {
			return fmt.Errorf("--draft-from %w", err)
		}
	}
	if len(d.byID) == 0 {
		return fmt.Errorf("--draft-from %s: no record in it has a text", d.from)
	}
	return nil
}

// path returns the transcript of a sound; empty if there is none.
func (d *DraftSource) path(sound string) string {
	dir := d.from
	if dir == besideSound {
		dir = filepath.Dir(sound)
	}
	base := filepath.Base(sound)
	for _, name := range []string{strings.TrimSuffix(base, filepath.Ext(base)), base} {
		for _, ext := range transcriptTypes {
			if p := filepath.Join(dir, name+ext); p != sound && isFile(p) {
				return p
			}
		}
	}
	return ""
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// Lines returns the text of a sound, which is an utterance of a dataset if it has an id.
func (d *DraftSource) Lines(ctx context.Context, sound, id, reference string) (lines []transcript.Cue, err error) {
	switch {
	case d == nil:
		return nil, nil
	case d.from == references:
		lines, err = transcript.Read(id, []byte(reference))
	case d.byID != nil:
		lines = d.byID[id]
	case d.file:
		lines = d.one
	default:
		if p := d.path(sound); p != "" {
			lines, err = readLines(ctx, p)
		}
	}
	if len(lines) > 0 {
		d.found.Store(true)
	}
	return lines, err
}

// Check fails if there is no transcript of any of the sounds or one cannot be read, and
// warns of sounds without.
func (d *DraftSource) Check(ctx context.Context, sounds []string) error {
	if d == nil || d.file || d.byID != nil {
		return nil
	}
	missing := ""
	found := 0
	for _, s := range sounds {
		if p := d.path(s); p != "" {
			if _, err := readLines(ctx, p); err != nil {
				return err
			}
			found++
		} else if missing == "" {
			missing = s
		}
	}
	switch n := len(sounds); {
	case found == 0 && d.from == besideSound:
		return fmt.Errorf("--draft-from beside: there is no transcript beside %s: want one of the same name with %s",
			show.Name(missing), strings.Join(transcriptTypes, ", "))
	case found == 0:
		return fmt.Errorf("--draft-from %s: no transcript of %s in it: want one of the same name with %s",
			d.from, show.Name(missing), strings.Join(transcriptTypes, ", "))
	case found < n:
		slog.Warn("sounds without a transcript to draft from", "sounds", n-found, "of", n, "first", missing)
	}
	return nil
}
