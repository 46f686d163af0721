package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

// ledgerName is the file in an output directory that says what made the others. Only
// what it knows is overwritten without --force: the transcript of the same sound, by the
// same model with the same options, that nobody has changed since.
const ledgerName = ".verity.jsonl"

const (
	ledgerSchema = "verity.made/1"
	ledgerMost   = 64 << 20 // bytes that are read of it
)

// An entry is a line of the ledger. Of several about a file the last one counts.
type entry struct {
	Schema string           `json:"schema"`
	File   string           `json:"file"`
	Audio  string           `json:"audio"`  // seen from the directory
	SHA256 string           `json:"sha256"` // of the file
	By     transcript.Maker `json:"made_by"`
}

// A ledger says what made the files of a directory.
type ledger struct {
	dir     string
	entries map[string]entry
	lost    bool // it could not be written, and a warning was given
}

// openLedger reads the ledger of a directory. Files without a readable entry are unknown.
func openLedger(dir string) *ledger {
	l := &ledger{dir: dir, entries: map[string]entry{}}
	f, err := os.Open(filepath.Join(dir, ledgerName))
	if err != nil {
		return l
	}
	defer f.Close()
	l.read(f)
	return l
}

// read takes the lines that are entries.
func (l *ledger) read(r io.Reader) {
	lines := bufio.NewScanner(io.LimitReader(r, ledgerMost))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Schema == ledgerSchema {
			l.entries[e.File] = e
		}
	}
}

// audio is how the ledger names a sound file: seen from the directory, so that both can
// be moved together.
func (l *ledger) audio(name string) string {
	if name == "-" {
		return name
	}
	dir, err := filepath.Abs(l.dir)
	path, err2 := filepath.Abs(name)
	if errors.Join(err, err2) != nil {
		return name
	}
	if rel, err := filepath.Rel(dir, path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}

// objection returns the reason why a file should not be overwritten by the transcript
// of a sound that by makes; empty if there is none. An empty precision is not known
// yet.
func (l *ledger) objection(path, audio string, by *transcript.Maker) string {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return "it is there and cannot be read"
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return "" // a device or a pipe holds nothing
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "it is there and cannot be read"
	}
	e, known := l.entries[filepath.Base(path)]
	switch {
	case !known:
		return "it is there, and nothing says that it was made from this sound with these options"
	case e.SHA256 != sum(h):
		return "it has been changed since it was written"
	case e.Audio != l.audio(audio) || audio == "-":
		return "it is the transcript of " + show.Name(e.Audio)
	}
	return differs(&e.By, by)
}

// differs returns the first difference between two makers that may change the text;
// empty if there is none.
func differs(was, by *transcript.Maker) string {
	switch {
	case was.ModelID != by.ModelID:
		return "it was made by another model, " + show.Name(was.Model)
	case by.Precision != "" && was.Precision != by.Precision:
		return "it was made in another precision, " + was.Precision
	}
	for _, name := range slices.Sorted(maps.Keys(was.Options)) {
		if now, ok := by.Options[name]; !ok || now != was.Options[name] {
			return fmt.Sprintf("it was made with --%s=%s", name, show.Line(was.Options[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by.Options)) {
		if _, ok := was.Options[name]; !ok {
			return "it was made without --" + name
		}
	}
	if was.Options["sampler"] == string(transcribe.Rejection) && was.Assistant != by.Assistant {
		return "it was made with another assistant, whose drafts --sampler rejection depends on"
	}
	return ""
}

// add records a file that was written. The text itself is safe, so a failure is only a
// warning, given once.
func (l *ledger) add(path, audio string, h hash.Hash, by *transcript.Maker) {
	e := entry{Schema: ledgerSchema, File: filepath.Base(path), Audio: l.audio(audio), SHA256: sum(h), By: *by}
	line, err := json.Marshal(e)
	if old, ok := l.entries[e.File]; ok && err == nil {
		if was, err := json.Marshal(old); err == nil && bytes.Equal(was, line) {
			return
		}
	}
	l.entries[e.File] = e
	if err == nil {
		err = appendLine(filepath.Join(l.dir, ledgerName), line)
	}
	if err != nil && !l.lost {
		l.lost = true
		slog.Warn("the outputs are written, but not what made them: another run will want --force", "error", err)
	}
}

// appendLine adds a line to a file in one write: several programs may add to it.
func appendLine(name string, line []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// protect returns the inputs to transcribe: all of them, or with skip those of which an
// output is missing. It is an error if an output would overwrite what by did not make.
func (f *folder) protect(inputs []string, by *transcript.Maker) (todo []string, err error) {
	for _, in := range inputs {
		there := 0
		var problem error
		for _, format := range f.formats {
			path := f.path(in, format)
			if _, err := os.Stat(path); err == nil {
				there++
			}
			if why := f.made.objection(path, in, by); why != "" && !f.force && problem == nil {
				problem = usagef("%s: %s; --force overwrites it, --skip-existing leaves it, another --output-dir keeps both", show.Name(path), why)
			}
		}
		if f.skip && there == len(f.formats) {
			continue
		}
		if problem != nil {
			return nil, problem
		}
		todo = append(todo, in)
	}
	return todo, nil
}
