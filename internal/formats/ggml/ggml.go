package ggml

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"verity/internal/formats/sniff"
	"verity/internal/formats/weights"
	"verity/internal/tensor"
)

const (
	maxVocab   = 999_999
	maxTensors = 1 << 15
	maxName    = 256
	maxDims    = 4

	versionFactor = 1000 // ftype is the quantisation version times this, plus the type
)

// ErrMalformed is the cause of every error about the content of a file.
var ErrMalformed = errors.New("malformed ggml file")

// Magic is the first bytes of a file.
const Magic = "lmgg"

// sizes are those in the header, by upstream's names.
var sizes = []string{"n_vocab", "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer",
	"n_text_ctx", "n_text_state", "n_text_head", "n_text_layer", "n_mels"}

// A Model is the content of a file.
type Model struct {
	Sizes   map[string]int // such as n_vocab
	Vocab   []byte         // the text tokens by rank, as package tokenizer keeps its tables; nil if there are none
	Tensors []weights.Entry
}

// Parse reads a file. The tensors are views of b.
func Parse(b []byte) (*Model, error) {
	m, err := parse(weights.NewCursor(b))
	if err != nil {
		return nil, sniff.Remedied(fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	return m, nil
}

func parse(c *weights.Cursor) (*Model, error) {
	if magic := string(c.Bytes(4)); magic != Magic {
		return nil, fmt.Errorf("it begins with %q, want %q", magic, Magic)
	}
	m := &Model{Sizes: map[string]int{}}
	for _, name := range sizes {
		m.Sizes[name] = c.Int32()
	}
	if ftype := c.Int32(); ftype/versionFactor == 1 {
		return nil, errors.New("quantisation: got version 1, of early 2023, want version 2")
	}
	bins, frequencies := c.Int32(), c.Int32()
	n, ok := weights.Volume([]int{bins, frequencies})
	if !ok && c.Err() == nil {
		return nil, fmt.Errorf("mel filters of %d bins and %d frequencies", bins, frequencies)
	}
	c.Bytes(4 * n) // the filters: those of package frontend in every published model
	if err := m.readVocab(c); err != nil {
		return nil, err
	}
	return m, m.readTensors(c)
}

func (m *Model) readVocab(c *weights.Cursor) error {
	n := c.Int32()
	switch {
	case c.Err() != nil:
		return c.Err()
	case n < 0 || n > maxVocab || 4*n > c.Left():
		return fmt.Errorf("a vocabulary of %d tokens, %d bytes before the end", n, c.Left())
	}
	if n == 0 { // models for tests have none
		return nil
	}
	lengths, tokens := make([]byte, n), []byte(nil)
	for i := range lengths {
		b := c.Bytes(c.Int32())
		if len(b) > math.MaxUint8 {
			return fmt.Errorf("vocabulary: a token of %d bytes, want at most %d", len(b), math.MaxUint8)
		}
		lengths[i], tokens = byte(len(b)), append(tokens, b...)
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("vocabulary: %w", err)
	}
	m.Vocab = slices.Concat(fmt.Appendf(nil, "%06d\n", n), lengths, tokens)
	return nil
}

func (m *Model) readTensors(c *weights.Cursor) error {
	seen := map[string]bool{}
	for c.Left() > 0 {
		e, err := readTensor(c)
		switch {
		case err != nil:
			return err
		case seen[e.Name]:
			return fmt.Errorf("tensor %.80q stands twice", e.Name)
		case len(m.Tensors) == maxTensors:
			return fmt.Errorf("more than %d tensors", maxTensors)
		}
		seen[e.Name] = true
		m.Tensors = append(m.Tensors, e)
	}
	return nil
}

// readTensor reads one tensor: its description and the position of its data.
func readTensor(c *weights.Cursor) (weights.Entry, error) {
	at := c.At()
	dims, length, kind := c.Int32(), c.Int32(), c.Int32()
	switch {
	case c.Err() != nil:
		return weights.Entry{}, c.Err()
	case dims < 1 || dims > maxDims || length < 1 || length > maxName:
		return weights.Entry{}, fmt.Errorf("byte %d: a tensor of %d dimensions with a name of %d bytes",
			at, dims, length)
	}
	shape := make([]int, dims)
	for i := range shape {
		shape[i] = c.Int32()
	}
	slices.Reverse(shape)
	e := weights.Entry{Name: string(c.Bytes(length)), Shape: shape}
	t, ok := types[kind]
	n, fits := weights.Volume(shape)
	switch {
	case c.Err() != nil:
		return e, c.Err()
	case !ok:
		return e, fmt.Errorf("tensor %.80q is of type %d, want f32, f16, q4_0, q4_1, q5_0, q5_1 or q8_0", e.Name, kind)
	case !fits || shape[dims-1]%t.weights != 0:
		return e, fmt.Errorf("tensor %.80q of type %s has shape %v", e.Name, t.name, shape)
	}
	e.Type, e.DType = t.name, t.dtype
	e.Data = c.Bytes(n / t.weights * t.bytes)
	if err := c.Err(); err != nil {
		return e, fmt.Errorf("tensor %.80q %v: %w", e.Name, e, err)
	}
	if t.block != nil {
		e.Decode = t.decoder(e.Data, n/shape[0])
	}
	return e, nil
}

// A blockType describes how weights are stored.
type blockType struct {
	name    string
	dtype   tensor.DType
	bytes   int // per block
	weights int // per block
	block   func(dst []float32, b []byte)
}

var types = map[int]blockType{
	0: {"f32", tensor.F32, 4, 1, nil},
	1: {"f16", tensor.F16, 2, 1, nil},
	2: {"q4_0", tensor.F32, 18, 32, nibbles(false, false)},
	3: {"q4_1", tensor.F32, 20, 32, nibbles(true, false)},
	6: {"q5_0", tensor.F32, 22, 32, nibbles(false, true)},
	7: {"q5_1", tensor.F32, 24, 32, nibbles(true, true)},
	8: {"q8_0", tensor.F32, 34, 32, q8_0},
}

// decoder returns a Decode for a tensor with rows of n values.
func (t blockType) decoder(data []byte, n int) func(dst []byte, row int) {
	return weights.Floats(n, func(dst []float32, row int) {
		blocks := n / t.weights
		for i := range blocks {
			t.block(dst[i*t.weights:(i+1)*t.weights], data[(row*blocks+i)*t.bytes:][:t.bytes])
		}
	})
}
