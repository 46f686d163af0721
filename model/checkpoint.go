package model

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"verity/internal/formats/weights"
	"verity/internal/input"
	"verity/internal/tensor"
)

// The vocabulary head and the token embedding. Whisper ties the head to the embedding.
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

	tap   Tap             // see Tapped
	ctx   context.Context // ends the reading of weights: see WithContext
	fsys  fs.FS
	tied  bool
	store *store
}

// Open opens a checkpoint: a directory, or a file of openai/whisper or of
// whisper.cpp; see the package's documentation. It checks that all weights of the network
// are there in the right shape. Those of the encoder may all be absent, as in an
// assistant that shares the encoder of its target. ctx also ends the later reading of
// weights, as [Checkpoint.WithContext] does.
//
// The error is a *[TensorError], a *[ConfigError], or wraps [ErrNotCheckpoint],
// [ErrChanged] or an error of the file system.
func Open(ctx context.Context, name string) (*Checkpoint, error) {
	st, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("opening the model: %w", err)
	case st.IsDir():
		return open(ctx, os.DirFS(name), name, func(file string, parse weights.Parser) (*weights.File, error) {
			return weights.Open(filepath.Join(name, file), parse)
		})
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w: not a regular file", name, ErrNotCheckpoint)
	}
	return openFile(ctx, name)
}

// OpenFS opens the checkpoint at the root of a file system, such as an embedded one.
// Weights are read into memory, or used in place if the file system has a method Bytes
// that returns them. The name is for errors.
func OpenFS(fsys fs.FS, name string) (*Checkpoint, error) {
	return open(context.Background(), fsys, name, func(file string, parse weights.Parser) (*weights.File, error) {
		b, err := readWeights(fsys, file)
		if err != nil {
			return nil, err
		}
		return weights.FromBytes(path.Join(name, file), b, parse)
	})
}

// readWeights reads a file, or returns its bytes in memory if the file system has them.
func readWeights(fsys fs.FS, file string) ([]byte, error) {
	if held, ok := fsys.(interface {
		Bytes(name string) ([]byte, bool)
	}); ok {
		if b, ok := held.Bytes(file); ok {
			return b, nil
		}
	}
	return fs.ReadFile(fsys, file)
}

func open(ctx context.Context, fsys fs.FS, name string, file opener) (_ *Checkpoint, err error) {
	c := &Checkpoint{Name: name, ctx: ctx, fsys: fsys}
	if isCTranslate2(fsys) {
		return c.finish(c.openCTranslate2(file))
	}
	if input.Exists(fsys, "config.json") && !input.Exists(fsys, singleFile) && !input.Exists(fsys, indexFile) {
		return nil, incomplete(fsys, name, singleFile)
	}
	if err := c.readSettings(); err != nil {
		return nil, err
	}
	c.store, err = openStore(fsys, name, func(at string, parse weights.Parser) (*weights.File, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return file(at, parse)
	})
	return c.finish(err)
}

// finish returns c if opening it gave no error and all weights are there.
func (c *Checkpoint) finish(err error) (*Checkpoint, error) {
	if err == nil {
		err = c.Err()
	}
	if err == nil {
		err = c.check()
	}
	if err == nil {
		err = c.Reading(c.checkNorms)
	}
	if err != nil {
		if c.store != nil {
			c.Close()
		}
		return nil, err
	}
	return c, nil
}

// A Tap receives the inputs of a product with matrices: rows of them, stride apart, and the
// names of the weights that they are multiplied by. It must be safe for concurrent use.
type Tap = func(names []string, x []float32, rows, stride int)

// Tapped returns the same checkpoint, whose networks pass the inputs of all their products
// to tap.
func (c *Checkpoint) Tapped(tap Tap) *Checkpoint {
	other := *c
	other.tap = tap
	return &other
}

// Tap returns the tap of Tapped; nil without one.
func (c *Checkpoint) Tap() Tap { return c.tap }

// WithContext returns the same checkpoint under another context. Constructors of other
// packages read weights long after Open. When ctx is done, reading ends with its error.
func (c *Checkpoint) WithContext(ctx context.Context) *Checkpoint {
	other := *c
	other.ctx = ctx
	return &other
}

// Context returns the context that c was opened under.
func (c *Checkpoint) Context() context.Context { return c.ctx }

// Err returns the error of the context that c was opened under, nil while it is not done.
// Code that reads many weights calls it between them.
func (c *Checkpoint) Err() error { return c.ctx.Err() }

