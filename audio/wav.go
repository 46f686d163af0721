package audio

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/go-audio/audio"
	"github.com/go-audio/wav"
)

// Sample codes of a WAV file (wFormatTag) that are read.
const (
	tagPCM        = 0x0001
	tagFloat      = 0x0003
	tagALaw       = 0x0006
	tagMuLaw      = 0x0007
	tagExtensible = 0xfffe
)

// openWAV opens a RIFF, RF64 or BW64 file.
func openWAV(f *file) (container, codec, error) {
	l, err := wavLayout(f)
	if err != nil {
		return nil, nil, err
	}
	p := newPCM(f, l)
	if f.pipe != nil || !l.isPlain() {
		return p, p, nil
	}
	w := &wavReader{pcmReader: p, decoder: wav.NewDecoder(l.plain(f))}
	return w, w, nil
}

// wavLayout reads the header of a WAV file. The fmt chunk may come after the data, which some writers do and a
// seekable file allows.
func wavLayout(f *file) (l pcmLayout, err error) {
	format, data, promised, err := f.wavChunks()
	if err != nil {
		return l, err
	}
	b, err := f.bytes(format.body, min(format.size, 40))
	if err != nil {
		return l, err
	}
	err = l.parseFmt(b)
	if bad, ok := err.(*FormatError); ok {
		bad.Thing = fmt.Sprintf("fmt chunk at byte %d: %s", format.start, bad.Thing)
	}
	if err == nil {
		l.place(data.body, data.size, promised)
	}
	return l, err
}

// wavChunks returns the chunks of the format and of the sound, and how many bytes of it the header promises.
func (f *file) wavChunks() (format, data *riffChunk, promised int64, err error) {
	ds64 := int64(-1)
	for c, err := range f.chunks(12) {
		if err != nil {
			return nil, nil, 0, err
		}
		switch {
		case c.id == "ds64" && c.size >= 16:
			b, err := f.bytes(c.body, 16)
			if err != nil {
				return nil, nil, 0, err
			}
			ds64 = int64(min(binary.LittleEndian.Uint64(b[8:]), 1<<62))
		case c.id == "fmt " && format == nil && c.size < c.claimed:
			return nil, nil, 0, malformed(c.at(), fmt.Sprintf("the %d bytes its header states", c.claimed), "%d bytes", c.size)
		case c.id == "fmt " && format == nil:
			format = c
		case c.id == "data" && data == nil:
			data = c
			c.size, promised = f.dataBytes(c, ds64)
		}
		if format != nil && data != nil {
			break
		}
	}
	switch {
	case format == nil && data == nil && f.size < 20: // nothing of a chunk
		err = malformed("", "sound after the header", "the end of the file after %d bytes", f.size)
	case format == nil:
		err = malformed("fmt chunk", "one", "none in %d bytes", f.size)
	case data == nil:
		err = malformed("data chunk", "one", "none in %d bytes", f.size)
	}
	return format, data, promised, err
}

// isPlain reports whether go-audio/wav decodes the samples rightly: integers, all of which are there. It would read
// telephone codes and floats as integers, and it trusts sizes.
func (l pcmLayout) isPlain() bool {
	integers := l.code == pcmSigned || l.code == pcmUnsigned
	return integers && l.promised == l.frames && l.frames > 0 && l.frames*int64(l.blockAlign()) < math.MaxInt32
}

// plain returns a WAV file with nothing but the samples of f, for go-audio/wav, which allocates whatever other
// chunks claim. The library never seeks.
func (l pcmLayout) plain(f *file) io.ReadSeeker {
	size := l.frames * int64(l.blockAlign())
	head := WAVHeader(l.rate, l.channels, l.container, uint32(size))
	return struct {
		io.Reader
		io.Seeker
	}{Reader: io.MultiReader(bytes.NewReader(head), io.NewSectionReader(f, l.offset, size))}
}

