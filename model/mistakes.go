package model

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"verity/internal/sniff"
)

// This file answers the common mistakes of opening a model: each returns an
// error that says what was found and what to do.

// sizeName matches the names of the published sizes, with or without the owner.
var sizeName = regexp.MustCompile(`^(openai/whisper-|whisper-|distil-whisper/distil-|distil-)?` +
	`(tiny|base|small|medium)(\.en)?$|^(openai/whisper-|whisper-|distil-whisper/distil-|distil-)?(large(-v[1-3](\.5)?)?(-turbo)?|turbo)$`)

const wantFiles = "config.json, generation_config.json, preprocessor_config.json, tokenizer.json " +
	"(or vocab.json and merges.txt) and model.safetensors"

// notFound explains a path that is not there.
func notFound(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && sizeName.MatchString(dir) {
		return fmt.Errorf("%s: %w: this names a size, and nothing is downloaded: fetch %s of that model "+
			"into a directory and name the directory: %w", dir, ErrNotCheckpoint, wantFiles, fs.ErrNotExist)
	}
	return fmt.Errorf("opening the model: %w", err)
}

// notDirectory explains a file by its first bytes.
func notDirectory(file string) error {
	what := "a file"
	head := make([]byte, 4)
	if f, err := os.Open(file); err == nil {
		io.ReadFull(f, head)
		f.Close()
	}
	switch {
	case string(head) == "lmgg" || string(head) == "GGUF":
		what = "a ggml file, the format of whisper.cpp"
	case strings.HasPrefix(string(head), "PK"):
		what = "a PyTorch file, as openai/whisper downloads them"
	case strings.HasSuffix(file, ".safetensors"):
		return fmt.Errorf("%s: %w: it is a file; name its directory, %s", file, ErrNotCheckpoint, filepath.Dir(file))
	}
	return fmt.Errorf("%s: %w: it is %s; want a directory with %s", file, ErrNotCheckpoint, what, wantFiles)
}

// noConfig explains a directory without config.json.
func noConfig(fsys fs.FS, dir string) error {
	hint := "want " + wantFiles
	if found, _ := fs.Glob(fsys, "snapshots/*/config.json"); len(found) > 0 {
		hint = "this is a cache of the model hub: name " + filepath.Join(dir, filepath.Dir(found[0]))
	} else if found, _ := fs.Glob(fsys, "ggml-*.bin"); len(found) > 0 {
		hint = found[0] + " is a ggml file, the format of whisper.cpp; " + hint
	}
	return fmt.Errorf("%s: %w: there is no config.json: %s", dir, ErrNotCheckpoint, hint)
}

// hasWeights explains a directory without weights in safetensors.
func hasWeights(fsys fs.FS, dir string) error {
	if sniff.Exists(fsys, singleFile) || sniff.Exists(fsys, indexFile) {
		return nil
	}
	const convert = `python -c "from transformers import WhisperForConditionalGeneration as W; W.from_pretrained('DIR').save_pretrained('DIR')"`
	for _, other := range []string{"pytorch_model.bin", "pytorch_model.bin.index.json"} {
		if _, err := fs.Stat(fsys, other); err == nil {
			return fmt.Errorf("%s: %w: it has %s but no %s, and pickled weights are not read: convert them with %s",
				dir, ErrNotCheckpoint, other, singleFile, strings.ReplaceAll(convert, "DIR", dir))
		}
	}
	hint := ""
	for _, other := range []string{"tf_model.h5", "flax_model.msgpack", "model.bin"} {
		if _, err := fs.Stat(fsys, other); err == nil {
			hint = "; " + other + " is not read"
		}
	}
	return fmt.Errorf("%s: %w: it has no %s and no %s%s", dir, ErrNotCheckpoint, singleFile, indexFile, hint)
}