// Reading runs do, which reads weights, and returns its error. The error wraps
// [ErrChanged] if a file of the weights could not be read: weights are views of mapped
// files, and without Reading a missing page would end the program. The last of several that run at the same time releases the memory that the
// files take.
func (c *Checkpoint) Reading(do func() error) error {
	c.store.readers.Add(1)
	defer c.store.leave()
	return weights.Guard(c.store.files, do)
}

// LockFiles locks the files of c, once nobody else has locked them. Code that reads them from
// front to back holds the lock, because two such readers would make the disk seek.
func (c *Checkpoint) LockFiles() (unlock func()) {
	c.store.disk.Lock()
	return c.store.disk.Unlock
}

// readSettings reads the JSON files. Only config.json must be there.
func (c *Checkpoint) readSettings() error {
	at, b, err := c.readFirst("config.json")
	if err != nil {
		return err
	}
	if b == nil {
		return incomplete(c.fsys, c.Name, "config.json")
	}
	conf, dims, err := parseConfig(at, b)
	if err != nil {
		return err
	}
	c.Dims, c.tied = dims, conf.tied()
	file, b, err := c.readFirst("generation_config.json")
	if err != nil {
		return err
	}
	fields := conf.generationFields
	if b == nil {
		file = at
	} else { // ids that it does not state, transformers takes from config.json
		fields = generationFields{Start: fields.Start, EOS: fields.EOS}
		if err := parseJSON(file, b, &fields); err != nil {
			return err
		}
	}
	if c.Generation, err = newGeneration(file, fields, dims); err != nil {
		return err
	}
	return c.checkFeatures("preprocessor_config.json", "processor_config.json")
}

// readFirst reads the first of the files that exists; nil if none does.
func (c *Checkpoint) readFirst(files ...string) (name string, b []byte, err error) {
	for _, file := range files {
		name = path.Join(c.Name, file)
		b, err = input.ReadFS(c.fsys, file, maxJSON)
		if err == nil {
			return name, b, nil // not nil even if empty
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return name, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return name, nil, nil
}

// check checks the shape of every weight of the network, so that the constructors of
// other packages do not fail halfway. It refuses a config that states fewer layers than
// there are weights: the network would run, and produce nonsense.
func (c *Checkpoint) check() error {
	for _, half := range []struct {
		name    string
		layers  int
		weights iter.Seq2[string, []int]
	}{
		{"encoder", c.Dims.AudioLayers, c.Dims.EncoderWeights()},
		{"decoder", c.Dims.TextLayers, c.Dims.DecoderWeights()},
	} {
		if half.name == "encoder" && !c.Has("encoder.") {
			continue
		}
		for name, shape := range half.weights {
			if _, err := c.Weight(name, shape...); err != nil {
				return err
			}
		}
		if c.Has(fmt.Sprintf("%s.layers.%d.", half.name, half.layers)) {
			return &ConfigError{path.Join(c.Name, "config.json"), half.name + "_layers",
				fmt.Sprintf("is %d, but there are weights of a layer more", half.layers)}
		}
	}
	_, err := c.Weight(headName, c.Dims.Vocab, c.Dims.TextWidth)
	return err
}

// checkNorms refuses a norm that makes zeros of everything. Each layer has some: they show a
// file that has its length, but not all its bytes yet.
func (c *Checkpoint) checkNorms() error {
	for _, key := range c.store.order {
		if w := c.store.weights[key]; strings.HasSuffix(key, "layer_norm.weight") && allZero(w.Entry) {
			return &TensorError{File: w.Shard, Name: w.Name, Err: fmt.Errorf("%w: all its bytes are zero", ErrMissing)}
		}
	}
	return nil
}

// String returns the name that the caller gave the checkpoint.
func (c *Checkpoint) String() string { return c.Name }

// Close unmaps the files.
func (c *Checkpoint) Close() error { return c.store.Close() }

// OpenSource opens a checkpoint whose weights are not in files: source is called once for
// each weight of the network and returns it. files holds the other files by name. It is
// for measurements on shapes without a checkpoint.
func OpenSource(
	files map[string][]byte, name string, source func(name string, shape []int) tensor.Tensor,
) (*Checkpoint, error) {
	c := &Checkpoint{Name: name, ctx: context.Background(), fsys: memoryFS(files)}
	if err := c.readSettings(); err != nil {
		return nil, err
	}
	c.store = newStore(name)
	for _, half := range []iter.Seq2[string, []int]{c.Dims.EncoderWeights(), c.Dims.DecoderWeights()} {
		for at, shape := range half {
			t := source(at, shape)
			e := weights.Entry{Name: at, Shape: t.Shape, Type: t.DType.String(), DType: t.DType, Data: t.Data}
			c.store.weights[at] = Weight{Entry: e, Shard: name}
			c.store.order = append(c.store.order, at)
		}
	}
	return c, c.check()
}