// WAVHeader returns the header of a WAV file of integers of width bytes. A size of 1<<32 - 1 stands for sound whose
// length is not known yet.
func WAVHeader(rate, channels, width int, size uint32) []byte {
	frame, le := channels*width, binary.LittleEndian
	head := le.AppendUint32([]byte("RIFF"), uint32(min(36+uint64(size), math.MaxUint32)))
	head = le.AppendUint32(append(head, "WAVEfmt "...), 16)
	head = le.AppendUint16(le.AppendUint16(head, tagPCM), uint16(channels))
	head = le.AppendUint32(le.AppendUint32(head, uint32(rate)), uint32(rate*frame))
	head = le.AppendUint16(le.AppendUint16(head, uint16(frame)), uint16(8*width))
	return le.AppendUint32(append(head, "data"...), size)
}

// A wavReader decodes blocks of integer samples with go-audio/wav.
type wavReader struct {
	*pcmReader // the layout, the position, and what follows the samples
	decoder    *wav.Decoder
	block      audio.IntBuffer
}

func (w *wavReader) next() (packet, error) {
	channels := w.layout.channels
	n := int(w.nextFrames()) * channels
	if n == 0 {
		return packet{}, io.EOF
	}
	w.block.Data = slices.Grow(w.block.Data[:0], n)[:n]
	got, err := w.decoder.PCMBuffer(&w.block)
	if err != nil || got < channels {
		return packet{}, cmp.Or(err, io.EOF)
	}
	w.pos += int64(got / channels)
	w.block.Data = w.block.Data[:got/channels*channels]
	return newPacket(nil), nil
}

// decode scales the last block to [-1, 1]. Of 8 bits, 128 is silence.
func (w *wavReader) decode(packet) ([]float64, error) {
	bits, silence := 8*w.layout.container, 0.0
	if bits == 8 {
		silence = 128
	}
	scale := math.Ldexp(1, 1-bits)
	w.pcm = slices.Grow(w.pcm[:0], len(w.block.Data))[:len(w.block.Data)]
	for i, v := range w.block.Data {
		w.pcm[i] = (float64(v) - silence) * scale
	}
	return w.pcm, nil
}

// unknownRIFF is the smallest size of a data chunk that means "unknown". sox writes it to pipes; other programs
// write larger ones.
const unknownRIFF = 0x7ffff000

// dataBytes returns how many bytes of sound the data chunk c has, and how many its header promises; -1 means
// unknown. ds64 is the size in a ds64 chunk, which counts unless only the other one fits the file. Programs that write
// to a pipe cannot know the size and leave 0, 0xFFFFFFFF or something near 2 GiB; the sound then reaches to the end of
// the file. A size of 0 counts if another chunk follows.
func (f *file) dataBytes(c *riffChunk, ds64 int64) (size, promised int64) {
	const unknown = 0xffffffff
	rest := f.size - c.body
	switch {
	case ds64 > 0 && (c.claimed == unknown || c.claimed > rest || ds64 <= rest):
		return min(ds64, rest), ds64
	case c.claimed == unknown:
		return rest, -1
	case f.pipe == nil && rest-c.claimed >= 1<<32: // writers let sizes wrap around
		whole := rest - (rest-c.claimed)%(1<<32)
		return whole, whole
	case c.claimed == 0 && f.isChunk(c.body):
		return 0, 0
	case c.claimed == 0:
		return rest, -1
	case c.claimed >= unknownRIFF:
		return min(c.claimed, rest), -1
	}
	return min(c.claimed, rest), c.claimed
}

