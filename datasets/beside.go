package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"verity/audio"
	"verity/internal/input"
)

var errNoTranscript = errors.New("has no transcript: want a .txt file of the same name beside it")

// reportLeft reports the sound files of a folder whose names without ending were not heard, unless it has several
// transcripts: they may belong to another.
func reportLeft(folder string, heard map[string]bool, rows sink) error {
	entries, err := os.ReadDir(folder)
	var left, transcripts []string
	for _, e := range entries {
		switch id := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())); {
		case strings.HasSuffix(e.Name(), ".trans.txt"):
			transcripts = append(transcripts, e.Name())
		case audio.HasEnding(e.Name()) && !strings.HasPrefix(e.Name(), ".") && !heard[id]:
			heard[id] = true
			left = append(left, filepath.Join(folder, e.Name()))
		}
	}
	if err != nil || len(transcripts) != 1 {
		return err
	}
	for _, p := range left {
		if !rows(Utterance{}, rowError(p, 0, "", fmt.Errorf("no line of %s names it", transcripts[0]))) {
			return errStop
		}
	}
	return nil
}

// readBeside reads the text beside one audio file.
func readBeside(ctx context.Context, d *Dataset, file string, rows sink) error {
	stem := strings.TrimSuffix(file, filepath.Ext(file))
	u := Utterance{ID: d.relative(file)}
	var err error
	u.Text, err = readText(ctx, stem+".txt")
	if errors.Is(err, errNoTranscript) {
		if _, stated := existing(stem + ".rttm"); stated == nil { // who speaks when is a reference, too
			u.NoText, err = true, nil
		}
	}
	if err == nil {
		u.Audio, err = existing(file)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if u = (Utterance{}); d.manifest != "" && errors.Is(err, errNoTranscript) {
			err = fmt.Errorf("%w; or name the manifest %s, not its folder", err, d.manifest)
		}
		err = rowError(file, 0, "", err)
	}
	if !rows(u, err) {
		return errStop
	}
	return nil
}

// readText reads a whole text file, without surrounding white space.
func readText(ctx context.Context, file string) (string, error) {
	b, err := input.Read(ctx, file, maxLine)
	text := input.Text(b)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", errNoTranscript
	case err == nil && !utf8.ValidString(text):
		err = errNotUTF8
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return strings.TrimSpace(text), nil
}
