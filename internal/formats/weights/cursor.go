package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A Cursor reads a binary file from front to back, little-endian. After the first read
// past the end it returns zeros, and Err has the position of that read.
type Cursor struct {
	b   []byte
	at  int
	err error
}

// NewCursor returns a cursor at the front of b.
func NewCursor(b []byte) *Cursor { return &Cursor{b: b} }

// errEnd is the cause if a file ends too early.
var errEnd = errors.New("the file is cut off")

// Err returns the first error.
func (c *Cursor) Err() error { return c.err }

// At returns how many bytes have been read.
func (c *Cursor) At() int { return c.at }

// Left returns how many bytes follow.
func (c *Cursor) Left() int { return len(c.b) - c.at }

// Bytes returns the next n bytes, a view of the file.
func (c *Cursor) Bytes(n int) []byte {
	if c.err != nil {
		return nil
	}
	if len(c.b) == 0 {
		c.err = errors.New("the file is empty")
		return nil
	}
	if n < 0 || n > c.Left() {
		c.err = fmt.Errorf("%w at byte %d: want %d bytes more, got %d", errEnd, c.at, n, c.Left())
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at : c.at]
}

// number returns the next n bytes, eight at most.
func (c *Cursor) number(n int) uint64 {
	var b [8]byte
	copy(b[:], c.Bytes(n))
	return binary.LittleEndian.Uint64(b[:])
}

// Uint8 returns the next byte.
func (c *Cursor) Uint8() int { return int(c.number(1)) }

// Uint16 returns the next two bytes.
func (c *Cursor) Uint16() int { return int(c.number(2)) }

// Int32 returns the next four bytes as a signed number.
func (c *Cursor) Int32() int { return int(int32(c.number(4))) }

// Uint32 returns the next four bytes as an unsigned number.
func (c *Cursor) Uint32() int64 { return int64(c.number(4)) }

// Volume returns the product of a shape, and false if a dimension is below 1 or the
// product is above 2³¹, more than any tensor of a model has.
func Volume(shape []int) (int, bool) {
	n := 1
	for _, d := range shape {
		if d < 1 || d > math.MaxInt32 || n > math.MaxInt32/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}