// parseFmt reads the body of a fmt chunk: PCMWAVEFORMAT (16 bytes), WAVEFORMATEX (18) or WAVEFORMATEXTENSIBLE
// (40).
func (l *pcmLayout) parseFmt(b []byte) (err error) {
	if len(b) < 16 {
		return malformed("size", "at least 16 bytes", "%d", len(b))
	}
	le := binary.LittleEndian
	tag := le.Uint16(b)
	l.channels, l.rate = int(le.Uint16(b[2:])), int(le.Uint32(b[4:]))
	align, bits := int(le.Uint16(b[12:])), int(le.Uint16(b[14:]))
	if tag == tagExtensible {
		if tag, err = subFormat(b); err != nil {
			return err
		}
	}
	l.container = (bits + 7) / 8
	if err := l.setCode(tag, bits); err != nil {
		return err
	}
	// An absent block size (0) follows from the rest; any other must agree. 24 bits in 4 bytes are well defined
	// only in the extensible form, which states 32 here.
	if align != 0 && align != l.blockAlign()&0xffff {
		return malformed("block size",
			fmt.Sprintf("%d bytes for %d channels of %d bits", l.blockAlign(), l.channels, bits), "%d", align)
	}
	return nil
}

// subFormat returns the code inside a WAVE_FORMAT_EXTENSIBLE header. Fewer valid bits than the container holds
// need no special case: they are the upper ones.
func subFormat(b []byte) (uint16, error) {
	if len(b) < 40 {
		return 0, malformed("WAVE_FORMAT_EXTENSIBLE header", "40 bytes", "%d", len(b))
	}
	if cb := binary.LittleEndian.Uint16(b[16:]); cb < 22 {
		return 0, malformed("WAVE_FORMAT_EXTENSIBLE header", "an extension of 22 bytes", "%d", cb)
	}
	// KSDATAFORMAT_SUBTYPE_*: the old code is the first field of a GUID.
	if !hasAt(b, 26, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71") {
		return 0, unsupported("sub-format", "PCM or float", "GUID % x", b[24:40])
	}
	return binary.LittleEndian.Uint16(b[24:]), nil
}

// setCode refuses codes and sample sizes that this package cannot read.
func (l *pcmLayout) setCode(tag uint16, bits int) error {
	switch tag {
	case tagPCM:
		if l.code = pcmSigned; bits <= 8 {
			l.code = pcmUnsigned
		}
	case tagFloat:
		l.code = pcmFloat
	case tagALaw:
		l.code = pcmALaw
	case tagMuLaw:
		l.code = pcmMuLaw
	default:
		return unsupported("WAV sample code", "PCM, float, A-law or mu-law", "0x%04x", tag)
	}
	return l.check(bits)
}

// maxChunks bounds the walk over a file made of empty chunks.
const maxChunks = 1 << 16

// A riffChunk is a piece of a WAV file. size is what the file has of the bytes that the header claims, so that
// no header can cause larger reads or allocations.
type riffChunk struct {
	id            string
	start, body   int64 // places of header and content
	claimed, size int64
}

// at names the chunk in errors.
func (c *riffChunk) at() string { return fmt.Sprintf("%s chunk at byte %d", c.id, c.start) }

// chunks walks over the chunks from a place to the end of the file. The loop may correct the size of a chunk.
func (f *file) chunks(at int64) iter.Seq2[*riffChunk, error] {
	return func(yield func(*riffChunk, error) bool) {
		for n := 0; at+8 <= f.size; n++ {
			head, err := f.bytes(at, 8)
			if err == nil && n == maxChunks {
				err = malformed("chunks", fmt.Sprintf("at most %d before the sound", maxChunks), "more")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			claimed := int64(binary.LittleEndian.Uint32(head[4:]))
			c := &riffChunk{id: string(head[:4]), start: at, body: at + 8, claimed: claimed}
			c.size = min(c.claimed, f.size-c.body)
			if !yield(c, nil) {
				return
			}
			at = c.body + c.size + c.size&1
		}
	}
}

// isChunk reports whether a whole chunk begins at a place, neither one of sound nor another file.
func (f *file) isChunk(at int64) bool {
	if formatOf(f.head(at)) != nil {
		return false
	}
	for c, err := range f.chunks(at) {
		return err == nil && c.claimed == c.size && c.id != "data" && isText([]byte(c.id))
	}
	return false
}
