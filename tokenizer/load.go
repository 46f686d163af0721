package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"verity/internal/input"
)

// Bounds on what a file may hold; the largest published ones stay under a tenth.
const (
	maxFile  = 64 << 20 // bytes
	maxToken = 1 << 20  // ids
)

// Load reads the tokenizer of a Hugging Face checkpoint.
//
//	fsys   the directory of the checkpoint
//	name   what the caller calls that directory; used in errors only
//	vocab  the model's vocabulary size (vocab_size in config.json), 0 if unknown
//
// It takes tokenizer.json, or else vocab.json with merges.txt and, if there is
// one, added_tokens.json; or else openai's list of ranks (multilingual.tiktoken or
// gpt2.tiktoken; vocabulary.tiktoken from inside a ggml file), or CTranslate2's list
// of spellings (vocabulary.json or vocabulary.txt). Without any of these files it
// takes the embedded table that fits vocab, as [Embedded] does.
//
// Older files do not list the timestamps; they are then the ids after
// <|notimestamps|> up to vocab. Other errors than those of reading are [Error]s.
func Load(fsys fs.FS, name string, vocab int) (*Tokenizer, error) {
	if vocab < 0 || vocab > maxToken {
		return nil, &Error{File: name, Thing: "vocab_size", Err: ErrMalformed,
			Got: fmt.Sprint(vocab), Want: fmt.Sprintf("0 to %d", maxToken), Remedy: "check config.json"}
	}
	d := dir{fsys, name}
	tiktoken := func(file string, raw []byte) (table, error) { return parseTiktoken(file, raw, vocab) }
	for _, try := range []struct {
		file  string
		parse func(file string, raw []byte) (table, error)
	}{
		{"tokenizer.json", parseTokenizerJSON},
		{"vocab.json", d.parseVocab},
		{"vocabulary.tiktoken", tiktoken},
		{"multilingual.tiktoken", tiktoken},
		{"gpt2.tiktoken", tiktoken},
		{"vocabulary.json", parseWordsJSON},
		{"vocabulary.txt", parseWordsText},
	} {
		raw, err := d.read(try.file)
		if d.lacks(try.file, err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		file := path.Join(name, try.file)
		tab, err := try.parse(file, raw)
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

// A dir is the directory of a checkpoint under the name the caller gave it.
type dir struct {
	fsys fs.FS
	name string
}

// lacks reports whether err says that the directory has no such file.
func (d dir) lacks(file string, err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Err == ErrMissing && e.Thing == "file" && e.File == path.Join(d.name, file)
}

// read returns the content of a file, at most maxFile bytes.
func (d dir) read(file string) ([]byte, error) {
	full := path.Join(d.name, file)
	raw, err := input.ReadFS(d.fsys, file, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{File: full, Thing: "file", Err: ErrMissing,
			Remedy: "copy it from where the checkpoint came from"}
	case errors.Is(err, input.ErrTooLarge):
		return nil, &Error{File: full, Thing: "file", Err: ErrUnsupported,
			Got: "more", Want: fmt.Sprintf("at most %d bytes", maxFile),
			Remedy: "is this the tokenizer of a Whisper model?"}
	case err != nil:
		return nil, fmt.Errorf("tokenizer: %s: %w", full, err)
	}
	return raw, nil
}
