package audio

import (
	"encoding/binary"
	"fmt"
	"math"
)

var cafChunks = chunkForm{binary.BigEndian, 8, "data"}

// cafLayout reads the header of a Core Audio file of uncompressed samples: chunks with a size of 64 bits, most
// significant byte first. desc comes first and describes data.
//
// Source: Apple, Core Audio Format Specification 1.0.
func cafLayout(f *file) (l pcmLayout, err error) {
	for c, err := range f.chunks(8, cafChunks) {
		switch {
		case err != nil:
			return l, err
		case c.id == "desc" && c.size < 32:
			return l, malformed(c.at(), "32 bytes", "%d", c.size)
		case c.id == "desc":
			b, err := f.bytes(c.body, 32)
			if err == nil {
				l, err = parseDesc(b)
			}
			if err != nil {
				return l, err
			}
		case c.id == "data" && l.rate == 0:
			return l, malformed(c.at(), "a desc chunk before it", "none")
		case c.id == "data":
			c.body += 4                      // an edit count
			c.claimed = max(c.claimed-4, -1) // none: to the end of the file
			l.chunks = cafChunks
			l.place(c.body, f.size-c.body, c.claimed)
			return l, nil
		}
		if c.claimed < 0 || c.claimed > c.size {
			return l, malformed(fmt.Sprintf("%q chunk at byte %d", c.id, c.start),
				fmt.Sprintf("at most %d bytes", f.size-c.body), "%d", c.claimed)
		}
	}
	return l, malformed("data chunk", "one", "none in %d bytes", f.size)
}

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
	l.container = int(bits+7) / 8
	if err := l.check(int(bits)); err != nil {
		return l, err
	}
	if perPacket != 0 && int(perPacket) != l.blockAlign() {
		return l, unsupported("bytes per packet",
			fmt.Sprintf("%d for %d channels of %d bits", l.blockAlign(), channels, bits), "%d", perPacket)
	}
	return l, nil
}
