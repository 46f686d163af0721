package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
		return nil, malformed("header of %d bytes in a file of %d: the file is cut off", n, len(b))
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
		return nil, malformed("tensors take %d bytes, the file has %d: the file is cut off", end, len(data))
	}
	return entries, nil
}

// parseHeader reads the JSON of the header. Of two equal names the last counts, and the data
// of the first is a gap.
func parseHeader(b []byte) (infos []info, err error) {
	var header map[string]json.RawMessage
	if err := json.Unmarshal(b, &header); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrMalformed, err)
	}
	if len(header) > maxTensors {
		return nil, malformed("header: more than %d tensors", maxTensors)
	}
	delete(header, "__metadata__")
	for _, name := range slices.Sorted(maps.Keys(header)) { // in order, for the same error each time
		t, err := parseInfo(name, header[name])
		if err != nil {
			return nil, fmt.Errorf("%w: header: %.80q: %w", ErrMalformed, name, err)
		}
		infos = append(infos, t)
	}
	return infos, nil
}

// headerEntry is the description of a tensor in the header.
type headerEntry struct {
	DType   string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// parseInfo reads one tensor's entry and checks that its length fits its shape.
func parseInfo(name string, b []byte) (info, error) {
	var entry headerEntry
	err := json.Unmarshal(b, &entry)
	switch {
	case err != nil:
		return info{}, err
	case entry.DType == "" || entry.Shape == nil || len(entry.Offsets) != 2:
		return info{}, errors.New("want dtype, shape and two data_offsets")
	case len(entry.Shape) > maxDims:
		return info{}, fmt.Errorf("shape of %d dimensions, want at most %d", len(entry.Shape), maxDims)
	}
	t := info{name, entry.DType, entry.Shape, entry.Offsets[0], entry.Offsets[1]}
	if t.lo < 0 || t.hi < t.lo {
		return t, fmt.Errorf("data_offsets %v", entry.Offsets)
	}
	return t, t.checkLen()
}

// checkLen compares the length in bytes with the shape.
func (i info) checkLen() error {
	n, fits := weights.Volume(i.shape)
	if slices.Contains(i.shape, 0) {
		n, fits = 0, slices.Min(i.shape) == 0
	}
	if !fits {
		return fmt.Errorf("shape %v", i.shape)
	}
	size, ok := sizes[i.dtype]
	if want := int64(n) * size; ok && i.hi-i.lo != want {
		return fmt.Errorf("%v %s takes %d bytes, the offsets leave %d", i.shape, i.dtype, want, i.hi-i.lo)
	}
	return nil
}
