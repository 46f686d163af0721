package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Programs put tags before, between and after the sound of any format: ID3 of both versions and APE.
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
	if b&0x80808080 != 0 { // some programs write all eight bits
		size = 10 + int64(b)
	}
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

// trim cuts off the end of a file what only its own end shows: an APE tag without a header, a Lyrics3 tag, and an ID3v1
// tag after that.
func (f *file) trim() {
	if f.pipe != nil || f.size < 128+32 {
		return
	}
	if hasAt(f.head(f.size-128), 0, "TAG") {
		f.size -= 128
	}
	if b := f.head(f.size - 32); len(b) == 32 && hasAt(b, 0, "APETAGEX") && b[23]&0xa0 == 0 {
		f.size = max(0, f.size-int64(binary.LittleEndian.Uint32(b[12:])))
	}
	if end := f.head(f.size - 9); hasAt(end, 0, "LYRICSEND") || hasAt(end, 0, "LYRICS200") {
		const longest = 5100 // of version 1
		from := max(0, f.size-longest)
		b, _ := f.bytes(from, f.size-from)
		if at := bytes.LastIndex(b, []byte("LYRICSBEGIN")); at >= 0 {
			f.size = from + int64(at)
		}
	}
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
