package model

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"verity/internal/input"
	"verity/internal/sniff"
)

// This file explains common mistakes in opening a model. Each function returns an error
// that says what was found and what to do.

const wantFiles = "config.json and model.safetensors, and if there are any tokenizer.json (or vocab.json and " +
	"merges.txt), generation_config.json and preprocessor_config.json"

// notModel explains a file that is not a model, by its first bytes.
func notModel(file string, head []byte) error {
	if base := filepath.Base(file); strings.HasSuffix(base, ".safetensors") || base == ct2File {
		return fmt.Errorf("%s: %w: it is a file; name its directory, %s", file, ErrNotCheckpoint, filepath.Dir(file))
	}
	if len(head) == 0 {
		return fmt.Errorf("%s: %w: the file is empty; download it again", file, ErrNotCheckpoint)
	}
	if kind, ok := sniff.What(head); ok {
		return fmt.Errorf("%s: %w: %v", file, ErrNotCheckpoint, kind)
	}
	return fmt.Errorf("%s: %w: it is a file; want a directory with %s, or a .pt file of openai/whisper, "+
		"or a ggml file of whisper.cpp", file, ErrNotCheckpoint, wantFiles)
}

// noConfig explains a directory without config.json.
func noConfig(fsys fs.FS, dir string) error {
	hint := "want " + wantFiles
	if found, _ := fs.Glob(fsys, "snapshots/*/config.json"); len(found) > 0 {
		hint = "this is a cache of the model hub: name " + filepath.Join(dir, filepath.Dir(found[0]))
	} else if found, _ := fs.Glob(fsys, "ggml-*.bin"); len(found) > 0 {
		hint = found[0] + " is a ggml file, the format of whisper.cpp: name the file itself, " +
			filepath.Join(dir, found[0])
	} else if other := foreign(fsys); other != "" {
		hint = other
	} else if found, _ := fs.Glob(fsys, "*.pt"); len(found) > 0 {
		hint = found[0] + " may be a checkpoint of openai/whisper: name the file itself, " +
			filepath.Join(dir, found[0])
	}
	return fmt.Errorf("%s: %w: there is no config.json: %s", dir, ErrNotCheckpoint, hint)
}

// foreign says what to do with weights of another engine; empty if there are none.
func foreign(fsys fs.FS) string {
	for _, kind := range [][2]string{{"openvino_*.xml", "OpenVINO"}, {"*.onnx", "ONNX"}} {
		if found, _ := fs.Glob(fsys, kind[0]); len(found) > 0 {
			return found[0] + " is of " + kind[1] + ": name the model that it was made from, as openai/whisper-base"
		}
	}
	return ""
}

// hasWeights explains a directory without weights in safetensors.
func hasWeights(fsys fs.FS, dir string) error {
	if input.Exists(fsys, singleFile) || input.Exists(fsys, indexFile) {
		return nil
	}
	const convert = `python -c "from transformers import WhisperForConditionalGeneration as W; W.from_pretrained('DIR').save_pretrained('DIR')"`
	for _, other := range []string{"pytorch_model.bin", "pytorch_model.bin.index.json"} {
		if _, err := fs.Stat(fsys, other); err == nil {
			return fmt.Errorf("%s: %w: it has %s but no %s, and pickled weights are not read: convert them with %s",
				dir, ErrNotCheckpoint, other, singleFile, strings.ReplaceAll(convert, "DIR", dir))
		}
	}
	if other := foreign(fsys); other != "" {
		return fmt.Errorf("%s: %w: %s", dir, ErrNotCheckpoint, other)
	}
	hint := ""
	for _, other := range []string{"tf_model.h5", "flax_model.msgpack"} {
		if _, err := fs.Stat(fsys, other); err == nil {
			hint = "; " + other + " is not read"
		}
	}
	return fmt.Errorf("%s: %w: it has no %s and no %s%s", dir, ErrNotCheckpoint, singleFile, indexFile, hint)
}
