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

// wavBlock is how many bytes of sound are decoded at a time, at least one frame.
const wavBlock = 64 << 10

// A wavSource decodes WAV samples with go-audio/wav. That library believes every
// size in a header (70 bytes can make it allocate 4 GiB, which kills the
// process), loses alignment on short reads and cannot tell float from integer,
// so it never sees the file: each block of at most wavBlock bytes is handed over
// in memory behind a plain header of our own.
type wavSource struct {
	r      io.ReaderAt
	format wavFormat
	pos    int64 // next frame
	file   []byte
	ints   goaudio.IntBuffer
	mono   []float32 // decoded and not yet read
	decode func(int) float64
}

func newWAV(r io.ReaderAt, size int64) (source, error) {
	f, err := parseWAV(r, size)
	if err != nil {
		return nil, err
	}
	return &wavSource{r: r, format: f, decode: sampleDecoder(f)}, nil
}

func (w *wavSource) rate() int { return w.format.rate }

func (w *wavSource) rewind() error {
	w.pos, w.mono = 0, w.mono[:0]
	return nil
}

func (w *wavSource) read(dst []float32) (int, error) {
	if len(w.mono) == 0 {
		if w.pos == w.format.frames {
			return 0, io.EOF
		}
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, w.mono)
	w.mono = w.mono[n:]
	return n, nil
}

// fill decodes the next block into w.mono.
func (w *wavSource) fill() error {
	f := w.format
	frames := int(min(int64(max(1, wavBlock/f.blockAlign())), f.frames-w.pos))
	size := frames * f.blockAlign()
	if cap(w.file) < canonicalHeader+size {
		w.file = make([]byte, canonicalHeader+size)
	}
	w.file = w.file[:canonicalHeader+size]
	body := w.file[canonicalHeader:]
	at := f.offset + w.pos*int64(f.blockAlign())
	if n, err := w.r.ReadAt(body, at); n < size {
		return fmt.Errorf("reading %d bytes of sound at byte %d: got %d: %w", size, at, n, noEOF(err))
	}
	w.mono = w.mono[:0]
	if f.tag == tagFloat && f.container == 8 { // which the library does not know
		return w.mix(frames, func(i int) float64 {
			return math.Float64frombits(binary.LittleEndian.Uint64(body[8*i:]))
		})
	}
	data, err := w.ints8to32(frames * f.channels)
	if err != nil {
		return err
	}
	return w.mix(frames, func(i int) float64 { return w.decode(data[i]) })
}

const canonicalHeader = 44

// ints8to32 returns the n samples in w.file as the library reads them.
func (w *wavSource) ints8to32(n int) ([]int, error) {
	putCanonicalHeader(w.file, w.format)
	if cap(w.ints.Data) < n {
		w.ints.Data = make([]int, n)
	}
	w.ints.Data = w.ints.Data[:n]
	got, err := wav.NewDecoder(bytes.NewReader(w.file)).PCMBuffer(&w.ints)
	if err == nil && got != n {
		err = fmt.Errorf("got %d samples, want %d", got, n)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding WAV samples: %w", err)
	}
	return w.ints.Data, nil
}

// putCanonicalHeader writes the plainest header there is for the samples that
// follow it in b: one channel, since the library only cuts bytes into integers.
func putCanonicalHeader(b []byte, f wavFormat) {
	le := binary.LittleEndian
	size := uint32(len(b) - canonicalHeader)
	copy(b, "RIFF")
	le.PutUint32(b[4:], 36+size+size&1)
	copy(b[8:], "WAVEfmt ")
	le.PutUint32(b[16:], 16)
	le.PutUint16(b[20:], tagPCM)
	le.PutUint16(b[22:], 1)
	le.PutUint32(b[24:], uint32(f.rate))
	le.PutUint32(b[28:], uint32(f.rate*f.container))
	le.PutUint16(b[32:], uint16(f.container))
	le.PutUint16(b[34:], uint16(8*f.container))
	copy(b[36:], "data")
	le.PutUint32(b[40:], size+size&1)
}

// mix appends to w.mono the mean over the channels of each frame; at returns the
// i-th sample of the block. Only float files can hold what is not a number.
func (w *wavSource) mix(frames int, at func(i int) float64) error {
	ch := w.format.channels
	for i := range frames {
		sum := 0.0
		for c := range ch {
			v := at(i*ch + c)
			if !(math.Abs(v) <= math.MaxFloat32) {
				return w.notFinite(w.pos+int64(i), c, v)
			}
			sum += v
		}
		w.mono = append(w.mono, float32(sum/float64(ch)))
	}
	w.pos += int64(frames)
	return nil
}

func (w *wavSource) notFinite(frame int64, channel int, v float64) error {
	return malformed(fmt.Sprintf("sample %d (%.3f s), channel %d", frame, float64(frame)/float64(w.format.rate), channel+1),
		"a finite number", "%v", v)
}

// sampleDecoder returns the map from an integer of the library to a sample.
func sampleDecoder(f wavFormat) func(int) float64 {
	switch {
	case f.tag == tagFloat: // the library gives the bits
		return func(v int) float64 { return float64(math.Float32frombits(uint32(v))) }
	case f.tag == tagALaw:
		return func(v int) float64 { return float64(aLaw(byte(v))) / (1 << 15) }
	case f.tag == tagMuLaw:
		return func(v int) float64 { return float64(muLaw(byte(v))) / (1 << 15) }
	case f.container == 1: // unsigned
		return func(v int) float64 { return float64(v-128) / 128 }
	}
	scale := math.Ldexp(1, 1-8*f.container)
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

// noEOF turns the end of a file into an error where there must be more.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
