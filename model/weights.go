package model

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"verity/internal/formats/safetensors"
	"verity/internal/formats/weights"
	"verity/internal/input"
	"verity/internal/tensor"
)

const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// A Weight is a tensor of a checkpoint that has not been read yet.
type Weight = weights.Weight

// store holds all weights of a checkpoint by our names.
type store struct {
	name    string // of the file, or of the index of a sharded checkpoint
	prefix  string // what Hugging Face's names begin with in the files: "model." or ""
	files   []*weights.File
	weights map[string]Weight
	order   []string // keys of weights, as they lie in the files
	disk    sync.Mutex
	readers atomic.Int32 // calls of Reading
}

// opener opens one file of weights.
type opener func(file string, parse weights.Parser) (*weights.File, error)

// newStore returns an empty store. The name is that of the file, or of the index.
func newStore(name string) *store { return &store{name: name, weights: map[string]Weight{}} }

// openStore opens model.safetensors, or else the files its index lists. dir precedes
// their names in errors.
func openStore(fsys fs.FS, dir string, open opener) (_ *store, err error) {
	s, files := newStore(path.Join(dir, singleFile)), []string{singleFile}
	if !input.Exists(fsys, singleFile) {
		s.name = path.Join(dir, indexFile)
		b, err := input.ReadFS(fsys, indexFile, maxJSON)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if files, err = parseIndex(s.name, b); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	for _, file := range files {
		f, err := open(file, safetensors.Parse)
		if errors.Is(err, fs.ErrNotExist) && file != singleFile {
			return nil, fmt.Errorf("%s lists %s, which is not there: %w; download or convert the model again", s.name, file, err)
		} else if err != nil {
			return nil, err
		}
		if err := s.addFile(f, path.Join(dir, file)); err != nil {
			return nil, err
		}
	}
	return s, s.join()
}

// addFile adds the tensors of a file in its order.
func (s *store) addFile(f *weights.File, shard string) error {
	s.files = append(s.files, f)
	for _, e := range f.Entries() {
		if err := s.add(Weight{Entry: e, Shard: shard, File: f}); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) add(w Weight) error {
	if strings.HasPrefix(w.Name, "model.") {
		s.prefix = "model."
	}
	key := canonical(w.Name)
	if other, ok := s.weights[key]; ok {
		return fmt.Errorf("%s: tensors %s and %s are both %s; download or convert the model again",
			s.name, other.Name, w.Name, key)
	}
	s.weights[key] = w
	s.order = append(s.order, key)
	return nil
}

// Close closes all files.
func (s *store) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// leave ends a call of Reading.
func (s *store) leave() {
	if s.readers.Add(-1) > 0 {
		return // they may have fetched pages
	}
	for _, f := range s.files {
		f.DropAll()
	}
}

// get returns a weight by our name, checked against a shape unless that is nil.
func (s *store) get(key string, shape []int) (Weight, error) {
	w, ok := s.weights[key]
	if !ok {
		return Weight{}, s.missing(key, shape)
	}
	switch {
	case shape != nil && !slices.Equal(w.Shape, shape):
		return Weight{}, &TensorError{w.Shard, w.Name, fmt.Sprint(shape), w.String(), ErrShape}
	case w.DType == 0 || w.DType == tensor.I8:
		return Weight{}, &TensorError{w.Shard, w.Name, "f32, f16 or bf16", w.String(), ErrDType}
	}
	return w, nil
}

// missing names the tensor as the file would.
func (s *store) missing(key string, shape []int) error {
	e := &TensorError{File: s.name, Name: s.prefix + key, Err: ErrMissing}
	if key == headName {
		e.Name = key // its name has no "model." in front
	}
	if shape != nil {
		e.Want = fmt.Sprint(shape)
	}
	return e
}

// parseIndex reads model.safetensors.index.json and returns its files, sorted. An index
// is not trusted: a file must be a plain name in the same directory.
func parseIndex(file string, b []byte) (files []string, err error) {
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := parseJSON(file, b, &index); err != nil {
		return nil, err
	}
	if len(index.WeightMap) == 0 {
		return nil, &ConfigError{file, "weight_map", "is missing or empty"}
	}
	for _, f := range slices.Compact(slices.Sorted(maps.Values(index.WeightMap))) {
		if !plainName(f) {
			return nil, &ConfigError{file, "weight_map",
				fmt.Sprintf("names the file %.80q, want a name in the same directory", f)}
		}
		files = append(files, f)
	}
	return files, nil
}

// plainName reports whether a name is a file of its directory on every system, and short
// enough and safe to be printed.
func plainName(name string) bool {
	return strings.HasSuffix(name, ".safetensors") && !strings.HasPrefix(name, ".") && len(name) < 256 &&
		!strings.ContainsAny(name, "/\\:") && !strings.ContainsFunc(name, unicode.IsControl)
}

// canonical turns a name in a file into ours. It removes the prefix of Hugging Face's
// WhisperForConditionalGeneration and replaces openai/whisper's words by Hugging Face's.
func canonical(name string) string { return openaiNames.Replace(strings.TrimPrefix(name, "model.")) }

// openaiNames replaces parts of names, earlier pairs first. No name of Hugging
// Face's contains an old part. Source: transformers v4.57.0,
// model/base/convert_openai_to_hf.py, WHISPER_MAPPING.
var openaiNames = strings.NewReplacer(
	".blocks.", ".layers.",
	".attn.query.", ".self_attn.q_proj.",
	".attn.key.", ".self_attn.k_proj.",
	".attn.value.", ".self_attn.v_proj.",
	".attn.out.", ".self_attn.out_proj.",
	".attn_ln.", ".self_attn_layer_norm.",
	".cross_attn.query.", ".encoder_attn.q_proj.",
	".cross_attn.key.", ".encoder_attn.k_proj.",
	".cross_attn.value.", ".encoder_attn.v_proj.",
	".cross_attn.out.", ".encoder_attn.out_proj.",
	".cross_attn_ln.", ".encoder_attn_layer_norm.",
	".mlp.0.", ".fc1.",
	".mlp.2.", ".fc2.",
	".mlp_ln.", ".final_layer_norm.",
	"encoder.ln_post.", "encoder.layer_norm.",
	"decoder.ln.", "decoder.layer_norm.",
	"decoder.token_embedding.", "decoder.embed_tokens.",
	"coder.positional_embedding", "coder.embed_positions.weight",
)
