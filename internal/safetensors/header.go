package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"verity/internal/tensor"
)

// maxHeader bounds the header: upstream's MAX_HEADER_SIZE.
const maxHeader = 100_000_000

// maxDims bounds a shape; no format we know needs more.
const maxDims = 16

// ErrMalformed is the cause of every error about the content of a file.
var ErrMalformed = errors.New("malformed safetensors file")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// An Info is what the header says of a tensor.
type Info struct {
	Name  string
	DType string // as spelled in the file: "F32", "F16", "BF16", "I64", …
	Shape []int

	lo, hi int64 // bytes, counted from the end of the header
}

// String describes the tensor, as in "[1280 1280] f16" or "[7] I64".
func (i Info) String() string {
	if d, ok := dtypes[i.DType]; ok {
		return fmt.Sprintf("%v %v", i.Shape, d)
	}
	return fmt.Sprintf("%v %s", i.Shape, i.DType)
}

// dtypes are the types a tensor.Tensor can have.
var dtypes = map[string]tensor.DType{
	"F32": tensor.F32, "F16": tensor.F16, "BF16": tensor.BF16, "I8": tensor.I8,
}

// sizes holds the bytes of an element of every type that has whole bytes.
// Tensors of other types are listed, their length unchecked.
var sizes = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1,
	"I16": 2, "U16": 2, "F16": 2, "BF16": 2,
	"I32": 4, "U32": 4, "F32": 4,
	"I64": 8, "U64": 8, "F64": 8, "C64": 8,
}

// parse checks the whole header of b and returns the tensors in the order of
// their bytes, and the bytes.
func parse(b []byte) (infos []Info, metadata map[string]string, data []byte, err error) {
	if len(b) < 8 {
		return nil, nil, nil, malformed("%d bytes, too short for a header", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	switch rest := uint64(len(b) - 8); {
	case n > maxHeader:
		return nil, nil, nil, malformed("header of %d bytes, at most %d are allowed", n, maxHeader)
	case n > rest:
		return nil, nil, nil, malformed("header of %d bytes in a file of %d: cut off?", n, len(b))
	}
	data = b[8+n:]
	infos, metadata, err = parseHeader(b[8 : 8+n])
	if err != nil {
		return nil, nil, nil, err
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi), cmp.Compare(a.Name, b.Name))
	})
	var end int64
	for _, t := range infos {
		if t.lo != end {
			return nil, nil, nil, malformed("tensor %q begins at byte %d of the data, want %d: gap or overlap", t.Name, t.lo, end)
		}
		end = t.hi
	}
	if end != int64(len(data)) {
		return nil, nil, nil, malformed("tensors take %d bytes, the file has %d: cut off?", end, len(data))
	}
	return infos, metadata, data, nil
}

// parseHeader reads the JSON token by token: decoding into a map would let the
// last of two equal names win.
func parseHeader(b []byte) ([]Info, map[string]string, error) {
	if len(b) == 0 || b[0] != '{' { // upstream wants the brace at once
		return nil, nil, malformed("the header does not begin with a brace")
	}
	var (
		infos    []Info
		metadata map[string]string
	)
	dec := json.NewDecoder(bytes.NewReader(b))
	err := object(dec, func(name string) error {
		if name == "__metadata__" {
			return dec.Decode(&metadata)
		}
		t, err := parseInfo(dec, name)
		infos = append(infos, t)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: header: %w", ErrMalformed, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, nil, malformed("something follows the object in the header")
	}
	return infos, metadata, nil
}

// object reads a JSON object and calls field after each key, to read the value.
func object(dec *json.Decoder, field func(key string) error) error {
	if tok, err := dec.Token(); err != nil {
		return err
	} else if tok != json.Delim('{') {
		return fmt.Errorf("got %v, want an object", tok)
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key := tok.(string) // the decoder allows no other key
		if seen[key] {
			return fmt.Errorf("%q stands twice", key)
		}
		seen[key] = true
		if err := field(key); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	_, err := dec.Token()
	return err
}

// parseInfo reads one tensor's entry and checks that its length fits its shape.
func parseInfo(dec *json.Decoder, name string) (Info, error) {
	t := Info{Name: name}
	var offsets []int64
	err := object(dec, func(key string) error {
		switch key {
		case "dtype":
			return dec.Decode(&t.DType)
		case "shape":
			return dec.Decode(&t.Shape)
		case "data_offsets":
			return dec.Decode(&offsets)
		}
		return errors.New("unknown field")
	})
	switch {
	case err != nil:
		return t, err
	case t.DType == "" || t.Shape == nil || len(offsets) != 2:
		return t, errors.New("want dtype, shape and two data_offsets")
	case len(t.Shape) > maxDims:
		return t, fmt.Errorf("%d dimensions, at most %d are supported", len(t.Shape), maxDims)
	}
	t.lo, t.hi = offsets[0], offsets[1]
	if t.lo < 0 || t.hi < t.lo {
		return t, fmt.Errorf("data_offsets %v", offsets)
	}
	return t, t.checkLen()
}

// checkLen compares the length in bytes with the shape, minding overflow.
func (i Info) checkLen() error {
	n, ok := sizes[i.DType]
	if !ok {
		return nil
	}
	empty := slices.Contains(i.Shape, 0)
	for _, d := range i.Shape {
		if d < 0 || d > math.MaxInt32 {
			return fmt.Errorf("shape %v", i.Shape)
		}
		if d > 0 && n > math.MaxInt64/int64(d) {
			return fmt.Errorf("shape %v is too large", i.Shape)
		}
		n *= int64(max(d, 1))
	}
	if empty {
		n = 0
	}
	if i.hi-i.lo != n {
		return fmt.Errorf("%v takes %d bytes, the offsets leave %d", i, n, i.hi-i.lo)
	}
	return nil
}
