package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// sniffLen is how many bytes of a file a signature may look at.
const sniffLen = 40

// signatures tells formats we refuse by their first bytes, so that the refusal
// can name them. The first match wins.
var signatures = []struct {
	offset int
	magic  string
	name   string
}{
	{0, "RIFX", "a big-endian WAV file (RIFX)"},
	{0, "riff\x2e\x91\xcf\x11", "a Sony Wave64 file (w64)"},
	{8, "AVI ", "an AVI video"},
	{0, "FORM", "an AIFF file"},
	{0, ".snd", "a Sun AU file"},
	{0, "caff", "a Core Audio file (caf)"},
	{28, "OpusHead", "an Ogg Opus file"},
	{28, "\x01vorbis", "an Ogg Vorbis file"},
	{28, "\x7fFLAC", "FLAC in an Ogg container"},
	{0, "OggS", "an Ogg file"},
	{4, "ftyp", "an MP4 or M4A file"},
	{0, "\x1a\x45\xdf\xa3", "a Matroska or WebM file"},
	{0, "wvpk", "a WavPack file"},
	{0, "MAC ", "a Monkey's Audio file"},
	{0, "TTA1", "a True Audio file"},
	{0, "#!AMR", "an AMR file"},
	{0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a Windows Media file (wma)"},
	{0, "MThd", "a MIDI file"},
	{0, "NIST_1A", "a NIST SPHERE file"},
	{0, "FLV\x01", "a Flash video"},
	{0, "ID3", "an MP3 file"},
	{0, "\x0b\x77", "an AC-3 file"},
}

// sniff opens the right decoder for the first bytes of r.
func sniff(r io.ReaderAt, size int64) (source, error) {
	head, err := readHead(r, 0)
	if err != nil {
		return nil, err
	}
	switch {
	case isWAV(head):
		return newWAV(r, size)
	case hasAt(head, 0, "fLaC"):
		return newFLAC(r, size, 0)
	case hasAt(head, 0, "ID3"): // MP3 as a rule, but FLAC files carry such tags too
		start := id3Size(head)
		behind, err := readHead(r, start)
		if err == nil && hasAt(behind, 0, "fLaC") {
			return newFLAC(r, size, start)
		}
	}
	return nil, refuse(head)
}

func isWAV(head []byte) bool {
	return hasAt(head, 8, "WAVE") && (hasAt(head, 0, "RIFF") || hasAt(head, 0, "RF64") || hasAt(head, 0, "BW64"))
}

// hopeless reports whether sniff would refuse a file that begins with head,
// whatever follows.
func hopeless(head []byte) bool {
	return !isWAV(head) && !hasAt(head, 0, "fLaC") && !hasAt(head, 0, "ID3")
}

// refuse says what head is the beginning of, as far as we know.
func refuse(head []byte) error {
	const want = "WAV or FLAC"
	if len(head) == 0 {
		return malformed("", want, "an empty file")
	}
	for _, s := range signatures {
		if hasAt(head, s.offset, s.magic) {
			return unsupported("", want, "%s", s.name)
		}
	}
	// MPEG audio without a tag: eleven set bits, then a version, a layer, a
	// bitrate and a sampling rate that are not the reserved ones.
	if len(head) >= 3 && head[0] == 0xff && head[1]&0xe0 == 0xe0 {
		switch {
		case head[1]&0xf6 == 0xf0:
			return unsupported("", want, "an AAC file (ADTS)")
		case head[1]&0x18 != 0x08 && head[1]&0x06 != 0 && head[2]&0xf0 != 0xf0 && head[2]&0x0c != 0x0c:
			return unsupported("", want, "an MP3 file")
		}
	}
	if hasAt(head, 0, "RIFF") {
		if len(head) < 12 {
			return malformed("RIFF header", "12 bytes", "%d bytes", len(head))
		}
		return malformed("RIFF header", `the form "WAVE"`, "%q", head[8:12])
	}
	return unsupported("", want, "a file that begins with % x", head[:min(len(head), 12)])
}

// readHead returns up to sniffLen bytes of r from offset on.
func readHead(r io.ReaderAt, offset int64) ([]byte, error) {
	head := make([]byte, sniffLen)
	n, err := r.ReadAt(head, offset)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading the first bytes: %w", err)
	}
	return head[:n], nil
}

func hasAt(b []byte, offset int, magic string) bool {
	return len(b) >= offset && bytes.HasPrefix(b[offset:], []byte(magic))
}

// id3Size returns the length of the ID3v2 tag that head begins with: ten bytes
// and a size of four times seven bits.
func id3Size(head []byte) int64 {
	if len(head) < 10 {
		return 0
	}
	b := binary.BigEndian.Uint32(head[6:10])
	return 10 + int64(b&0x7f|b>>1&0x3f80|b>>2&0x1fc000|b>>3&0xfe00000)
}
