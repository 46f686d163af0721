package audio

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
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

// A pcmLayout is where the samples of a file lie and how they are written. Its header has been checked against
// the file: all samples lie inside it.
type pcmLayout struct {
	code      pcmCode
	container int // bytes of one sample of one channel; fewer valid bits are the upper ones
	channels  int
	rate      int
	offset    int64 // of the samples
	frames    int64 // samples per channel
	promised  int64 // frames according to the header; 0 if unknown
	end       int64 // of the samples in the file, if its header states it; else 0
}

func (l pcmLayout) blockAlign() int { return l.channels * l.container }

// check refuses impossible shapes, and sample sizes that the code does not have.
func (l pcmLayout) check(bits int) error {
	if err := (shape{rate: l.rate, channels: l.channels}).check(); err != nil {
		return err
	}
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

// place sets where the samples lie: at offset of a file that has rest bytes more. The header claims claimed
// bytes of samples; negative means unknown. An incomplete last frame is dropped.
func (l *pcmLayout) place(offset, rest, claimed int64) {
	align := int64(l.blockAlign())
	if claimed >= 0 {
		rest = min(rest, claimed)
	}
	l.offset, l.frames = offset, max(rest, 0)/align
	if l.promised = max(claimed, 0) / align; claimed >= 0 {
		l.end = offset + claimed
	}
}

// pcmBlock is how many bytes are decoded at a time, if that is a frame or more.
const pcmBlock = 1 << 14

// A pcmReader is container and codec of uncompressed samples, in blocks.
type pcmReader struct {
	file   *file
	layout pcmLayout
	pos    int64 // next frame
	block  []byte
	sample func([]byte) float64
	pcm    []float64
}

// openRaw opens samples without a header: 16 bits each, little-endian, one channel.
func openRaw(rate int) func(*file) (container, codec, error) {
	return func(f *file) (container, codec, error) {
		l := pcmLayout{code: pcmSigned, container: 2, channels: 1, rate: rate}
		l.place(0, f.size, -1)
		p := newPCM(f, l)
		return p, p, nil
	}
}

func newPCM(f *file, l pcmLayout) *pcmReader {
	return &pcmReader{file: f, layout: l, sample: l.decoder()}
}

func (p *pcmReader) shape() shape {
	return shape{rate: p.layout.rate, channels: p.layout.channels, promised: p.layout.promised}
}

func (p *pcmReader) ending() ending {
	l := p.layout
	if l.end > 0 {
		return ending{unread: p.unread()}
	}
	rest, align := max(0, p.file.size-l.offset), int64(l.blockAlign())
	whole := rest%align == 0 || align%2 == 1 && rest%align == 1 // a chunk may be padded
	return ending{cut: !whole}
}

// unread returns an error if more samples may follow the stated end: bytes that are neither a chunk, a tag nor
// zeros. A recorder that broke off leaves a stale size.
func (p *pcmReader) unread() error {
	l, f := p.layout, p.file
	at := l.end
	at += at & 1                                               // a chunk is padded
	b := make([]byte, min(l.rate/10*l.blockAlign(), pcmBlock)) // less is no sound
	n, _ := f.fill(b, at)
	for c, err := range f.chunks(at) {
		if err != nil || c.claimed != c.size || !isText([]byte(c.id)) {
			break
		}
		if c.id == "data" && c.size >= int64(len(b)) {
			return fmt.Errorf("a second %s", c.at())
		}
	}
	if n < len(b) || f.isChunk(at) || f.padding(at) || f.err != nil {
		return nil
	}
	return malformed(fmt.Sprintf("byte %d", at), "the end of the file", "bytes that no header accounts for")
}

// nextFrames returns how many frames to read next: a block, or less if less of a stream has arrived, but at
// least one; 0 at the end.
func (p *pcmReader) nextFrames() int64 {
	l, align := p.layout, int64(p.layout.blockAlign())
	bytes := min(pcmBlock, p.file.arrived(l.offset+p.pos*align))
	return min(max(1, bytes/align), l.frames-p.pos)
}

func (p *pcmReader) next() (packet, error) {
	align, frames := int64(p.layout.blockAlign()), p.nextFrames()
	at := p.layout.offset + p.pos*align
	p.block = slices.Grow(p.block[:0], int(frames*align))[:frames*align]
	n, _ := p.file.ReadAt(p.block, at)
	if frames = int64(n) / align; frames == 0 {
		return packet{}, io.EOF
	}
	p.pos += frames
	return newPacket(p.block[:frames*align]), nil
}

func (p *pcmReader) decode(packet packet) ([]float64, error) {
	size := p.layout.container
	n := len(packet.data) / size
	p.pcm = slices.Grow(p.pcm[:0], n)[:n]
	for i := range p.pcm {
		p.pcm[i] = p.sample(packet.data[i*size:][:size])
	}
	return p.pcm, nil
}

// decoder returns the map from the bytes of a sample to its value.
func (l pcmLayout) decoder() func([]byte) float64 {
	switch {
	case l.code == pcmALaw:
		return func(b []byte) float64 { return float64(ALaw(b[0])) }
	case l.code == pcmMuLaw:
		return func(b []byte) float64 { return float64(MuLaw(b[0])) }
	case l.code == pcmUnsigned:
		return func(b []byte) float64 { return (float64(b[0]) - 128) / 128 }
	}
	if l.code == pcmSigned && l.container == 2 { // the most common format
		return func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) / (1 << 15) }
	}
	bits := func(b []byte) (v uint64) { // in the uppermost bits, so that the sign is the top bit
		for _, c := range b {
			v = v>>8 | uint64(c)<<56
		}
		return v
	}
	switch {
	case l.code == pcmFloat && l.container == 8:
		return func(b []byte) float64 { return math.Float64frombits(bits(b)) }
	case l.code == pcmFloat:
		return func(b []byte) float64 { return float64(math.Float32frombits(uint32(bits(b) >> 32))) }
	}
	return func(b []byte) float64 { return float64(int64(bits(b))) / (1 << 63) }
}

// ALaw and MuLaw return the sample of a byte of G.711, telephone sound, from -1 to 1.
func ALaw(b byte) float32  { return float32(aLaw(b)) / (1 << 15) }
func MuLaw(b byte) float32 { return float32(muLaw(b)) / (1 << 15) }

// aLaw and muLaw expand a byte of telephone sound to 16 bits: a sign, three bits of exponent and four of
// mantissa.
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
