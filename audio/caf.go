package audio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// newCAF opens a Core Audio file of uncompressed samples: chunks with a size of 64
// bits, most significant byte first. desc comes first and says what data holds.
//
// Source: Apple, Core Audio Format Specification 1.0.
func newCAF(f *file) (source, error) {
	var l pcmLayout
	described := false
	at := int64(8)
	for range maxChunks {
		if at+12 > f.size {
			return nil, malformed("data chunk", "one", "none in %d bytes", f.size)
		}
		head, err := f.bytes(at, 12)
		if err != nil {
			return nil, err
		}
		id, length := string(head[:4]), int64(binary.BigEndian.Uint64(head[4:]))
		body := at + 12
		switch {
		case id == "desc":
			if length < 32 || body+32 > f.size {
				return nil, malformed(fmt.Sprintf("desc chunk at byte %d", at),
					"32 bytes", "%d", min(length, f.size-body))
			}
			if l, err = parseDesc(f.must(body, 32)); err != nil {
				return nil, err
			}
			described = true
		case id == "data" && !described:
			return nil, malformed(fmt.Sprintf("data chunk at byte %d", at), "a desc chunk before it", "none")
		case id == "data":
			body += 4        // an edit count
			if length >= 0 { // else to the end of the file
				length = max(length-4, 0)
			}
			l.place(body, f.size-body, length)
			return newPCM(f, l)
		}
		if length < 0 || length > f.size-body {
			return nil, malformed(fmt.Sprintf("%q chunk at byte %d", id, at),
				fmt.Sprintf("at most %d bytes", f.size-body), "%d", length)
		}
		at = body + length
	}
	return nil, malformed("chunks", fmt.Sprintf("at most %d", maxChunks), "more")
}

// isCAF reports whether head is a header of version 1 with its first chunk.
func isCAF(head []byte) bool { return hasAt(head, 4, "\x00\x01\x00\x00desc") }

// parseDesc reads a CAFAudioFormat.
func parseDesc(b []byte) (l pcmLayout, err error) {
	be := binary.BigEndian
	format, flags := string(b[8:12]), be.Uint32(b[12:])
	perPacket, channels, bits := be.Uint32(b[16:]), be.Uint32(b[24:]), be.Uint32(b[28:])
	if channels > maxChannels || bits > 64 {
		return l, malformed("desc chunk", "a channel count and sample size", "%d channels of %d bits", channels, bits)
	}
	l = pcmLayout{channels: int(channels)}
	if rate := math.Float64frombits(be.Uint64(b)); rate >= 1 && rate <= maxRate {
		l.rate = int(math.Round(rate))
	}
	switch format {
	case "lpcm":
		const float, little = 1, 2
		l.big = flags&little == 0
		if flags&float != 0 {
			l.code = pcmFloat
		}
	case "alaw":
		l.code, bits = pcmALaw, 8
	case "ulaw":
		l.code, bits = pcmMuLaw, 8
	default:
		return l, unsupported("Core Audio format", "lpcm, alaw or ulaw", "%q", format)
	}
	if err := (shape{rate: l.rate, channels: l.channels}).check(); err != nil {
		return l, err
	}
	l.container = int(bits+7) / 8
	if perPacket != 0 && int(perPacket) != l.blockAlign() {
		return l, unsupported("bytes per packet",
			fmt.Sprintf("%d for %d channels of %d bits", l.blockAlign(), channels, bits), "%d", perPacket)
	}
	return l, l.check(int(bits))
}
