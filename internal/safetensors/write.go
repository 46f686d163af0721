package safetensors

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"verity/internal/tensor"
)

// An Entry is a tensor to write. Data writes its bytes; it is called once, in order, so
// a checkpoint larger than memory can be generated as it is written.
type Entry struct {
	Name  string
	DType tensor.DType
	Shape []int
	Data  func(w io.Writer) error
	Type  string // as spelled in the file, such as "U8", for types that DType does not have
}

// Of returns the entry for a tensor in memory.
func Of(name string, t tensor.Tensor) Entry {
	return Entry{Name: name, DType: t.DType, Shape: t.Shape, Data: func(w io.Writer) error {
		_, err := w.Write(t.Data)
		return err
	}}
}

// spelling is the inverse of dtypes.
var spelling = map[tensor.DType]string{
	tensor.F32: "F32", tensor.F16: "F16", tensor.BF16: "BF16", tensor.I8: "I8",
}

// Write writes a safetensors file with the tensors in the given order and the metadata
// {"format": "pt"}, which transformers requires. The data starts at a multiple of eight
// bytes. Write fails if an entry writes another number of bytes than its shape needs,
// or if a name occurs twice.
func Write(w io.Writer, entries ...Entry) error {
	head, err := header(entries)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, e := range entries {
		c := &counter{w: w}
		if err := e.Data(c); err != nil {
			return fmt.Errorf("safetensors: writing %q: %w", e.Name, err)
		}
		if want := e.bytes(); c.n != want {
			return fmt.Errorf("safetensors: %q wrote %d bytes, its shape has %d", e.Name, c.n, want)
		}
	}
	return nil
}

// WriteContext is Write, but stops with ctx's error when ctx ends.
func WriteContext(ctx context.Context, w io.Writer, entries ...Entry) error {
	return Write(interruptible{ctx, w}, entries...)
}

// An interruptible is a writer that checks its context before each write.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

func (i interruptible) Write(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.w.Write(b)
}

// bytes returns the length of the data, -1 if the shape is invalid.
func (e Entry) bytes() int64 {
	n := sizes[e.spelled()]
	for _, d := range e.Shape {
		if d < 0 || d > 0 && n > math.MaxInt64/int64(d) {
			return -1
		}
		n *= int64(d)
	}
	return n
}

// spelled returns the type as spelled in the file.
func (e Entry) spelled() string { return cmp.Or(e.Type, spelling[e.DType]) }

// header returns the header: its length and the padded JSON.
func header(entries []Entry) ([]byte, error) {
	type field struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	var b bytes.Buffer
	b.WriteString(`{"__metadata__":{"format":"pt"}`)
	seen := map[string]bool{"__metadata__": true}
	var at int64
	for _, e := range entries {
		n, dtype := e.bytes(), e.spelled()
		switch {
		case seen[e.Name]:
			return nil, fmt.Errorf("safetensors: name %q cannot be used twice", e.Name)
		case sizes[dtype] == 0 || n < 0 || at > math.MaxInt64-n:
			return nil, fmt.Errorf("safetensors: cannot write %q: %v %v", e.Name, e.Shape, e.DType)
		}
		seen[e.Name] = true
		name, err := json.Marshal(e.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(field{dtype, append([]int{}, e.Shape...), [2]int64{at, at + n}})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%s:%s", name, value)
		at += n
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(b.Len())), b.Bytes()...), nil
}

// A counter counts the bytes written through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
