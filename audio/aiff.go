package audio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// aifcCodes are the compression types of AIFC that are uncompressed samples.
var aifcCodes = map[string]struct {
	code   pcmCode
	little bool
	bits   int // 0: as the COMM chunk has it
}{
	"NONE": {pcmSigned, false, 0}, "twos": {pcmSigned, false, 0}, "sowt": {pcmSigned, true, 0},
	"in24": {pcmSigned, false, 24}, "in32": {pcmSigned, false, 32},
	"42ni": {pcmSigned, true, 24}, "23ni": {pcmSigned, true, 32},
	"raw ": {pcmUnsigned, false, 8}, "fl32": {pcmFloat, false, 32}, "FL32": {pcmFloat, false, 32},
	"fl64": {pcmFloat, false, 64}, "FL64": {pcmFloat, false, 64},
	"alaw": {pcmALaw, false, 8}, "ALAW": {pcmALaw, false, 8},
	"ulaw": {pcmMuLaw, false, 8}, "ULAW": {pcmMuLaw, false, 8},
}

var aiffChunks = chunkForm{binary.BigEndian, 4, "SSND"}

// aiffLayout reads the header of an AIFF or AIFC file: chunks as in a WAV file, but most significant byte
// first. COMM describes the samples, SSND holds them.
//
// Source: Apple, Audio Interchange File Format AIFF-C, draft of 1991.
func aiffLayout(f *file) (l pcmLayout, err error) {
	head, err := f.bytes(0, 12)
	if err != nil {
		return l, err
	}
	var comm []byte
	data, claimed := int64(-1), int64(0)
	for c, err := range f.chunks(12, aiffChunks) {
		switch {
		case err != nil: // returned below
		case c.id == "COMM" && comm == nil:
			comm, err = f.bytes(c.body, min(c.size, 22))
		case c.id == "SSND" && data < 0:
			var skip [8]byte // offset of the samples in the chunk, and a block size that is always 0
			if n, _ := f.ReadAt(skip[:], c.body); n < 8 {
				return l, malformed(c.at(), "8 bytes", "%d", n)
			}
			offset := int64(binary.BigEndian.Uint32(skip[:]))
			if data, claimed = c.body+8+offset, c.claimed-8-offset; data > f.size || c.claimed > 8 && claimed < 0 {
				return l, malformed(c.at(), fmt.Sprintf("samples within its %d bytes", c.claimed), "some at offset %d", offset)
			}
		}
		if err != nil {
			return l, err
		}
		if comm != nil && data >= 0 {
			break
		}
	}
	if comm == nil {
		return l, malformed("COMM chunk", "one", "none in %d bytes", f.size)
	}
	l, err = parseCOMM(comm, string(head[8:]))
	if err != nil {
		return l, err
	}
	if data < 0 {
		if binary.BigEndian.Uint32(comm[2:]) > 0 {
			return l, malformed("SSND chunk", "one", "none in %d bytes", f.size)
		}
		data = f.size
	}
	claimed = f.unwrapped(data, claimed, aiffChunks)
	// Programs that write to a pipe leave the size at 0 or at its largest.
	if claimed <= 0 || claimed >= math.MaxInt32-4096 && claimed <= math.MaxUint32 {
		l.place(data, f.size-data, -1)
	} else {
		l.place(data, f.size-data, claimed)
		l.promised = max(l.promised, int64(binary.BigEndian.Uint32(comm[2:])))
		l.chunks = aiffChunks
	}
	return l, nil
}

// parseCOMM reads channels, frames, bits and rate, the last as an 80-bit float, and for AIFC the compression.
func parseCOMM(b []byte, form string) (l pcmLayout, err error) {
	if len(b) < 18 {
		return l, malformed("COMM chunk", "at least 18 bytes", "%d", len(b))
	}
	be := binary.BigEndian
	l = pcmLayout{big: true, channels: int(be.Uint16(b)), rate: extended(b[8:18])}
	bits := int(be.Uint16(b[6:]))
	if form == "AIFC" && len(b) >= 22 {
		c, ok := aifcCodes[string(b[18:22])]
		if !ok {
			return l, unsupported("AIFC compression", "none, A-law or mu-law", "%q", b[18:22])
		}
		l.code, l.big = c.code, !c.little
		if c.bits > 0 {
			bits = c.bits
		}
	}
	l.container = (bits + 7) / 8
	return l, l.check(bits)
}

// extended returns an 80-bit float rounded to an integer; 0 if it cannot be a rate.
func extended(b []byte) int {
	exponent := int(binary.BigEndian.Uint16(b)) - 16383
	if exponent < 0 || exponent > 30 {
		return 0
	}
	return int(math.Round(math.Ldexp(float64(binary.BigEndian.Uint64(b[2:])), exponent-63)))
}
