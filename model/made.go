package model

import (
	"io/fs"

	"verity/internal/tensor"
)

// OpenMade opens a checkpoint whose weights are not in files: source is called
// once for each weight of the network and returns it. The other files are those of
// fsys. It serves measurements on shapes for which there is no checkpoint.
func OpenMade(fsys fs.FS, name string, source func(name string, shape []int) tensor.Tensor) (*Checkpoint, error) {
	c := &Checkpoint{Name: name, fsys: fsys}
	if err := c.readSettings(); err != nil {
		return nil, err
	}
	c.weights = &weights{name: name, tensors: map[string]weight{}}
	add := func(at string, shape []int) bool {
		t := source(at, shape)
		c.weights.tensors[at] = weight{shard: name, name: at, made: &t}
		c.weights.order = append(c.weights.order, at)
		return true
	}
	c.Dims.EncoderWeights()(add)
	c.Dims.DecoderWeights()(add)
	return c, c.check()
}
