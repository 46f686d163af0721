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

	"verity/internal/formats/sniff"
	"verity/internal/formats/weights"
	"verity/internal/tensor"
)

// What is read of a header takes some four times its length.
const (
	maxHeader  = 16 << 20 // bytes; large-v3 has 0.2 MB, upstream allows 100
	maxDims    = 8        // in a shape; no known format needs more
	maxTensors = 1 << 15  // in a file; large-v3 has 1,259
)

// ErrMalformed is the cause of every error about the content of a file.
var ErrMalformed = errors.New("malformed safetensors file")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// An info is a tensor's entry in the header.
type info struct {
	name  string
	dtype string // as spelled in the file: "F32", "F16", "BF16", "I64", …
	shape []int

	lo, hi int64 // byte range, counted from the end of the header
}

// dtypes are the types that a tensor.Tensor can have.
var dtypes = map[string]tensor.DType{
	"F32": tensor.F32, "F16": tensor.F16, "BF16": tensor.BF16, "I8": tensor.I8,
}

// sizes is the bytes per element of each type with whole bytes. Tensors of other types
// are listed without checking their length.
var sizes = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1,
	"I16": 2, "U16": 2, "F16": 2, "BF16": 2,
	"I32": 4, "U32": 4, "F32": 4,
	"I64": 8, "U64": 8, "F64": 8, "C64": 8,
}

// Parse checks the whole header of b and returns the tensors in file order. It is a
// weights.Parser.
func Parse(b []byte) ([]weights.Entry, error) {
	entries, err := parse(b)
	if err != nil {
		return nil, sniff.Hint(err, b)
	}
	return entries, nil
}

func parse(b []byte) ([]weights.Entry, error) {
	if len(b) < 8 {
		return nil, malformed("%d bytes, too short for a header", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	switch rest := uint64(len(b) - 8); {
	case n > maxHeader:
		return nil, malformed("header of %d bytes, at most %d are allowed", n, maxHeader)
	case n > rest:
		return nil, malformed("header of %d bytes in a file of %d: cut off?", n, len(b))
	}
	infos, err := parseHeader(b[8 : 8+n])
	if err != nil {
		return nil, err
	}
	return place(infos, b[8+n:])
}

// place sorts the tensors in file order and checks that they cover data.
func place(infos []info, data []byte) ([]weights.Entry, error) {
	slices.SortFunc(infos, func(a, b info) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi), cmp.Compare(a.name, b.name))
	})
	entries := make([]weights.Entry, 0, len(infos))
	var end int64
	for _, t := range infos {
		if t.lo != end {
			return nil, malformed("tensor %q begins at byte %d of the data, want %d: gap or overlap", t.name, t.lo, end)
		}
		if end = t.hi; end > int64(len(data)) {
			break
		}
		entries = append(entries, weights.Entry{Name: t.name, Shape: t.shape, Type: t.dtype,
			DType: dtypes[t.dtype], Data: data[t.lo:t.hi:t.hi]})
	}
	if end != int64(len(data)) {
		if n := len(infos); n > 0 {
			end = max(end, infos[n-1].hi)
		}
		return nil, malformed("tensors take %d bytes, the file has %d: cut off?", end, len(data))
	}
	return entries, nil
}

// parseHeader reads the JSON token by token, because decoding into a map would keep
// only the last of two equal names.
func parseHeader(b []byte) (infos []info, err error) {
	if len(b) == 0 || b[0] != '{' { // upstream allows no space before the brace
		return nil, malformed("the header does not begin with a brace")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	err = object(dec, func(name string) error {
		if name == "__metadata__" {
			return dec.Decode(new(map[string]string))
		}
		if len(infos) == maxTensors {
			return fmt.Errorf("more than %d tensors", maxTensors)
		}
		t, err := parseInfo(dec, name)
		infos = append(infos, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrMalformed, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, malformed("something follows the object in the header")
	}
	return infos, nil
}

// object reads a JSON object. It calls field after each key to read the value.
func object(dec *json.Decoder, field func(key string) error) error {
	if tok, err := dec.Token(); err != nil {
		return err
	} else if tok != json.Delim('{') {
		return fmt.Errorf("got a JSON %T, want an object", tok)
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key := tok.(string) // the decoder allows no other type
		if seen[key] {
			return fmt.Errorf("%.80q stands twice", key)
		}
		seen[key] = true
		if err := field(key); err != nil {
			return fmt.Errorf("%.80q: %w", key, err)
		}
	}
	_, err := dec.Token()
	return err
}

// parseInfo reads one tensor's entry and checks that its length fits its shape.
func parseInfo(dec *json.Decoder, name string) (info, error) {
	t := info{name: name}
	var offsets []int
	err := object(dec, func(key string) (err error) {
		switch key {
		case "dtype":
			err = dec.Decode(&t.dtype)
		case "shape":
			t.shape, err = numbers(dec, maxDims)
		case "data_offsets":
			offsets, err = numbers(dec, 2)
		default:
			err = errors.New("unknown field")
		}
		return err
	})
	switch {
	case err != nil:
		return t, err
	case t.dtype == "" || t.shape == nil || len(offsets) != 2:
		return t, errors.New("want dtype, shape and two data_offsets")
	}
	t.lo, t.hi = int64(offsets[0]), int64(offsets[1])
	if t.lo < 0 || t.hi < t.lo {
		return t, fmt.Errorf("data_offsets %v", offsets)
	}
	return t, t.checkLen()
}

// numbers reads a list of integers, and not more of them than most.
func numbers(dec *json.Decoder, most int) ([]int, error) {
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		return nil, cmp.Or(err, errors.New("want a list of integers"))
	}
	list := []int{}
	for dec.More() {
		if len(list) == most {
			return nil, fmt.Errorf("more than %d numbers", most)
		}
		var n int
		if err := dec.Decode(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	_, err := dec.Token()
	return list, err
}

// checkLen compares the length in bytes with the shape, safe against overflow.
func (i info) checkLen() error {
	n, ok := sizes[i.dtype]
	if !ok {
		return nil
	}
	empty := slices.Contains(i.shape, 0)
	for _, d := range i.shape {
		if d < 0 || d > math.MaxInt32 {
			return fmt.Errorf("shape %v", i.shape)
		}
		if d > 0 && n > math.MaxInt64/int64(d) {
			return fmt.Errorf("shape %v is too large", i.shape)
		}
		n *= int64(max(d, 1))
	}
	if empty {
		n = 0
	}
	if i.hi-i.lo != n {
		return fmt.Errorf("%v %s takes %d bytes, the offsets leave %d", i.shape, i.dtype, n, i.hi-i.lo)
	}
	return nil
}
