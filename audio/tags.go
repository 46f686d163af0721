package audio

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
)

// Programs put tags before, between and after the sound of any format: ID3 of both versions, APE and Lyrics3.
// Tags hold pictures and even sound files, so they are skipped whole.

// maxTags bounds how many tags may stand on either side of the sound.
const maxTags = 8

// skipID3 moves the start of f after any tags, and returns its first bytes.
func (f *file) skipID3() (head []byte, err error) {
	for range maxTags {
		if head = f.head(0); f.err != nil || !hasAt(head, 0, "ID3") && !isAPEHeader(head) {
			return head, f.err
		}
		n := tagSize(head)
		if n >= f.size {
			return nil, malformed("ID3 tag", "sound after it", "the end of the file after %d bytes", f.from+f.size)
		}
		*f = *newFile(f.r, f.from+n, f.from+f.size)
	}
	return nil, malformed("ID3 tags", fmt.Sprintf("at most %d", maxTags), "more")
}

// id3Size returns the length of the ID3v2 tag that head begins with: ten bytes and a size of four times seven
// bits, and a footer of ten bytes if a flag says so.
func id3Size(head []byte) int64 {
	if len(head) < 10 {
		return 10
	}
	b := binary.BigEndian.Uint32(head[6:10])
	size := 10 + int64(b&0x7f|b>>1&0x3f80|b>>2&0x1fc000|b>>3&0xfe00000)
	if head[5]&0x10 != 0 {
		size += 10
	}
	return size
}

// tagSize returns the size of the tag that head begins with, or 0 without one.
func tagSize(head []byte) int64 {
	switch {
	case hasAt(head, 0, "ID3"):
		return id3Size(head)
	case hasAt(head, 0, "TAG"):
		return 128
	case isAPEHeader(head):
		return 32 + int64(binary.LittleEndian.Uint32(head[12:]))
	case hasAt(head, 0, "APETAGEX"): // a footer
		return 32
	}
	return 0
}

// isAPEHeader reports whether head begins an APE tag. Its footer has the same magic.
func isAPEHeader(head []byte) bool {
	return hasAt(head, 0, "APETAGEX") && len(head) >= 32 && head[23]&0x20 != 0
}

// trim cuts tags off the end of a file whose format states no size of its sound. Nothing is known of the end of
// a stream.
func (f *file) trim() {
	for range maxTags {
		n := int64(0)
		if f.stream == nil {
			n = f.lastTag()
		}
		if n <= 0 || n > f.size {
			return
		}
		f.size -= n
	}
}

// lastTag returns the size of the tag that ends the file, or 0 without one: ID3v1, an APE tag, which may have
// no header, or Lyrics3, which states its size at its end.
func (f *file) lastTag() int64 {
	b := make([]byte, min(128, f.size))
	f.read(b, f.size-int64(len(b)))
	if len(b) == 128 && hasAt(b, 0, "TAG") {
		return 128
	}
	if at := len(b) - 15; at >= 0 && hasAt(b, at+6, "LYRICS200") {
		size, _ := strconv.ParseInt(string(b[at:at+6]), 10, 64)
		return size + 15
	}
	if at := len(b) - 32; at >= 0 && hasAt(b, at, "APETAGEX") && !isAPEHeader(b[at:]) {
		size := int64(binary.LittleEndian.Uint32(b[at+12:])) // with its footer
		if b[at+23]&0x80 != 0 {
			size += 32 // its header
		}
		return size
	}
	return 0
}

// padding reports whether nothing, a tag, or nothing but zeros follows from a place to the end.
func (f *file) padding(at int64) bool {
	if tagSize(f.head(at)) > 0 {
		return true
	}
	b := make([]byte, 1<<12)
	for {
		n, err := f.ReadAt(b, at)
		if !allZero(b[:n]) || err != nil {
			return err == io.EOF && allZero(b[:n])
		}
		at += int64(n)
	}
}
