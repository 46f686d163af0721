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
var errEnd = errors.New("the file ends here: cut off?")

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
	if n < 0 || n > c.Left() {
		c.err = fmt.Errorf("byte %d: want %d bytes more, got %d: %w", c.at, n, c.Left(), errEnd)
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at : c.at]
}

// Uint8 returns the next byte.
func (c *Cursor) Uint8() int {
	if b := c.Bytes(1); b != nil {
		return int(b[0])
	}
	return 0
}

// Uint16 returns the next two bytes.
func (c *Cursor) Uint16() int {
	if b := c.Bytes(2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

// Int32 returns the next four bytes as a signed number.
func (c *Cursor) Int32() int {
	if b := c.Bytes(4); b != nil {
		return int(int32(binary.LittleEndian.Uint32(b)))
	}
	return 0
}

// Uint32 returns the next four bytes as an unsigned number.
func (c *Cursor) Uint32() int64 {
	if b := c.Bytes(4); b != nil {
		return int64(binary.LittleEndian.Uint32(b))
	}
	return 0
}

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
