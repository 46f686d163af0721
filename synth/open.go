package synth

import (
	"bytes"
	"strings"

	"verity/internal/tensor"
	"verity/model"
	"verity/tokenizer"
)

// Open returns a checkpoint of a published size with random float16 weights, in memory.
// It is ready at once, since all matrices are views of the same numbers. It has no
// planted text: it is for measuring time.
func Open(size string) (*model.Checkpoint, error) {
	d, err := Dims(size)
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.Embedded(d.Vocab)
	if err != nil {
		return nil, err
	}
	files, err := settings(d, tok, nil)
	if err != nil {
		return nil, err
	}
	m, err := newMaker(d)
	if err != nil {
		return nil, err
	}
	return model.OpenSource(files, size, m.weight)
}

// A maker takes weights from one buffer of random numbers.
type maker struct{ buf []byte }

func newMaker(d model.Dims) (*maker, error) {
	most := d.Vocab * d.TextWidth
	var b bytes.Buffer
	b.Grow(2 * most)
	err := newSource("", matrices()).write(&b, most)
	return &maker{b.Bytes()}, err
}

func (m *maker) weight(name string, shape []int) tensor.Tensor {
	t := tensor.Tensor{DType: tensor.F16, Shape: shape}
	n := t.Len()
	if strings.HasSuffix(name, "norm.weight") {
		x := make([]uint16, n)
		newSource(name, gains()).fill(x, 0)
		t.Data = bytesOf(x)
		return t
	}
	t.Data = m.buf[: 2*n : 2*n]
	return t
}
