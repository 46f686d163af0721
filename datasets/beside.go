package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"verity/audio"
	"verity/internal/input"
)

var errNoTranscript = errors.New("has no transcript: want a .txt file of the same name beside it")

// readLibriSpeech reads one *.trans.txt. Audio files beside it that it does not name
// are reported at the end.
func readLibriSpeech(ctx context.Context, d *Dataset, file string, rows sink) error {
	folder := filepath.Dir(file)
	audio, transcripts, err := filesIn(folder)
	if err != nil {
		return err
	}
	err = eachLine(ctx, file, func(n int, line []byte, err error) bool {
		id, text, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		u := Utterance{ID: id, Text: strings.TrimSpace(text), Lang: "en", Fields: map[string]string{"lang": "en"}}
		switch name := audio[id]; {
		case err != nil:
		case strings.ContainsAny(id, "/\\\x00"):
			err = errBadName
		case name == "":
			u.Audio, err = existing(filepath.Join(folder, id+".flac"))
		default:
			u.Audio, err = existing(filepath.Join(folder, name))
		}
		delete(audio, id)
		if err != nil {
			return rows(Utterance{}, rowError(file, n, id, err))
		}
		return rows(u, nil)
	})
	if err != nil || transcripts > 1 { // audio may belong to another transcript
		return err
	}
	return reportLeft(folder, audio, rows)
}

// reportLeft reports the audio files that no line named.
func reportLeft(folder string, audio map[string]string, rows sink) error {
	var left []string
	for _, name := range audio {
		left = append(left, filepath.Join(folder, name))
	}
	slices.Sort(left)
	for _, p := range left {
		if !rows(Utterance{}, rowError(p, 0, "", errNoTranscript)) {
			return errStop
		}
	}
	return nil
}

// filesIn returns the audio files of a folder by name without extension, the first of
// several, and how many *.trans.txt there are.
func filesIn(folder string) (sounds map[string]string, transcripts int, err error) {
	entries, err := os.ReadDir(folder)
	sounds = make(map[string]string)
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		switch {
		case strings.HasSuffix(e.Name(), ".trans.txt"):
			transcripts++
		case audio.HasEnding(e.Name()) && !strings.HasPrefix(e.Name(), ".") && sounds[id] == "":
			sounds[id] = e.Name()
		}
	}
	return sounds, transcripts, err
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
		u = Utterance{}
		err = rowError(file, 0, "", err)
	}
	if !rows(u, err) {
		return errStop
	}
	return nil
}

// readText reads a whole text file, without surrounding white space.
func readText(ctx context.Context, file string) (string, error) {
	text, err := input.Read(ctx, file, maxLine)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", errNoTranscript
	case err == nil && !utf8.Valid(text):
		err = errNotUTF8
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return strings.TrimSpace(input.Text(text)), nil
}
