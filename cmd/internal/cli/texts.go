package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"verity/audio"
	"verity/eval/report"
	"verity/internal/input"
	"verity/internal/show"
	"verity/transcript"
)

// What --draft-from and --align accept instead of a path.
const (
	besideSound = "beside"     // transcripts beside the sounds
	references  = "references" // of the dataset; only to draft from
)

// transcriptTypes are the extensions of transcripts, best first: those with more times.
var transcriptTypes = []string{".json", ".srt", ".vtt", ".txt"}

// A TextSource finds the text of a sound, to draft from or to align. Nil finds nothing.
type TextSource struct {
	flag  string                                               // draft-from or align
	from  string                                               // its value
	find  func(id, reference string) ([]transcript.Cue, error) // nil: each sound has a transcript of its own
	found atomic.Bool                                          // Lines has returned some text
}

// Found reports whether Lines has found any text.
func (d *TextSource) Found() bool { return d.found.Load() }

// OpenTexts sets Drafts and Texts to what --draft-from and --align name, for n sound files, or for a dataset if n is 0. It
// fails if none of the sounds that are known has a transcript.
func (r *Run) OpenTexts(ctx context.Context, n int, sounds ...string) (err error) {
	if r.Drafts, err = openDrafts(ctx, &r.Model.Assistant, n); err == nil {
		r.Texts, err = openTexts(ctx, "align", r.Align, n)
	}
	if err != nil {
		return err
	}
	return cmp.Or(r.Drafts.check(ctx, sounds), r.Texts.check(ctx, sounds))
}

func openDrafts(ctx context.Context, a *AssistantFlags, n int) (*TextSource, error) {
	switch {
	case a.From == "":
	case a.Rejection:
		return nil, Usagef("--draft-from with --sampler rejection: a text has no probabilities to sample by; " +
			"leave one of them out")
	case a.overlap:
		return nil, Usagef("--draft-from with --measure-alpha: a text has no probabilities to compare; leave one of " +
			"them out")
	case a.From == references && n > 0:
		return nil, Usagef("--draft-from references: sound files have none; it is for a dataset")
	}
	return openTexts(ctx, "draft-from", a.From, n)
}

func openTexts(ctx context.Context, flag, from string, n int) (*TextSource, error) {
	d := &TextSource{flag: flag, from: from}
	switch {
	case from == "":
		return nil, nil
	case from == besideSound:
		return d, nil
	case from == references && n == 0:
		d.find = func(id, reference string) ([]transcript.Cue, error) { return transcript.Read(id, []byte(reference)) }
		return d, nil
	}
	st, err := os.Stat(from)
	switch {
	case err != nil:
		return nil, d.wrong(from, input.Cause(err))
	case st.IsDir():
		if _, err := report.Find(from); n == 0 && err == nil {
			return d, d.readRecords(ctx)
		}
		return d, nil
	case filepath.Ext(from) == ".jsonl":
		return d, d.readRecords(ctx)
	case n != 1:
		return nil, d.wrong(from, errors.New("one file cannot be the text of several sounds; name a directory with "+
			"a transcript of each"))
	}
	lines, err := d.readCues(ctx, from)
	if err == nil && len(lines) == 0 && flag != "align" {
		slog.Warn(fmt.Sprintf("--draft-from %s: the file is empty", show.Name(from)))
	}
	d.find = func(_, _ string) ([]transcript.Cue, error) { return lines, nil }
	return d, err
}

// wrong returns the error of a file that the flag names.
func (d *TextSource) wrong(name string, err error) error {
	return Usagef("--%s %s: %w", d.flag, name, err)
}

// Wrong returns the error of the text of a sound.
func (d *TextSource) Wrong(sound string, err error) error {
	name := d.from
	if d.find == nil {
		name = d.path(sound)
	}
	return fmt.Errorf("--%s %s: %w", d.flag, show.Name(name), err)
}

