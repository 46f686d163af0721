package safetensors

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

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

// spelled returns the type as spelled in the file; "" if it has none.
func (e Entry) spelled() string {
	for name, dtype := range dtypes {
		if e.Type == "" && dtype == e.DType {
			return name
		}
	}
	return e.Type
}

// bytes returns the length of the data.
func (e Entry) bytes() int64 {
	return int64(tensor.Tensor{Shape: e.Shape}.Len()) * sizes[e.spelled()]
}

// Write writes a safetensors file with the tensors in the given order and the metadata
// {"format": "pt"}, which transformers requires. The data starts at a multiple of eight
// bytes. It fails if an entry writes another number of bytes than its shape needs, and stops
// with ctx's error when ctx ends.
func Write(ctx context.Context, w io.Writer, entries ...Entry) error {
	head, err := header(entries)
	if err != nil {
		return err
	}
	to := &writer{ctx: ctx, w: w}
	if _, err := to.Write(head); err != nil {
		return err
	}
	for _, e := range entries {
		to.n = 0
		if err := e.Data(to); err != nil {
			return fmt.Errorf("safetensors: writing %q: %w", e.Name, err)
		}
		if want := e.bytes(); to.n != want {
			return fmt.Errorf("safetensors: %q wrote %d bytes, its shape has %d", e.Name, to.n, want)
		}
	}
	return nil
}

// A writer checks its context before each write, and counts the bytes.
type writer struct {
	ctx context.Context
	w   io.Writer
	n   int64
}

func (w *writer) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.w.Write(b)
	w.n += int64(n)
	return n, err
}

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
		if seen[e.Name] || sizes[e.spelled()] == 0 {
			return nil, fmt.Errorf("safetensors: cannot write %q, %v %v: twice, or of no type", e.Name, e.Shape, e.DType)
		}
		seen[e.Name] = true
		name, err1 := json.Marshal(e.Name)
		value, err2 := json.Marshal(field{e.spelled(), append([]int{}, e.Shape...), [2]int64{at, at + e.bytes()}})
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%s:%s", name, value)
		at += e.bytes()
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(b.Len())), b.Bytes()...), nil
}
