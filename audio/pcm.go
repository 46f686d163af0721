package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"
)

// A pcmCode is an encoding of uncompressed samples.
type pcmCode int

const (
	pcmSigned   pcmCode = iota // integers of 8 to 32 bits
	pcmUnsigned                // 8 bits, 128 is silence
	pcmFloat                   // 32 or 64 bits
	pcmALaw
	pcmMuLaw
)

// A pcmLayout says where the samples of a file lie and how they are written. The
// header it was read from has been checked against the file: all of the samples
// lie inside it.
type pcmLayout struct {
	code      pcmCode
	big       bool // most significant byte first
	container int  // bytes of one sample of one channel; fewer valid bits are the upper ones
	channels  int
	rate      int
	offset    int64 // of the samples
	frames    int64 // samples per channel
	promised  int64 // frames according to the header; 0 if unknown
	end       int64 // of the file, if its header says so
}

func (l pcmLayout) blockAlign() int { return l.channels * l.container }

// check refuses sizes that the code cannot have.
func (l pcmLayout) check(bits int) error {
	ok, want := false, ""
	switch l.code {
	case pcmSigned:
		ok, want = bits >= 1 && bits <= 32, "8, 16, 24 or 32"
	case pcmFloat:
		ok, want = bits == 32 || bits == 64, "32 or 64"
	default:
		ok, want = bits >= 1 && bits <= 8, "8"
	}
	if !ok {
		return unsupported("bits per sample", want, "%d", bits)
	}
	return nil
}

// place sets where the samples lie: at offset, in size bytes of a file, of which the
// header promises claimed; negative means unknown. A last frame that is cut off is
// dropped.
func (l *pcmLayout) place(offset, size, claimed int64) {
	align := int64(l.blockAlign())
	l.offset, l.frames = offset, max(size, 0)/align
	if l.promised = max(claimed, 0) / align; claimed >= 0 {
		l.end = offset + claimed
	}
}

// pcmBlock is how many bytes of sound are decoded at a time, at least one frame.
const pcmBlock = 64 << 10

// A pcmSource decodes uncompressed samples. Integers and 32-bit floats are converted by
// go-audio/wav. The library never sees the file: it trusts every size in a header (70
// bytes can make it allocate 4 GiB, which kills the process), loses alignment on short
// reads and cannot tell float from integer. So it gets each block in memory, behind a
// canonical header of 44 bytes.
type pcmSource struct {
	result
	r      io.ReaderAt
	layout pcmLayout
	pos    int64 // next frame
	block  []byte
	ints   goaudio.IntBuffer
	decode func(int) float64
}

func newPCM(r io.ReaderAt, l pcmLayout) (source, error) {
	if err := (shape{rate: l.rate, channels: l.channels}).check(); err != nil {
		return nil, err
	}
	return &pcmSource{result: result{outcome{end: l.end}}, r: r, layout: l, decode: l.decoder()}, nil
}

func (p *pcmSource) shape() shape {
	return shape{rate: p.layout.rate, channels: p.layout.channels, promised: p.layout.promised}
}

func (p *pcmSource) rewind() error {
	p.pos = 0
	return nil
}

func (p *pcmSource) read(dst []float64) (int, error) {
	l := p.layout
	if p.pos == l.frames {
		return 0, io.EOF
	}
	frames := min(int64(max(1, pcmBlock/l.blockAlign())), int64(len(dst)/l.channels), l.frames-p.pos)
	size := int(frames) * l.blockAlign()
	body, err := p.load(size)
	if err != nil {
		return 0, err
	}
	dst = dst[:int(frames)*l.channels]
	if l.container == 8 { // 64-bit floats, which the library does not know
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*i:]))
		}
	} else if err := p.cut(dst); err != nil {
		return 0, err
	}
	p.pos += frames
	return len(dst), nil
}