// readCues reads a text file, with its line breaks if it is to be aligned.
func (d *TextSource) readCues(ctx context.Context, name string) ([]transcript.Cue, error) {
	if audio.HasEnding(name) {
		return nil, d.wrong(name, errors.New("is a sound file, want a transcript or subtitles of one"))
	}
	raw, err := input.Read(ctx, name, transcript.MaxText)
	if err != nil {
		return nil, d.wrong(name, input.Cause(err))
	}
	read := transcript.Read
	if d.flag == "align" {
		read = transcript.ReadLines
	}
	lines, err := read(name, raw)
	isControl := func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }
	switch text := input.Text(string(raw)); {
	case err != nil:
		return nil, Usagef("--%s %w", d.flag, err)
	case d.flag != "align":
	case !utf8.ValidString(text) && strings.ContainsFunc(text, isControl):
		return nil, d.wrong(name, errors.New("is not a text file; want txt, srt, vtt or json"))
	case filepath.Ext(name) == ".srt" && !slices.ContainsFunc(lines, transcript.Cue.HasTimes):
		for n, line := range input.Lines(text) {
			if strings.Contains(line, "-->") {
				return nil, Usagef("--align %s:%d: got %.60q, want times as 00:00:01,000 --> 00:00:02,500", show.Name(name), n, line)
			}
		}
	case len(lines) == 0:
		return nil, d.wrong(name, errors.New("is empty, want the text of the recording"))
	}
	return lines, nil
}

// readRecords reads the hypotheses of an earlier evaluation. Of a comparison it reads the
// first variant.
func (d *TextSource) readRecords(ctx context.Context) error {
	files, err := report.Find(d.from)
	if err != nil {
		return err
	}
	byID := map[string][]transcript.Cue{}
	d.find = func(id, _ string) ([]transcript.Cue, error) { return byID[id], nil }
	for _, path := range files[0].Paths {
		f, err := input.Open(ctx, path)
		if err != nil {
			return d.wrong(path, err)
		}
		records, bad, err := report.Read(path, f)
		f.Close()
		if err == nil && len(bad) > 0 {
			err = bad[0]
		}
		if err != nil && !errors.Is(err, report.ErrTorn) {
			return Usagef("--%s %w", d.flag, err)
		}
		for _, r := range records {
			for _, s := range r.Segments {
				byID[r.ID] = append(byID[r.ID], transcript.Cue{Start: s.Start, End: s.End, Text: s.Text})
			}
		}
	}
	if len(byID) == 0 {
		return d.wrong(d.from, errors.New("no record in it has a text"))
	}
	return nil
}

// path returns the transcript of a sound; empty if there is none.
func (d *TextSource) path(sound string) string {
	dir := d.from
	if dir == besideSound {
		dir = filepath.Dir(sound)
	}
	base := filepath.Base(sound)
	for _, name := range []string{strings.TrimSuffix(base, filepath.Ext(base)), base} {
		for _, ext := range transcriptTypes {
			p := filepath.Join(dir, name+ext)
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && p != sound {
				return p
			}
		}
	}
	return ""
}

// Lines returns the text of a sound, which is an utterance of a dataset if it has an id.
func (d *TextSource) Lines(ctx context.Context, sound, id, reference string) (lines []transcript.Cue, err error) {
	if d == nil {
		return nil, nil
	}
	if d.find != nil {
		lines, err = d.find(id, reference)
	} else if p := d.path(sound); p != "" {
		lines, err = d.readCues(ctx, p)
	}
	if len(lines) > 0 {
		d.found.Store(true)
	}
	return lines, err
}

// check fails if none of the sounds has a transcript or if one cannot be read. To align, all must have one; if there is
// none to draft from, it warns.
func (d *TextSource) check(ctx context.Context, sounds []string) error {
	if d == nil || d.find != nil {
		return nil
	}
	var missing []string
	for _, s := range sounds {
		if p := d.path(s); p == "" {
			missing = append(missing, s)
		} else if _, err := d.readCues(ctx, p); err != nil {
			return err
		}
	}
	switch n := len(missing); {
	case n > 0 && (n == len(sounds) || d.flag == "align"):
		where := map[bool]string{true: "beside it", false: "in it"}[d.from == besideSound]
		return Usagef("--%s %s: no transcript of %s %s: want one of the same name with %s", d.flag,
			d.from, show.Name(missing[0]), where, strings.Join(transcriptTypes, ", "))
	case n > 0:
		slog.Warn(fmt.Sprintf("--draft-from %s: %d of %d files have no transcript to draft from, such as %s", show.Name(d.from), n, len(sounds), show.Name(missing[0])))
	}
	return nil
}
