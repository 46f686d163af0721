package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"verity/internal/quant"
	"verity/internal/safetensors"
	"verity/internal/tensor"
)

const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// A weight is a tensor's place: the file it is in, and its name there. The file
// is nil if the index promises it and its shard does not hold it, or if the
// tensor was made.
type weight struct {
	shard string
	file  *safetensors.File
	name  string
	made  *tensor.Tensor // see OpenMade

	packed *quant.Matrix // of a weight in few bits; then name is that of its codes
}

// weights are all tensors of a checkpoint by our names.
type weights struct {
	name    string // of the file, or of the index of a sharded checkpoint
	prefix  string // what Hugging Face's names begin with in the files: "model." or ""
	files   []*safetensors.File
	tensors map[string]weight
	order   []string // keys of tensors, as they lie in the files
}

// openWeights opens model.safetensors, or else the files its index lists. open
// opens one of them; dir is what errors put before their names.
func openWeights(fsys fs.FS, dir string, open func(file string) (*safetensors.File, error)) (_ *weights, err error) {
	w := &weights{name: path.Join(dir, singleFile), tensors: map[string]weight{}}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if _, err := fs.Stat(fsys, singleFile); err == nil {
		f, err := open(singleFile)
		if err != nil {
			return nil, err
		}
		w.files = append(w.files, f)
		if err := w.addAll(f); err != nil {
			return nil, err
		}
		return w, w.join()
	}
	w.name = path.Join(dir, indexFile)
	b, err := readJSON(fsys, indexFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	shards, err := parseIndex(w.name, b)
	if err != nil {
		return nil, err
	}
	for _, s := range shards {
		f, err := open(s.file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s lists %s, which is not there: %w", w.name, s.file, err)
		} else if err != nil {
			return nil, err
		}
		w.files = append(w.files, f)
		if err := w.addShard(f, path.Join(dir, s.file), s.names); err != nil {
			return nil, err
		}
	}
	return w, w.join()
}

// addAll adds every tensor of the only file.
func (w *weights) addAll(f *safetensors.File) error {
	for _, name := range f.Names() {
		if err := w.add(weight{shard: w.name, file: f, name: name}); err != nil {
			return err
		}
	}
	return nil
}

// addShard adds the tensors that the index promises in a file, in the order
// they have there, and those that are missing from it last.
func (w *weights) addShard(f *safetensors.File, shard string, promised []string) error {
	for _, name := range f.Names() {
		if _, ok := slices.BinarySearch(promised, name); ok {
			if err := w.add(weight{shard: shard, file: f, name: name}); err != nil {
				return err
			}
		}
	}
	for _, name := range promised {
		if _, ok := f.Info(name); !ok {
			if err := w.add(weight{shard: shard, name: name}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *weights) add(t weight) error {
	if strings.HasPrefix(t.name, "model.") {
		w.prefix = "model."
	}
	key := canonical(t.name)
	if other, ok := w.tensors[key]; ok {
		return fmt.Errorf("%s: tensors %s and %s are both %s", w.name, other.name, t.name, key)
	}
	w.tensors[key] = t
	w.order = append(w.order, key)
	return nil
}

// Close closes all files.
func (w *weights) Close() error {
	var errs []error
	for _, f := range w.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// get returns a weight by our name, checked against a shape unless that is nil.
func (w *weights) get(key string, shape []int) (Stored, error) {
	t, ok := w.tensors[key]
	if !ok {
		return Stored{}, w.missing(key, shape)
	}
	e := &TensorError{File: t.shard, Name: t.name}
	if shape != nil {
		e.Want = fmt.Sprint(shape)
	}
	if t.file == nil && t.made == nil {
		e.Err = ErrMissing
		return Stored{}, e
	}
	s, got := t.stored()
	e.Got = got
	switch {
	case shape != nil && !slices.Equal(s.Shape, shape):
		e.Err = ErrShape
	case s.DType == 0 || s.DType == tensor.I8:
		e.Err, e.Want = ErrDType, "f32, f16 or bf16"
	default:
		return s, nil
	}
	return Stored{}, e
}

// stored returns what there is of a weight, and its description. The type is zero
// if it is none of package tensor's.
func (t weight) stored() (s Stored, got string) {
	switch {
	case t.packed != nil:
		s = Stored{Shape: []int{t.packed.Rows, t.packed.Cols}, DType: tensor.F16, Data: t.packed.Codes, Packed: t.packed}
		return s, s.String()
	case t.made != nil:
		return Stored{Shape: t.made.Shape, DType: t.made.DType, Data: t.made.Data}, t.made.String()
	}
	data, info, _ := t.file.Bytes(t.name)
	known, _ := t.file.Tensor(t.name)
	return Stored{Shape: slices.Clone(info.Shape), DType: known.DType, Data: data}, info.String()
}

// missing names the tensor as the file would.
func (w *weights) missing(key string, shape []int) error {
	e := &TensorError{File: w.name, Name: w.prefix + key, Err: ErrMissing}
	if key == headName {
		e.Name = key // it stands outside "model."
	}
	if shape != nil {
		e.Want = fmt.Sprint(shape)
	}
	return e
}

// A shard is one file of the index, with the names it is to hold, sorted.
type shard struct {
	file  string
	names []string
}

// parseIndex reads model.safetensors.index.json and returns its files, sorted. A
// file must be a plain name in the same directory: an index is data from
// elsewhere and may not name other places.
func parseIndex(file string, b []byte) ([]shard, error) {
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(b, &index); err != nil {
		return nil, &ConfigError{file, "", fmt.Sprintf("reading JSON: %v", err)}
	}
	if len(index.WeightMap) == 0 {
		return nil, &ConfigError{file, "weight_map", "is missing or empty"}
	}
	byFile := map[string][]string{}
	for name, f := range index.WeightMap {
		if !plainName(f) {
			return nil, &ConfigError{file, "weight_map", fmt.Sprintf("names the file %.80q, want a name in the same directory", f)}
		}
		byFile[f] = append(byFile[f], name)
	}
	shards := make([]shard, 0, len(byFile))
	for f, names := range byFile {
		slices.Sort(names)
		shards = append(shards, shard{f, names})
	}
	slices.SortFunc(shards, func(a, b shard) int { return strings.Compare(a.file, b.file) })
	return shards, nil
}

// plainName reports whether a name stays in its directory on every system.
func plainName(name string) bool {
	return strings.HasSuffix(name, ".safetensors") && !strings.HasPrefix(name, ".") &&
		!strings.ContainsAny(name, "/\\:\x00")
}
