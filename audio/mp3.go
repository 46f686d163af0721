package audio

import (
	"encoding/binary"
	"fmt"
	"io"
)

// An mp3Source decodes MPEG audio layer III, many frames at a time: mp3Decoder. A frame that
// cannot be decoded or is missing becomes silence of its length.
type mp3Source struct {
	result
	file   *file
	first  mpegHeader // of all frames, except for bitrate and padding
	start  int64      // of the first frame with sound
	tag    xingTag
	frames *mpegFrames
	end    error             // why no more frames come; nil as long as they do
	lead   []mp3Frame        // those before the next, which decoders begin with
	ready  []mp3Frame        // decoded, not yet read
	coming func() []mp3Frame // waits for those after them; nil at the start
	at     int64             // samples decoded, with those to be dropped
	pos    int64             // samples given
	pcm    []byte            // of a frame, not yet read
	quiet  int64             // samples of silence to give before it
	bad    int               // frames without sound in a row
}

// decoderDelay is how many samples layer III decoders lag behind, one frame of the
// filter bank: 528, and one for the encoder's convention.
const decoderDelay = 529

// After maxBadFrames failed frames in a row, the file is refused.
const maxBadFrames = 50

func newMP3(file *file) (source, error) {
	m := &mp3Source{file: file}
	f := m.open(0)
	frame, at, _, err := f.next()
	if err == io.EOF {
		return nil, malformed("MPEG frame", "two that follow each other", "none in %d bytes", file.size)
	}
	if err != nil {
		return nil, err
	}
	m.first, m.start = f.header, at
	if tag, ok := parseXing(frame, f.header); ok {
		m.tag, m.start = tag, at+int64(len(frame))
	}
	return m, m.rewind()
}

func (m *mp3Source) open(at int64) *mpegFrames {
	return &mpegFrames{file: m.file, in: m.file.cursor(at), at: at, header: m.first}
}

func (m *mp3Source) shape() shape {
	return shape{rate: m.first.rate, channels: m.first.channels, promised: m.tag.samples}
}

func (m *mp3Source) rewind() error {
	*m = mp3Source{file: m.file, first: m.first, start: m.start, tag: m.tag, frames: m.open(m.start)}
	return nil
}

