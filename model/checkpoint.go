package model

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"verity/internal/safetensors"
	"verity/internal/tensor"
)

// headName is the vocabulary head. Whisper ties it to the token embedding.
const (
	headName  = "proj_out.weight"
	embedName = "decoder.embed_tokens.weight"
)

// A Checkpoint is an open model: its sizes, its settings, and its weights by
// name. It is immutable and safe for concurrent use. Its tensors are views of
// mapped files and must not be used after Close.
type Checkpoint struct {
	Name       string // as the caller named it
	Dims       Dims
	Generation Generation
	Features   Features

	fsys    fs.FS
	tied    bool
	weights *weights
}

// Open opens the checkpoint in a directory. All weights of the network are
// checked to be there in the right shape; the encoder's may be absent
// altogether, as in an assistant that shares the encoder of its target.
//
// The error is a *[TensorError], a *[ConfigError], or wraps [ErrNotCheckpoint]
// or an error of the file system.
func Open(dir string) (*Checkpoint, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, notFound(dir, err)
	} else if !st.IsDir() {
		return nil, notDirectory(dir)
	}
	return open(os.DirFS(dir), dir, func(file string) (*safetensors.File, error) {
		return safetensors.Open(filepath.Join(dir, file))
	})
}

// OpenFS opens the checkpoint at the root of a file system, such as an embedded
// one, with the weights read into memory. The name is for errors.
func OpenFS(fsys fs.FS, name string) (*Checkpoint, error) {
	return open(fsys, name, func(file string) (*safetensors.File, error) {
		b, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		return safetensors.FromBytes(path.Join(name, file), b)
	})
}

