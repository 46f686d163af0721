package audio

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// maxChunks bounds the walk over a file made of empty chunks.
const maxChunks = 1 << 16

// An iffChunk is a piece of a WAV, AIFF or CAF file. size is what the file has of what the header
// claims, so that no header can cause larger reads or allocations.
type iffChunk struct {
	id            string
	start, body   int64 // places of header and content
	claimed, size int64
}

// at names the chunk in errors.
func (c *iffChunk) at() string { return fmt.Sprintf("%s chunk at byte %d", c.id, c.start) }

// An iffTail says what chunks may lie behind the sound of a file.
type iffTail struct {
	order binary.ByteOrder // nil: there are none
	width int64            // bytes of their sizes
	form  int64            // where the file ends by its header; 0 if it does not say
	sound string           // id of those that hold sound
}

// behind returns where the chunks from a place on end, and what is wrong with the last one. It is
// another file if it begins like one, and none if it does not lie within this one.
func (f *file) behind(at int64, tail iffTail) (end int64, err error) {
	if tail.order == nil {
		return at, nil
	}
	if tail.width == 4 {
		at += at & 1
	}
	for c, err := range f.chunks(at, tail.order, tail.width) {
		if err != nil {
			break
		}
		if c.claimed < 0 || c.claimed != c.size || !isText([]byte(c.id)) || c.start >= tail.form && formatOf(f.head(c.start)) != nil {
			return c.start, nil
		}
		if c.id == tail.sound && c.size > 0 {
			return c.start, malformed(c.at(), "one of sound", "another")
		}
		if at = c.body + c.size; tail.width == 4 {
			at += at & 1
		}
	}
	return min(max(at, tail.form), f.size), nil
}

// chunks goes through the chunks from a place to the end of the file. Their sizes are written
// with so many bytes: after four, the next begins at an even place. Who receives a chunk may
// correct its size.
func (f *file) chunks(at int64, order binary.ByteOrder, width int64) iter.Seq2[*iffChunk, error] {
	return func(yield func(*iffChunk, error) bool) {
		for n := 0; at+4+width <= f.size; n++ {
			head, err := f.bytes(at, 4+width)
			if err == nil && n == maxChunks {
				err = malformed("chunks", fmt.Sprintf("at most %d before the sound", maxChunks), "more")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			c := &iffChunk{id: string(head[:4]), start: at, body: at + 4 + width}
			if c.claimed = int64(order.Uint32(head[4:])); width == 8 {
				c.claimed = int64(order.Uint64(head[4:]))
			}
			c.size = min(c.claimed, f.size-c.body)
			if !yield(c, nil) {
				return
			}
			if at = c.body + c.size; width == 4 {
				at += c.size & 1
			}
		}
	}
}

// besides returns what finds the chunks of a file before and behind those of its sound. Behind it they
// end where the file does by its header, or later at the end of all, unless it was cut.
func besides(first int64, order binary.ByteOrder, width int64, sound string) func(*file) []stretch {
	return func(f *file) []stretch {
		form := f.size
		if width == 4 {
			form = 8 + int64(order.Uint32(f.head(4)))
		}
		for c, err := range f.chunks(first, order, width) {
			if err != nil {
				return nil
			}
			if c.id != sound {
				continue
			}
			body := c.body + max(0, c.size)
			if end, err := f.behind(body, iffTail{order, width, form, sound}); err == nil && (end == form || end == f.size && end > form) {
				return []stretch{{first, c.start}, {body, end}}
			}
			return []stretch{{first, c.start}}
		}
		return nil
	}
}
