package model

import (
	"context"
	"io/fs"
	"iter"

	"verity/internal/tensor"
	"verity/internal/weights"
)

// inside holds the checkpoints in the program.
var inside = map[string]fs.FS{}

// Embed makes a checkpoint in the program known by a name. It is for init functions of
// packages of models.
func Embed(name string, files fs.FS) { inside[name] = files }

// Inside returns the files of a checkpoint in the program; nil if none has that name.
func Inside(name string) fs.FS { return inside[name] }

// OpenSource opens a checkpoint whose weights are not in files: source is called once for
// each weight of the network and returns it. files holds the other files by name. It is
// for measurements on shapes without a checkpoint.
func OpenSource(
	files map[string][]byte, name string, source func(name string, shape []int) tensor.Tensor,
) (*Checkpoint, error) {
	c := &Checkpoint{Name: name, ctx: context.Background(), fsys: memFS(files)}
	if err := c.readSettings(); err != nil {
		return nil, err
	}
	c.store = newStore(name)
	for _, half := range []iter.Seq2[string, []int]{c.Dims.EncoderWeights(), c.Dims.DecoderWeights()} {
		for at, shape := range half {
			t := source(at, shape)
			e := weights.Entry{Name: at, Shape: t.Shape, Type: t.DType.String(), DType: t.DType, Data: t.Data}
			c.store.weights[at] = Weight{Entry: e, shard: name}
			c.store.order = append(c.store.order, at)
		}
	}
	return c, c.check()
}
