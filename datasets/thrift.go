package datasets

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// headers reads headers and footers of a Parquet file. parquet-go makes room for as many items and
// bytes as they say they have, so each is walked over first.
//
// Source: Thrift, thrift-compact-protocol.md.
type headers struct {
	in            *io.SectionReader
	r             *bufio.Reader // where the next one begins
	thrift.Reader               // of r
	again         *bufio.Reader
	items         int // that may follow
}

func newHeaders(in io.ReaderAt, at, size int64) *headers {
	h := &headers{in: io.NewSectionReader(in, at, size), again: bufio.NewReader(nil)}
	h.r = bufio.NewReader(h.in)
	h.Reader = new(thrift.CompactProtocol).NewReader(h.r)
	return h
}

// at returns how many bytes have been read.
func (h *headers) at() int64 {
	n, _ := h.in.Seek(0, io.SeekCurrent)
	return n - int64(h.r.Buffered())
}

// next decodes a header whose lists have so many items in all at most.
func (h *headers) next(v any, items int) error {
	from := h.at()
	h.items = items
	if err := h.skip(thrift.STRUCT, 0); err != nil {
		return err
	}
	h.again.Reset(io.NewSectionReader(h.in, from, h.at()-from))
	return thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(h.again)).Decode(v)
}

// skip walks over a value inside so many others.
func (h *headers) skip(t thrift.Type, depth int) (err error) {
	const deepest = 16 // Parquet's own have half of it
	if depth > deepest {
		return fmt.Errorf("more than %d values inside one another", deepest)
	}
	switch t {
	case thrift.I8:
		_, err = h.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = h.ReadInt64()
	case thrift.DOUBLE:
		_, err = h.ReadFloat64()
	case thrift.BINARY:
		var n int
		if n, err = h.ReadLength(); err == nil {
			if left := h.in.Size() - h.at(); int64(n) > left {
				return fmt.Errorf("a value of %d bytes where %d are left", n, left)
			}
			_, err = h.r.Discard(n)
		}
	case thrift.LIST, thrift.SET:
		var l thrift.List
		if l, err = h.ReadList(); err == nil {
			err = h.skipItems(int(l.Size), depth, l.Type)
		}
	case thrift.MAP:
		var m thrift.Map
		if m, err = h.ReadMap(); err == nil {
			err = h.skipItems(int(m.Size), depth, m.Key, m.Value)
		}
	case thrift.STRUCT:
		for {
			f, err := h.ReadField()
			if err != nil || f.Type == thrift.STOP {
				return err
			}
			if f.Type == thrift.TRUE || f.Type == thrift.FALSE {
				continue
			}
			if err := h.skip(f.Type, depth+1); err != nil {
				return err
			}
		}
	default:
		err = errors.New("a value of an unknown type")
	}
	return err
}

func (h *headers) skipItems(n, depth int, types ...thrift.Type) error {
	room := n
	if types[0] == thrift.STRUCT { // of half a kilobyte at most
		room *= 4
	}
	if h.items -= room; h.items < 0 {
		return errors.New("too many items: want fewer row groups or columns")
	}
	for range n {
		for _, t := range types {
			var err error
			if t == thrift.TRUE || t == thrift.FALSE {
				_, err = h.ReadBool()
			} else {
				err = h.skip(t, depth+1)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
