package audio

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// maxChunks bounds the walk over a file made of empty chunks.
const maxChunks = 1 << 16

// A fileChunk is a piece of a WAV, AIFF or CAF file. size is what the file has of the bytes that the header
// claims, so that no header can cause larger reads or allocations.
type fileChunk struct {
	id            string
	start, body   int64 // places of header and content
	claimed, size int64
}

// at names the chunk in errors.
func (c *fileChunk) at() string { return fmt.Sprintf("%s chunk at byte %d", c.id, c.start) }

// A chunkForm is how a format writes chunks. The zero form has none.
type chunkForm struct {
	order binary.ByteOrder // of sizes
	width int64            // bytes of a size. If it is 4, chunks begin at even places
	sound string           // id of the chunk that holds samples
}

// chunks walks over the chunks from a place to the end of the file. The loop may correct the size of a chunk.
func (f *file) chunks(at int64, o chunkForm) iter.Seq2[*fileChunk, error] {
	return func(yield func(*fileChunk, error) bool) {
		for n := 0; at+4+o.width <= f.size; n++ {
			head, err := f.bytes(at, 4+o.width)
			if err == nil && n == maxChunks {
				err = malformed("chunks", fmt.Sprintf("at most %d before the sound", maxChunks), "more")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			c := &fileChunk{id: string(head[:4]), start: at, body: at + 4 + o.width}
			if c.claimed = int64(o.order.Uint32(head[4:])); o.width == 8 {
				c.claimed = int64(o.order.Uint64(head[4:]))
			}
			c.size = min(c.claimed, f.size-c.body)
			if !yield(c, nil) {
				return
			}
			if at = c.body + c.size; o.width == 4 {
				at += c.size & 1
			}
		}
	}
}

// unwrapped returns how many bytes of sound begin at a place if a header of 32 bits claims some: more by a multiple
// of 4 GiB if that is where the file ends, or another chunk begins. Writers let sizes wrap around.
func (f *file) unwrapped(at, claimed int64, o chunkForm) int64 {
	const wrap = 1 << 32
	if f.stream != nil || claimed < 0 || f.size-at-claimed < wrap {
		return claimed
	}
	whole := claimed + (f.size-at-claimed)/wrap*wrap
	end := at + whole
	if padded := end + end&1; end == f.size || o.width == 4 && (padded == f.size || f.isChunk(padded, o)) {
		return whole
	}
	return claimed
}

// isChunk reports whether a whole chunk begins at a place, neither one of sound nor another file.
func (f *file) isChunk(at int64, o chunkForm) bool {
	if o.order == nil || formatOf(f.head(at)) != nil {
		return false
	}
	for c, err := range f.chunks(at, o) {
		return err == nil && c.claimed >= 0 && c.claimed == c.size && c.id != o.sound && isText([]byte(c.id))
	}
	return false
}