func (m *mp3Source) read(dst []float64) (int, error) {
	for len(m.pcm) == 0 && m.quiet == 0 {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	const both = 4 // bytes: the library always gives two channels
	ch := m.first.channels
	if m.quiet > 0 {
		n := min(m.quiet, int64(len(dst)/ch))
		clear(dst[:int(n)*ch])
		m.quiet -= n
		m.pos += n
		return int(n) * ch, nil
	}
	n := min(len(dst)/ch, len(m.pcm)/both)
	for i := range n {
		for c := range ch {
			dst[i*ch+c] = float64(int16(binary.LittleEndian.Uint16(m.pcm[i*both+2*c:]))) / (1 << 15)
		}
	}
	m.pcm = m.pcm[n*both:]
	m.pos += int64(n)
	return n * ch, nil
}

// next takes one frame into m.pcm, without samples before the start or behind the end of
// the sound.
func (m *mp3Source) next() error {
	if len(m.ready) == 0 {
		if err := m.decodeMore(); err != nil {
			return err
		}
	}
	f := m.ready[0]
	m.ready = m.ready[1:]
	spf := int64(m.first.samples())
	if f.lost != nil {
		// Bytes that are no frame: silence for as many frames as they could be.
		n := min((f.bytes+f.size/2)/f.size*spf, m.shape().longestGap(f.bytes))
		m.out.lose(m.pos, m.pos+n, f.lost)
		m.quiet, m.at = n, m.at+n
		return nil
	}
	if m.bad++; f.err == nil {
		m.bad = 0
	}
	if m.bad >= maxBadFrames {
		return malformed(fmt.Sprintf("MPEG frame at byte %d", f.at), "", "%v, as in the %d before it", f.err, m.bad-1)
	}
	from, to := min(max(m.tag.delay-m.at, 0), spf), spf
	if m.tag.exact && m.at < m.tag.total { // what lies behind the last frame that the tag counts, is sound
		to = max(from, min(to, m.tag.delay+m.tag.samples-m.at))
	}
	m.at += spf
	if m.pcm = f.pcm[4*from : 4*to]; f.err != nil {
		m.out.lose(m.pos, m.pos+to-from, malformed(fmt.Sprintf("MPEG frame at byte %d", f.at), "", "%v", f.err))
	}
	return nil
}

// An mpegHeader is the header of a frame of layer III.
type mpegHeader struct {
	low      bool // MPEG-2: half the rate, one granule a frame
	rate     int
	channels int
	size     int // of the frame in bytes, header included
	side     int // bytes of side information behind the header
	crc      int // bytes of checksum before that
}

// samples returns how many samples of each channel a frame holds.
func (h mpegHeader) samples() int {
	if h.low {
		return 576
	}
	return 1152
}

// like reports whether two frames can be of one stream.
func (h mpegHeader) like(o mpegHeader) bool {
	return h.low == o.low && h.rate == o.rate && h.channels == o.channels
}

// Kilobits per second of layer III, by index.
var (
	mpeg1Rates = [16]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	mpeg2Rates = [16]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
)

// parseMPEG reads a header. ok is false where there is none; err names what is not
// supported.
//
// Source: ISO/IEC 11172-3:1993 and 13818-3:1998, 2.4.1.3.
func parseMPEG(b []byte) (h mpegHeader, ok bool, err error) {
	if len(b) < 4 || !isMPEG(b) || b[3]&3 == 2 {
		return h, false, nil
	}
	version, layer := b[1]>>3&3, 4-int(b[1]>>1&3)
	switch {
	case layer != 3:
		return h, true, unsupported("MPEG audio", "layer III (MP3)", "layer %d", layer)
	case version == 0:
		return h, true, unsupported("MPEG audio", "version 1 or 2", "version 2.5")
	case b[2]>>4 == 0:
		return h, true, unsupported("MPEG audio", "a bitrate", "the free format")
	}
	h = mpegHeader{low: version == 2, channels: 2, side: 32}
	h.rate = [3]int{44100, 48000, 32000}[b[2]>>2&3]
	if b[3]>>6 == 3 {
		h.channels, h.side = 1, 17
	}
	kilobits, pad := mpeg1Rates[b[2]>>4], int(b[2]>>1&1)
	if h.low {
		h.rate /= 2
		h.side = [3]int{0, 9, 17}[h.channels]
		kilobits = mpeg2Rates[b[2]>>4]
		h.size = 72000*kilobits/h.rate + pad
	} else {
		h.size = 144000*kilobits/h.rate + pad
	}
	if b[1]&1 == 0 {
		h.crc = 2
	}
	return h, h.size > 4+h.crc+h.side, nil
}

// mpegFrames finds the frames of a file, up to the end or to where another file begins.
type mpegFrames struct {
	file   *file
	in     cursor
	at     int64      // of the next byte
	header mpegHeader // of the stream; rate 0 before the first frame
	cut    bool       // the file ended inside a frame
	joined int64      // where another file begins
}

// maxGap bounds the search for a frame, in bytes: pictures in tags may be large.
const maxGap = 16 << 20

// next returns the next frame, its place, and how many bytes before it are no frame nor a
// tag. A header counts if another follows where its frame ends, or nothing but a tag: the
// eleven bits that begin a header occur in any data.
func (f *mpegFrames) next() (frame []byte, at, lost int64, err error) {
	zeros, words := true, false // of the lost bytes: all zero, or a tag with the words of a song
	for range maxGap {
		head, _ := f.in.Peek(32)
		if len(head) < 4 {
			f.cut = f.header.rate != 0 && lost+int64(len(head)) > 0 && !(zeros && allZero(head)) && !words
			return nil, 0, 0, io.EOF
		}
		if n := tagSize(head); n > 0 && f.at+n <= f.file.size {
			f.at += n
			f.in = f.file.cursor(f.at)
			continue
		}
		h, ok, err := parseMPEG(head)
		if ok && err != nil && f.header.rate == 0 {
			return nil, 0, 0, err
		}
		if ok && err == nil {
			frame = f.take(h)
		}
		if f.joined > 0 {
			f.cut = lost > 0 && !zeros && !words
			return nil, 0, 0, io.EOF
		}
		if frame != nil {
			at = f.at
			f.at += int64(len(frame))
			return frame, at, lost, nil
		}
		zeros, words = zeros && head[0] == 0, words || lost == 0 && hasAt(head, 0, "LYRICS")
		f.in.Discard(1)
		f.at++
		lost++
	}
	return nil, 0, 0, malformed(fmt.Sprintf("byte %d", f.at), fmt.Sprintf("an MPEG frame within %d bytes", maxGap), "none")
}

// tagSize returns the size of the tag that head begins with; 0 if it does with none.
func tagSize(head []byte) int64 {
	switch {
	case hasAt(head, 0, "ID3"):
		return id3Size(head)
	case hasAt(head, 0, "TAG"):
		return 128
	case hasAt(head, 0, "APETAGEX") && len(head) >= 32:
		return 32 + int64(binary.LittleEndian.Uint32(head[12:]))
	}
	return 0
}

// take returns the frame that h is the header of, if it is one. It is none if it begins
// another file: with a table, or three frames of another kind.
func (f *mpegFrames) take(h mpegHeader) []byte {
	b, _ := f.in.Peek(h.size + 3*maxMPEGFrame)
	if len(b) < h.size {
		return nil
	}
	behind := b[h.size:]
	follows := runOf(behind, 1, h)
	if !follows && f.header.rate != 0 {
		other := formatOf(behind)
		follows = len(behind) < 4 || tagSize(behind) > 0 || hasAt(behind, 0, "LYRICS") ||
			other != nil && len(other.magic) >= 4 || runOf(behind, 3, mpegHeader{})
	}
	if !follows {
		return nil
	}
	if f.header.rate != 0 {
		_, table := parseXing(b[:h.size], h)
		if !h.like(f.header) {
			table = runOf(b, 3, mpegHeader{})
		}
		if table {
			f.joined = f.at
		}
		if table || !h.like(f.header) {
			return nil
		}
	} else {
		f.header = h
	}
	frame := append([]byte(nil), b[:h.size]...)
	f.in.Discard(h.size)
	return frame
}

// maxMPEGFrame is more bytes than a frame has: 144·320,000/32,000, and padding.
const maxMPEGFrame = 1500

// runOf reports whether b begins with n headers of frames that follow each other, like h if
// h is none of zeros.
func runOf(b []byte, n int, h mpegHeader) bool {
	for range n {
		next, ok, err := parseMPEG(b)
		if !ok || err != nil || h.rate != 0 && !next.like(h) {
			return false
		}
		h, b = next, b[min(next.size, len(b)):]
	}
	return true
}

// A xingTag is the content of the first frame of most files, which holds no sound.
type xingTag struct {
	samples int64 // of each channel in all; 0 if it does not say
	delay   int64 // samples to drop at the start
	exact   bool  // samples is to the sample: the encoder stated its padding
	total   int64 // samples in all frames that the tag counts
}

// parseXing reads the tag of Xing, which LAME extended, or Fraunhofer's, of which only
// the presence matters.
//
// Source: LAME's "Mp3 Info Tag rev 1"; the same samples are dropped as by ffmpeg.
func parseXing(frame []byte, h mpegHeader) (tag xingTag, ok bool) {
	if hasAt(frame, 36, "VBRI") {
		return tag, true
	}
	at := 4 + h.side // at the same place in frames with a checksum
	if !hasAt(frame, at, "Xing") && !hasAt(frame, at, "Info") {
		return tag, false
	}
	b := frame[at+4:]
	if len(b) < 4 {
		return tag, true
	}
	flags := binary.BigEndian.Uint32(b)
	b = b[4:]
	for bit, size := range []int{4, 4, 100, 4} {
		if flags&(1<<bit) == 0 {
			continue
		}
		if len(b) < size {
			return tag, true
		}
		if bit == 0 {
			tag.samples = int64(binary.BigEndian.Uint32(b)) * int64(h.samples())
			tag.total = tag.samples
		}
		b = b[size:]
	}
	if len(b) < 24 || b[0] == 0 { // without the name of an encoder
		return tag, true
	}
	v := int64(b[21])<<16 | int64(b[22])<<8 | int64(b[23])
	delay, padding := v>>12, v&0xfff
	tag.delay = delay + decoderDelay
	if total := tag.samples - delay - padding; tag.samples > 0 && total > 0 {
		tag.samples, tag.exact = total, true
	}
	return tag, true
}
