package ctranslate2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"verity/internal/formats/sniff"
	"verity/internal/formats/weights"
	"verity/internal/tensor"
)

const (
	version      = 6
	maxVariables = 1 << 15
	maxDims      = 8
)

// ErrMalformed is the cause of every error about the content of a file.
var ErrMalformed = errors.New("malformed CTranslate2 model")

// A Model is the content of a file.
type Model struct {
	Spec      string // such as "WhisperSpec"
	Variables []weights.Entry
	byName    map[string]int
}

// types are the types of variables, by number.
var types = []struct {
	name  string
	size  int
	dtype tensor.DType
}{
	{"float32", 4, tensor.F32}, {"int8", 1, 0}, {"int16", 2, 0}, {"int32", 4, 0}, {"float16", 2, tensor.F16},
	{"bfloat16", 2, tensor.BF16},
}

const scaleSuffix = "_scale"

// Parse reads a file. Variables are views of b; int8 variables with scales are read as
// f32. An aliased variable is listed under both names.
func Parse(b []byte) (*Model, error) {
	m := &Model{byName: map[string]int{}}
	if err := m.parse(weights.NewCursor(b)); err != nil {
		return nil, sniff.Hint(fmt.Errorf("%w: %w", ErrMalformed, err), b)
	}
	return m, nil
}

func (m *Model) parse(c *weights.Cursor) error {
	if v := c.Uint32(); v != version && c.Err() == nil {
		return fmt.Errorf("version: got %d, want %d, that of CTranslate2 from 2022 on", v, version)
	}
	m.Spec = text(c)
	c.Uint32() // revision, not used
	n := c.Uint32()
	if n > maxVariables {
		return fmt.Errorf("%d variables, at most %d are allowed", n, maxVariables)
	}
	for range n {
		e, err := variable(c)
		if err != nil {
			return err
		}
		if err := m.add(e); err != nil {
			return err
		}
	}
	if err := m.scale(); err != nil {
		return err
	}
	return m.aliases(c)
}

func (m *Model) add(e weights.Entry) error {
	if _, twice := m.byName[e.Name]; twice {
		return fmt.Errorf("variable %.80q stands twice", e.Name)
	}
	m.byName[e.Name] = len(m.Variables)
	m.Variables = append(m.Variables, e)
	return nil
}

// Variable returns the variable with a name.
func (m *Model) Variable(name string) (weights.Entry, bool) {
	i, ok := m.byName[name]
	if !ok {
		return weights.Entry{}, false
	}
	return m.Variables[i], true
}

// text reads a string.
func text(c *weights.Cursor) string { return strings.TrimSuffix(string(c.Bytes(c.Uint16())), "\x00") }

func variable(c *weights.Cursor) (weights.Entry, error) {
	e := weights.Entry{Name: text(c)}
	dims := c.Uint8()
	if dims > maxDims {
		return e, fmt.Errorf("variable %.80q has %d dimensions, at most %d are allowed", e.Name, dims, maxDims)
	}
	for range dims {
		e.Shape = append(e.Shape, int(c.Uint32()))
	}
	kind, length := c.Uint8(), c.Uint32()
	if err := c.Err(); err != nil {
		return e, err
	}
	n, fits := weights.Volume(e.Shape)
	switch {
	case kind >= len(types):
		return e, fmt.Errorf("variable %.80q has type %d, want 0 … %d", e.Name, kind, len(types)-1)
	case !fits:
		return e, fmt.Errorf("variable %.80q has shape %v", e.Name, e.Shape)
	case length != int64(n)*int64(types[kind].size):
		return e, fmt.Errorf("variable %.80q of shape %v and type %s has %d bytes, want %d",
			e.Name, e.Shape, types[kind].name, length, int64(n)*int64(types[kind].size))
	}
	e.Type, e.DType = types[kind].name, types[kind].dtype
	e.Data = c.Bytes(int(length))
	if err := c.Err(); err != nil {
		return e, fmt.Errorf("variable %.80q: %w", e.Name, err)
	}
	return e, nil
}

// scale makes int8 variables with scales decode as f32.
func (m *Model) scale() error {
	for i, e := range m.Variables {
		s, ok := m.Variable(e.Name + scaleSuffix)
		if !ok || e.Type != "int8" || len(e.Shape) == 0 {
			continue
		}
		rows := e.Shape[0]
		if s.Type != "float32" || s.Len() != rows { // not by DType, which this loop sets
			return fmt.Errorf("variable %.80q %v has scales %v, want [%d] f32", e.Name, e, s, rows)
		}
		m.Variables[i].DType = tensor.F32
		m.Variables[i].Decode = dequantise(e.Data, s.Data, e.Len()/rows)
	}
	return nil
}

// dequantise returns a Decode for rows of n integers: q/scale.
func dequantise(data, scales []byte, n int) func(dst []byte, row int) {
	return weights.Floats(n, func(dst []float32, row int) {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(scales[4*row:]))
		for i, q := range data[row*n : (row+1)*n] {
			dst[i] = float32(int8(q)) / scale
		}
	})
}

func (m *Model) aliases(c *weights.Cursor) error {
	n := c.Uint32()
	if n > maxVariables {
		return fmt.Errorf("%d aliases, at most %d are allowed", n, maxVariables)
	}
	own, again := 0, 0
	for _, e := range m.Variables {
		own += e.Len()
	}
	for range n {
		alias, name := text(c), text(c)
		if err := c.Err(); err != nil {
			return err
		}
		e, ok := m.Variable(name)
		if !ok {
			return fmt.Errorf("%.80q is an alias of %.80q, which is not there", alias, name)
		}
		if again += e.Len(); again > own { // each is read into memory of its own
			return fmt.Errorf("its aliases have more than the %d numbers of its variables", own)
		}
		e.Name = alias
		if err := m.add(e); err != nil {
			return err
		}
	}
	switch {
	case c.Err() != nil:
		return c.Err()
	case c.Left() > 0:
		return fmt.Errorf("%d bytes follow the last alias", c.Left())
	}
	return nil
}

// Int returns the value of an integer scalar.
func (m *Model) Int(name string) (int, bool) {
	e, ok := m.Variable(name)
	if !ok || e.Len() != 1 {
		return 0, false
	}
	switch e.Type {
	case "int8":
		return int(int8(e.Data[0])), true
	case "int16":
		return int(int16(binary.LittleEndian.Uint16(e.Data))), true
	case "int32":
		return int(int32(binary.LittleEndian.Uint32(e.Data))), true
	}
	return 0, false
}