// load reads the next size bytes behind the space for a header in p.block, least
// significant byte first.
func (p *pcmSource) load(size int) ([]byte, error) {
	l := p.layout
	if cap(p.block) < canonicalHeader+size {
		p.block = make([]byte, canonicalHeader+size)
	}
	p.block = p.block[:canonicalHeader+size]
	body := p.block[canonicalHeader:]
	at := l.offset + p.pos*int64(l.blockAlign())
	if n, err := p.r.ReadAt(body, at); n < size {
		return nil, fmt.Errorf("reading %d bytes of sound at byte %d: got %d: %w", size, at, n, noEOF(err))
	}
	if l.big && l.container > 1 {
		swap(body, l.container)
	}
	return body, nil
}

// swap reverses every size bytes of b.
func swap(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}

const canonicalHeader = 44

// cut decodes the samples in p.block through the library.
func (p *pcmSource) cut(dst []float64) error {
	putCanonicalHeader(p.block, p.layout)
	if cap(p.ints.Data) < len(dst) {
		p.ints.Data = make([]int, len(dst))
	}
	p.ints.Data = p.ints.Data[:len(dst)]
	got, err := wav.NewDecoder(bytes.NewReader(p.block)).PCMBuffer(&p.ints)
	if err == nil && got != len(dst) {
		err = fmt.Errorf("got %d samples, want %d", got, len(dst))
	}
	if err != nil {
		return fmt.Errorf("decoding samples: %w", err)
	}
	for i, v := range p.ints.Data {
		dst[i] = p.decode(v)
	}
	return nil
}

// putCanonicalHeader writes the canonical WAV header for the samples that follow it in
// b. It states one channel: the library only converts bytes to integers.
func putCanonicalHeader(b []byte, l pcmLayout) {
	le := binary.LittleEndian
	size := uint32(len(b) - canonicalHeader)
	copy(b, "RIFF")
	le.PutUint32(b[4:], 36+size+size&1)
	copy(b[8:], "WAVEfmt ")
	le.PutUint32(b[16:], 16)
	le.PutUint16(b[20:], tagPCM)
	le.PutUint16(b[22:], 1)
	le.PutUint32(b[24:], uint32(l.rate))
	le.PutUint32(b[28:], uint32(l.rate*l.container))
	le.PutUint16(b[32:], uint16(l.container))
	le.PutUint16(b[34:], uint16(8*l.container))
	copy(b[36:], "data")
	le.PutUint32(b[40:], size+size&1)
}

// decoder returns the map from an integer of the library to a sample.
func (l pcmLayout) decoder() func(int) float64 {
	switch {
	case l.code == pcmFloat: // the library gives the bits
		return func(v int) float64 { return float64(math.Float32frombits(uint32(v))) }
	case l.code == pcmALaw:
		return func(v int) float64 { return float64(aLaw(byte(v))) / (1 << 15) }
	case l.code == pcmMuLaw:
		return func(v int) float64 { return float64(muLaw(byte(v))) / (1 << 15) }
	case l.code == pcmUnsigned:
		return func(v int) float64 { return float64(v-128) / 128 }
	case l.container == 1: // the library takes a byte for unsigned
		return func(v int) float64 { return float64(int8(v)) / 128 }
	}
	scale := math.Ldexp(1, 1-8*l.container)
	return func(v int) float64 { return float64(v) * scale }
}

// aLaw and muLaw expand a byte of telephone sound to 16 bits: a sign, three bits
// of exponent and four of mantissa.
//
// Source: ITU-T G.711 (1988), tables 1 and 2.
func aLaw(b byte) int {
	b ^= 0x55
	v := int(b&0x0f)<<4 + 8
	if e := b >> 4 & 7; e > 0 {
		v = (v + 0x100) << (e - 1)
	}
	if b&0x80 == 0 {
		return -v
	}
	return v
}

func muLaw(b byte) int {
	b = ^b
	v := (int(b&0x0f)<<3+0x84)<<(b>>4&7) - 0x84
	if b&0x80 != 0 {
		return -v
	}
	return v
}
