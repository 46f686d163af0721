package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Tags that programs put before, between and behind the sound of any format: ID3 of both versions, APE, and
// Lyrics3, whose size only its end tells.

// maxTags bounds how many ID3 tags may stand before the sound.
const maxTags = 8

// skipID3 lets f begin behind any ID3 tags, and returns its first bytes.
func (f *file) skipID3() (head []byte, err error) {
	for range maxTags {
		if head = f.head(0); f.err != nil || !hasAt(head, 0, "ID3") && !isAPEHeader(head) {
			return head, f.err
		}
		n, at, tag := tagSize(head), f.from, f.tag
		why := malformed("ID3 tag", "sound behind it", "the end of the file after %d bytes", at+f.size)
		if n == f.size { // what it holds is no sound
			*f = *newFile(f.r, f.end, f.end)
			return nil, why
		}
		inside := newFile(f.r, at+9, f.end)                        // at the last byte of its header: look begins behind
		if b := f.head(n); tagSize(b) == 0 && formatOf(b) == nil { // its size may be wrong
			inside.look(1, min(n, inside.size))
		}
		switch {
		case inside.next && inside.size < n-9:
			*f = *newFile(f.r, inside.from+inside.size, f.end)
			f.tag = malformed("ID3 tag", fmt.Sprintf("at most %d, where sound begins", f.from-at), "%d bytes", n)
		case n < f.size:
			*f = *newFile(f.r, at+n, f.end)
			f.tag = tag
		default:
			return nil, why
		}
	}
	return nil, malformed("ID3 tags", fmt.Sprintf("at most %d", maxTags), "more")
}

// id3Size returns the length of the ID3v2 tag that head begins with: ten bytes
// and a size of four times seven bits, and a footer of ten bytes if a flag says so.
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

// tagSize returns the size of the tag that head begins with; 0 if it does with none.
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

// isAPEHeader reports whether head begins an APE tag, and is not the footer of one, which has the same magic.
func isAPEHeader(head []byte) bool {
	return hasAt(head, 0, "APETAGEX") && len(head) >= 32 && head[23]&0x20 != 0
}

// note adds the tags that begin in b, which lies at a place: whatever they hold is no file. Behind a tag
// there is another, a file, or nothing.
func (f *file) note(b []byte, at int64) {
	for i := 0; ; i++ {
		n := min(indexOr(b[i:], "ID3"), indexOr(b[i:], "APETAGEX"))
		if i += n; i >= len(b) {
			return
		}
		from, head := at+int64(i), b[i:]
		if f.owns(from) || isID3(head) == isAPEHeader(head) || tagSize(head) < 10+sniffLen { // too short to hold one
			continue
		}
		end := from + tagSize(head)
		if next := f.head(end); end == f.size || tagSize(next) > 0 || hasAt(next, 0, "LYRICS") || f.starts(next, end) || len(next) > 0 && allZero(next) {
			f.tags = append(f.tags, stretch{from + 1, end})
		}
	}
}

// indexOr returns where in b a magic is; len(b) if nowhere.
func indexOr(b []byte, magic string) int {
	if i := bytes.Index(b, []byte(magic)); i >= 0 {
		return i
	}
	return len(b)
}

// lastTag returns an APE tag at the end of all bytes, or before an ID3 tag there: it may have no header.
func (f *file) lastTag() []stretch {
	all := newFile(f.r, f.from, f.end)
	for _, at := range []int64{all.size - 32, all.size - 128 - 32} {
		b := all.head(max(at, 0))
		if hasAt(b, 0, "APETAGEX") && len(b) >= 32 && b[23]&0x20 == 0 && (at+32 == all.size || hasAt(b, 32, "TAG")) {
			return []stretch{{max(0, at+32-int64(binary.LittleEndian.Uint32(b[12:]))), all.size}}
		}
	}
	return nil
}

// tagged reports whether an ID3 tag that begins with head, at a place, lies before a file. It reads no more
// than some headers: in any data there may be many such beginnings.
func (f *file) tagged(head []byte, at int64) bool {
	if !isID3(head) {
		return false
	}
	at += id3Size(head)
	b := f.head(at)
	return f.starts(b, at) && (formatOf(b).kind != "mpeg" || f.kind != "mpeg")
}

// isID3 reports whether head begins an ID3v2 tag.
func isID3(head []byte) bool {
	return hasAt(head, 0, "ID3") && len(head) >= 10 && head[3] <= 4 && slices.Max(head[6:10]) < 0x80
}

// starts reports whether a file begins with b, at a place.
func (f *file) starts(b []byte, at int64) bool {
	if k := formatOf(b); k == nil || k.sure != nil || k.kind != "mpeg" {
		return k != nil && k.sure != nil && k.sure(b)
	}
	for h, n := (mpegHeader{}), 0; n < mpegRun; n++ {
		next, ok, err := parseMPEG(f.head(at))
		if !ok || err != nil || n > 0 && !next.like(h) {
			return false
		}
		h, at = next, at+int64(next.size)
	}
	return true
}

// padding reports whether there is nothing, a tag, or nothing but zeros from a place on.
func (f *file) padding(at int64) bool {
	head := f.head(at)
	if tagSize(head) > 0 || hasAt(head, 0, "LYRICS") || f.owns(at) {
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
