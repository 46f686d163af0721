package audio

import (
	"fmt"
	"io"

	"github.com/jfreymuth/vorbis"
)

// newOggVorbis opens Vorbis in an Ogg container.
func newOggVorbis(r io.ReaderAt, size int64) (source, error) {
	return newCoded(oggPackets(r, size), func(in packets) (codec, error) {
		var headers [3][]byte
		for i := range headers {
			p, err := in.next()
			if err != nil {
				return nil, err
			}
			headers[i] = p.data
		}
		return newVorbis(headers)
	})
}

// A vorbisCodec decodes Vorbis packets with jfreymuth/vorbis.
type vorbisCodec struct {
	dec vorbis.Decoder
	buf []float32
}

// newVorbis reads the three headers: identification, comments and setup. The
// library believes every size in them and would wait for ever on some trees of
// codes, so that they are checked first. It never sees the comments.
func newVorbis(headers [3][]byte) (*vorbisCodec, error) {
	if err := checkSetup(headers[2]); err != nil {
		return nil, err
	}
	headers[1] = []byte("\x03vorbis\x00\x00\x00\x00\x00\x00\x00\x00\x01")
	v := &vorbisCodec{}
	for _, h := range headers {
		if err := v.dec.ReadHeader(h); err != nil {
			return nil, malformed("Vorbis header", "", "%v", err)
		}
	}
	s := shape{rate: v.dec.SampleRate(), channels: v.dec.Channels()}
	if err := s.check(); err != nil {
		return nil, err
	}
	v.buf = make([]float32, v.dec.BufferSize())
	return v, nil
}

func (v *vorbisCodec) rate() int          { return v.dec.SampleRate() }
func (v *vorbisCodec) channels() int      { return v.dec.Channels() }
func (v *vorbisCodec) preskip() int64     { return 0 }
func (v *vorbisCodec) samples([]byte) int { return 0 }

func (v *vorbisCodec) decode(data []byte) ([]float32, error) {
	if vorbis.IsHeader(data) {
		return nil, nil
	}
	return v.dec.DecodeInto(data, v.buf)
}

// maxCodebook bounds the values of a codebook; encoders use some ten thousand.
const maxCodebook = 1 << 20

// checkSetup walks the codebooks of a setup header. Each must fit into memory, and
// its codes must be a full tree, or decoding could search it for ever.
//
// Source: Vorbis I specification, 3.2.1.
func checkSetup(b []byte) error {
	if !hasAt(b, 0, "\x05vorbis") {
		return malformed("Vorbis setup header", `"\x05vorbis"`, "% x", b[:min(len(b), 7)])
	}
	r := &lowBits{b: b[7:]}
	for i := range int(r.read(8)) + 1 {
		if err := checkCodebook(r); err != nil {
			return malformed(fmt.Sprintf("Vorbis codebook %d", i), "", "%v", err)
		}
	}
	return nil
}

func checkCodebook(r *lowBits) error {
	if sync := r.read(24); sync != 0x564342 {
		return fmt.Errorf("sync %06x", sync)
	}
	dims, entries := int(r.read(16)), int(r.read(24))
	if dims == 0 || entries == 0 || dims*entries > maxCodebook {
		return fmt.Errorf("%d entries of %d values", entries, dims)
	}
	if err := checkCodes(r, entries); err != nil {
		return err
	}
	switch lookup := r.read(4); lookup {
	case 0:
	case 1, 2:
		r.read(32)
		r.read(32)
		bits := int(r.read(4)) + 1
		r.read(1)
		n := dims * entries
		if lookup == 1 {
			n = 0
			for power(n+1, dims, entries) <= entries {
				n++
			}
		}
		r.skip(n * bits)
	default:
		return fmt.Errorf("lookup type %d", lookup)
	}
	if r.over {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// power returns base^n, or more than limit where it is more.
func power(base, n, limit int) int {
	p := 1
	for range n {
		if p *= base; p > limit || p == 1 {
			return p
		}
	}
	return p
}

// checkCodes reads the lengths of the codes. They make a full tree where the
// shares 2^-length sum to 1.
func checkCodes(r *lowBits, entries int) error {
	used, share := 0, uint64(0)
	add := func(length uint32, n int) {
		used += n
		share += uint64(n) << (32 - length)
	}
	if ordered := r.read(1) == 1; !ordered {
		sparse := r.read(1) == 1
		for range entries {
			if !sparse || r.read(1) == 1 {
				add(r.read(5)+1, 1)
			}
		}
	} else {
		length := r.read(5) + 1
		for done := 0; done < entries; length++ {
			bits := 0
			for (entries-done)>>bits > 0 {
				bits++
			}
			n := int(r.read(bits))
			if r.over || length > 32 || n > entries-done {
				return fmt.Errorf("codes of %d bits for %d of %d entries", length, n, entries-done)
			}
			add(length, n)
			done += n
		}
	}
	if share != 1<<32 && used != 1 {
		return fmt.Errorf("codes for %d entries that are no full tree", used)
	}
	return nil
}

// lowBits reads numbers of a few bits, lowest bit first.
type lowBits struct {
	b    []byte
	at   int  // bit
	over bool // more was read than there is
}

func (l *lowBits) read(n int) (v uint32) {
	for i := range n {
		if l.at>>3 >= len(l.b) {
			l.over = true
			return 0
		}
		v |= uint32(l.b[l.at>>3]>>(l.at&7)&1) << i
		l.at++
	}
	return v
}

func (l *lowBits) skip(n int) {
	l.at += n
	l.over = l.over || l.at > 8*len(l.b)
}
