package audio

import (
	"encoding/binary"
	"fmt"
)

// auCodes are the encodings of Sun's AU format that are uncompressed samples.
var auCodes = map[uint32]struct {
	code pcmCode
	bits int
}{
	1: {pcmMuLaw, 8}, 2: {pcmSigned, 8}, 3: {pcmSigned, 16}, 4: {pcmSigned, 24}, 5: {pcmSigned, 32},
	6: {pcmFloat, 32}, 7: {pcmFloat, 64}, 27: {pcmALaw, 8},
}

// auHeader is the length of the fixed part: magic, offset of the samples, their size, encoding, rate and
// channels, 32 bits each, most significant byte first.
const auHeader = 24

// auLayout reads the header of a Sun AU (NeXT .snd) file.
func auLayout(f *file) (l pcmLayout, err error) {
	if f.size < auHeader {
		return l, malformed("AU header", fmt.Sprintf("%d bytes", auHeader), "%d", f.size)
	}
	b, err := f.bytes(0, auHeader)
	if err != nil {
		return l, err
	}
	l, offset, claimed, err := parseAU(b)
	if err != nil {
		return l, err
	}
	if offset > f.size {
		return l, malformed("offset of the samples",
			fmt.Sprintf("at most the %d bytes of the file", f.size), "%d", offset)
	}
	l.place(offset, f.size-offset, f.unwrapped(offset, claimed, chunkForm{}))
	return l, nil
}

// parseAU reads a header. claimed is -1 where the size of the samples is unknown.
func parseAU(b []byte) (l pcmLayout, offset, claimed int64, err error) {
	be := binary.BigEndian
	offset, claimed = int64(be.Uint32(b[4:])), int64(be.Uint32(b[8:]))
	if claimed == 0xffffffff || claimed == 0 { // a program wrote to a pipe, or did not come to its end
		claimed = -1
	}
	code, channels := be.Uint32(b[12:]), be.Uint32(b[20:])
	c, ok := auCodes[code]
	switch {
	case !hasAt(b, 0, ".snd"):
		return l, 0, 0, malformed("AU header", `".snd"`, "% x", b[:4])
	case offset < auHeader:
		return l, 0, 0, malformed("offset of the samples", fmt.Sprintf("at least %d", auHeader), "%d", offset)
	case !ok:
		return l, 0, 0, unsupported("AU encoding", "PCM, float, A-law or mu-law", "%d", code)
	}
	l = pcmLayout{
		code: c.code, big: true, container: c.bits / 8,
		rate: int(be.Uint32(b[16:])), channels: int(min(channels, maxChannels+1)),
	}
	return l, offset, claimed, l.check(c.bits)
}
