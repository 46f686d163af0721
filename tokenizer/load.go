package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"verity/internal/input"
)

// Bounds on what a file may hold; the largest published ones stay under a sixth.
const (
	maxFile  = 16 << 20 // bytes
	maxToken = 1 << 20  // ids
)

// Load reads the tokenizer of a Hugging Face checkpoint.
//
//	fsys   the directory of the checkpoint
//	name   what the caller calls that directory; used in errors only
//	vocab  the model's vocabulary size (vocab_size in config.json), 0 if unknown
//
// It reads the first of these files that exists: tokenizer.json; vocab.json, with merges.txt and
// perhaps added_tokens.json; vocabulary.bin, the list that package ggml finds in a ggml file.
// Without any of them it returns what [Embedded] does for vocab.
//
// Older files do not list the timestamps; they are then the ids after <|notimestamps|> up to
// vocab. Errors are [Error]s, unless a file cannot be read.
func Load(fsys fs.FS, name string, vocab int) (*Tokenizer, error) {
	if vocab < 0 || vocab > maxToken {
		return nil, &Error{File: name, Thing: "vocab_size", Err: ErrMalformed,
			Got: fmt.Sprint(vocab), Want: fmt.Sprintf("0 to %d", maxToken), Remedy: "check config.json"}
	}
	d := checkpointDir{fsys, name}
	for _, candidate := range []struct {
		file  string
		parse func(file string, raw []byte) (vocabulary, error)
	}{
		{"tokenizer.json", parseTokenizerJSON},
		{"vocab.json", d.parseVocab},
		{"vocabulary.bin", func(file string, raw []byte) (vocabulary, error) { return parseRanks(file, raw, vocab) }},
	} {
		if !input.Exists(fsys, candidate.file) {
			continue
		}
		raw, err := d.readFile(candidate.file)
		if err != nil {
			return nil, err
		}
		file := path.Join(name, candidate.file)
		tab, err := candidate.parse(file, raw)
		if err != nil {
			return nil, err
		}
		return newTokenizer(tab, vocab, file)
	}
	t, err := Embedded(vocab)
	if e, ok := errors.AsType[*Error](err); ok {
		e.File, e.Thing = name, "tokenizer.json (or vocab.json), and an embedded table in its stead"
	}
	return t, err
}

// A checkpointDir is the directory of a checkpoint under the name the caller gave it.
type checkpointDir struct {
	fsys fs.FS
	name string
}

// readFile returns the content of a file, at most maxFile bytes.
func (d checkpointDir) readFile(file string) ([]byte, error) {
	full := path.Join(d.name, file)
	raw, err := input.ReadFS(d.fsys, file, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{File: full, Thing: "file", Err: ErrMissing, Remedy: "copy it from where the checkpoint came from"}
	case errors.Is(err, input.ErrTooLarge):
		return nil, &Error{File: full, Thing: "file", Err: ErrUnsupported, Got: "more", Want: fmt.Sprintf("at most %d bytes", maxFile), Remedy: remedyNotWhisper}
	case err != nil:
		return nil, fmt.Errorf("tokenizer: %s: %w", full, err)
	}
	return raw, nil
}

// Causes of an [Error], for errors.Is.
var (
	ErrMissing     = errors.New("missing")
	ErrMalformed   = errors.New("malformed")   // the file breaks its own format
	ErrUnsupported = errors.New("unsupported") // the file is sound, but this package cannot use it
	ErrUnspellable = errors.New("not in the vocabulary")
)

// An Error reports what is wrong with the files of a tokenizer, or with a text
// it cannot encode. Its cause is one of the errors above.
type Error struct {
	File   string // as the caller named it; empty for a text
	Thing  string // such as "model.merges[17]"
	Err    error
	Got    string // may be empty, as may the rest
	Want   string
	Remedy string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("tokenizer: ")
	if e.File != "" {
		b.WriteString(e.File + ": ")
	}
	b.WriteString(e.Thing + ": " + e.Err.Error())
	if e.Got != "" {
		fmt.Fprintf(&b, ": got %.400s", e.Got)
	}
	if e.Want != "" {
		b.WriteString(", want " + e.Want)
	}
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
