package model

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"verity/internal/formats/sniff"
)

// This file explains common mistakes in opening a model: what was found and what to do.

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
	return fmt.Errorf("%s: %w: want the directory of a Hugging Face or CTranslate2 (faster-whisper) model, a .pt file of "+
		"openai/whisper, or a ggml file of whisper.cpp", file, ErrNotCheckpoint)
}

// mistakes are the files of a directory that is no checkpoint, and what to do. %[1]s is the
// file, %[2]s the directory, %[3]s the file's.
var mistakes = []struct{ pattern, hint string }{
	{"snapshots/*/config.json", "this is a cache of the model hub: name the directory of %[2]s/%[1]s"},
	{"*/config.json", "it holds models: name one of its directories, such as %[2]s/%[3]s"},
	{"ggml-*.bin", "%[1]s is a ggml file, the format of whisper.cpp: name the file itself, %[2]s/%[1]s"},
	{"openvino_*.xml", "%[1]s is of OpenVINO: name the model that it was made from, as openai/whisper-base"},
	{"*.onnx", "%[1]s is of ONNX: name the model that it was made from, as openai/whisper-base"},
	{"*.pt", "%[1]s may be a checkpoint of openai/whisper: name the file itself, %[2]s/%[1]s"},
	{"pytorch_model.bin*", "pickled weights, %[1]s, are not read: convert them with " +
		`python -c "from transformers import WhisperForConditionalGeneration as W; W.from_pretrained('%[2]s').save_pretrained('%[2]s')"`},
	{"vocabulary.*", "%[1]s is of a faster-whisper (CTranslate2) model, whose " + ct2File + " is missing: download it again"},
	{"tf_model.h5", "%[1]s is not read"},
	{"flax_model.msgpack", "%[1]s is not read"},
}

// incomplete explains a directory that lacks a file.
func incomplete(fsys fs.FS, dir, lacks string) error {
	const want = "want config.json and model.safetensors (Hugging Face), or " + ct2File + " (faster-whisper)"
	hint := want
	for _, m := range mistakes {
		if found, _ := fs.Glob(fsys, m.pattern); len(found) > 0 {
			hint = strings.NewReplacer("%[1]s", found[0], "%[2]s", dir, "%[3]s", path.Dir(found[0])).Replace(m.hint)
			break
		}
	}
	if files, _ := fs.Glob(fsys, "model*"); lacks == "config.json" && len(files) == 0 && hint == want {
		return fmt.Errorf("%s: %w: %s", dir, ErrNotCheckpoint, hint)
	}
	return fmt.Errorf("%s: %w: there is no %s: %s", dir, ErrNotCheckpoint, lacks, hint)
}