func open(fsys fs.FS, name string, file func(string) (*safetensors.File, error)) (_ *Checkpoint, err error) {
	c := &Checkpoint{Name: name, fsys: fsys}
	if err := c.readSettings(); err != nil {
		return nil, err
	}
	if err := hasWeights(fsys, name); err != nil {
		return nil, err
	}
	c.weights, err = openWeights(fsys, name, file)
	if err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// readSettings reads the JSON files. Only config.json must be there.
func (c *Checkpoint) readSettings() error {
	b, err := readJSON(c.fsys, "config.json")
	if errors.Is(err, fs.ErrNotExist) {
		return noConfig(c.fsys, c.Name)
	} else if err != nil {
		return fmt.Errorf("%s: %w", path.Join(c.Name, "config.json"), err)
	}
	conf, dims, err := parseConfig(path.Join(c.Name, "config.json"), b)
	if err != nil {
		return err
	}
	c.Dims, c.tied = dims, conf.tied()

	file, b, err := c.readFirst("generation_config.json")
	if err != nil {
		return err
	}
	if b == nil {
		file = path.Join(c.Name, "config.json")
	}
	c.Generation, err = parseGeneration(file, b, conf, dims)
	if err != nil {
		return err
	}
	file, b, err = c.readFirst("preprocessor_config.json", "processor_config.json")
	if err != nil {
		return err
	}
	c.Features, err = parseFeatures(file, b, dims)
	return err
}

// readFirst reads the first of the files that is there; without any, nil.
func (c *Checkpoint) readFirst(files ...string) (name string, b []byte, err error) {
	for _, file := range files {
		name = path.Join(c.Name, file)
		b, err = readJSON(c.fsys, file)
		if err == nil {
			return name, append([]byte{}, b...), nil // not nil even if empty
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return name, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return name, nil, nil
}

// check measures every weight of the network, so that the constructors of the
// other rooms need not expect surprises halfway.
func (c *Checkpoint) check() error {
	if c.Has("encoder.") {
		if err := c.checkAll(c.Dims.EncoderWeights()); err != nil {
			return err
		}
	}
	if err := c.checkAll(c.Dims.DecoderWeights()); err != nil {
		return err
	}
	if err := c.checkLayers(); err != nil {
		return err
	}
	_, err := c.Stored(headName, c.Dims.Vocab, c.Dims.TextWidth)
	return err
}

// checkLayers refuses a config that states fewer layers than there are weights:
// the network would run, and write nonsense.
func (c *Checkpoint) checkLayers() error {
	for _, half := range []struct {
		field, prefix string
		layers        int
	}{
		{"encoder_layers", "encoder.layers.", c.Dims.AudioLayers},
		{"decoder_layers", "decoder.layers.", c.Dims.TextLayers},
	} {
		if c.Has(fmt.Sprintf("%s%d.", half.prefix, half.layers)) {
			return &ConfigError{path.Join(c.Name, "config.json"), half.field,
				fmt.Sprintf("is %d, but there are weights of a layer more", half.layers)}
		}
	}
	return nil
}

func (c *Checkpoint) checkAll(weights iter.Seq2[string, []int]) error {
	for name, shape := range weights {
		if _, err := c.Stored(name, shape...); err != nil {
			return err
		}
	}
	return nil
}

// Tensor returns a weight by its Hugging Face name without the leading "model.",
// such as "encoder.layers.0.self_attn.q_proj.weight". A shape, if given, must be
// the weight's. "proj_out.weight", the vocabulary head, is the token embedding
// unless the checkpoint unties them. The error is a *[TensorError].
//
// A weight in few bits is expanded, exactly, into memory of its own: ask for it
// when it is needed, and for [Checkpoint.Stored] before.
func (c *Checkpoint) Tensor(name string, shape ...int) (tensor.Tensor, error) {
	s, err := c.Stored(name, shape...)
	switch {
	case err != nil:
		return tensor.Tensor{}, err
	case s.Packed != nil:
		return expand(s.Packed), nil
	}
	return tensor.Tensor{DType: s.DType, Shape: s.Shape, Data: s.Data}, nil
}

// Stored returns a weight as its file holds it. Names, shapes and errors are those
// of [Checkpoint.Tensor].
func (c *Checkpoint) Stored(name string, shape ...int) (Stored, error) {
	return c.weights.get(c.key(name), shape)
}

func (c *Checkpoint) key(name string) string {
	if name == headName && c.tied {
		return embedName
	}
	return name
}

// Ahead says that a weight will soon be looked at, so that it is read from disk
// meanwhile.
func (c *Checkpoint) Ahead(name string) {
	if t := c.weights.tensors[c.key(name)]; t.file != nil {
		t.file.Ahead(t.name, 0, math.MaxInt64)
	}
}

// Drop gives back the memory that a mapped weight takes, once its values have
// been copied elsewhere. It can be read again, from the file.
func (c *Checkpoint) Drop(name string) {
	if t := c.weights.tensors[c.key(name)]; t.file != nil {
		t.file.Drop(t.name, 0, math.MaxInt64)
	}
}

// DropRows is Drop for rows lo … hi-1 of a weight.
func (c *Checkpoint) DropRows(name string, lo, hi int) {
	t := c.weights.tensors[c.key(name)]
	if t.file == nil {
		return
	}
	if data, w, ok := t.file.Bytes(t.name); ok && len(w.Shape) > 0 && w.Shape[0] > 0 {
		row := int64(len(data) / w.Shape[0])
		t.file.Drop(t.name, int64(lo)*row, int64(hi)*row)
	}
}

// DropAll is Drop for all weights, and for what Drop leaves: the pages at the ends
// of a weight, which others share.
func (c *Checkpoint) DropAll() {
	for _, f := range c.weights.files {
		f.DropAll()
	}
}

// Has reports whether the files hold a tensor of this name, or, if the name ends
// in a dot, any tensor whose name begins with it: Has("encoder.") is false for an
// assistant that shares its target's encoder.
func (c *Checkpoint) Has(name string) bool {
	if strings.HasSuffix(name, ".") {
		return slices.ContainsFunc(c.weights.order, func(n string) bool { return strings.HasPrefix(n, name) })
	}
	_, ok := c.weights.tensors[c.key(name)]
	return ok
}

// Names returns the names of all tensors as they lie in the files, in the form
// that Tensor takes. A tied vocabulary head is not among them, even if a file
// holds it.
func (c *Checkpoint) Names() []string {
	return slices.DeleteFunc(slices.Clone(c.weights.order), func(n string) bool { return c.key(n) != n })
}

// Files returns the names of the mapped files that hold the weights; none if they
// are in memory.
func (c *Checkpoint) Files() (names []string) {
	for _, f := range c.weights.files {
		if f.Mapped() {
			names = append(names, f.Name())
		}
	}
	return names
}

// FS returns the directory, for the files that other rooms read.
func (c *Checkpoint) FS() fs.FS { return c.fsys }

// DType returns the type most of the weights are stored in; for those in few bits,
// the type that they expand to.
func (c *Checkpoint) DType() tensor.DType {
	params := map[tensor.DType]int{}
	best := tensor.DType(0)
	for s := range c.all() {
		params[s.DType] += count(s.Shape)
		if params[s.DType] > params[best] {
			best = s.DType
		}
	}
	return best
}

// Params returns the number of weights, positions included.
func (c *Checkpoint) Params() (n int64) {
	for s := range c.all() {
		n += int64(count(s.Shape))
	}
	return n
}

// count returns the number of elements of a shape.
func count(shape []int) int { return tensor.Tensor{Shape: shape}.Len() }

// Bytes returns how many bytes the weights take as stored.
func (c *Checkpoint) Bytes() (n int64) {
	for s := range c.all() {
		n += s.Bytes()
	}
	return n
}

// all yields the weights of Names that are of a type the network can have.
func (c *Checkpoint) all() iter.Seq[Stored] {
	return func(yield func(Stored) bool) {
		for _, name := range c.Names() {
			if s, err := c.Stored(name); err == nil && !yield(s) {
				return
			}
		}
	}
}

// Close unmaps the files.
func (c *Checkpoint) Close() error { return c.weights.Close() }
