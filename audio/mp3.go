package audio

import (
	"encoding/binary"
	"fmt"
	"io"
)

// An mp3Reader gives the frames of MPEG audio layer III, decoded many at a time by mp3Decoder. Its clock counts
// frames: how many were lost with lost bytes is unknown.
type mp3Reader struct {
	first   mpegHeader // of all frames, except for bitrate, padding and checksum
	tag     xingTag
	frames  *mpegFrames
	end     error             // why no more frames come; nil as long as they do
	at      int64             // position after the last frame, in samples, including those that shape.skip drops
	preroll []mp3Frame        // the last of them, which decoders begin with
	ready   []mp3Frame        // decoded, not yet read
	wait    func() []mp3Frame // waits for those after them; nil at the start
	err     error             // why the last frame that was read could not be decoded
	pcm     []float64
}

// decoderDelay is how many samples the output of a layer III decoder lags: 528 in its filter bank, and one more
// by the convention of encoders.
const decoderDelay = 529

// openMP3 opens a file of MPEG audio layer III.
func openMP3(f *file) (container, codec, error) {
	f.trim()
	m := &mp3Reader{frames: &mpegFrames{file: f, in: f.readerAt(0)}}
	frame, at, _, err := m.frames.next()
	if err == io.EOF {
		err = malformed("MPEG frame", "two that follow each other", "none in %d bytes", f.size)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := (&mpegFrames{file: f, in: f.readerAt(0)}).checkIntensity(); err != nil {
		return nil, nil, err
	}
	tag, ok := parseXing(frame, m.frames.header)
	if m.first, m.tag = m.frames.header, tag; !ok { // it has sound
		m.frames.in = f.readerAt(at)
	}
	return m, m, nil
}

func (m *mp3Reader) shape() shape {
	return shape{rate: m.first.rate, channels: m.first.channels, promised: m.tag.samples, skip: m.tag.delay}
}

func (m *mp3Reader) ending() ending { return ending{cut: m.frames.cut, nextStream: m.frames.joined} }

func (m *mp3Reader) next() (packet, error) {
	if len(m.ready) == 0 {
		if err := m.decodeMore(); err != nil {
			return packet{}, err
		}
	}
	f := m.ready[0]
	m.ready, m.err = m.ready[1:], f.err
	return f.packet, nil
}

// decode converts the samples of the last frame, which the library always returns as two channels.
func (m *mp3Reader) decode(p packet) ([]float64, error) {
	m.pcm = m.pcm[:0]
	for at := 0; at < len(p.data); at += 4 {
		for c := range m.first.channels {
			m.pcm = append(m.pcm, float64(int16(binary.LittleEndian.Uint16(p.data[at+2*c:])))/(1<<15))
		}
	}
	return m.pcm, m.err
}

// An mpegHeader is the header of a frame of layer III.
type mpegHeader struct {
	low      bool // MPEG-2: half the rate, one granule a frame
	rate     int
	channels int
	size     int // of the frame in bytes, header included
	side     int // bytes of side information after the header
	crc      int // bytes of checksum before that

	intensity bool // one channel has the treble of both
}

// intensity is the bit for it in the last byte of the header of joint stereo.
const intensity = 0x10

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

// parseMPEG reads a header. ok is false where there is none; err names what is not supported.
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
	h.intensity = b[3]>>6 == 1 && b[3]&intensity != 0
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

// mpegFrames finds the frames of a file, up to its end or to the next of joined files.
type mpegFrames struct {
	file   *file
	in     byteReader
	header mpegHeader // of the stream; rate 0 before the first frame
	cut    bool       // the file ended inside a frame
	joined int64      // where the next of joined files begins

	intensity bool // a frame had intensity stereo
}

// maxGap bounds the search for a frame, in bytes: pictures in tags may be large.
const maxGap = 16 << 20

// next returns the next frame, its place, and how many bytes before it are neither a frame nor a tag. A header
// counts only if another, a tag or the end follows its frame: the eleven bits that begin a header occur in any
// data.
func (f *mpegFrames) next() (frame []byte, at, lost int64, err error) {
	zeros := true // all lost bytes are
	for range maxGap {
		head, _ := f.in.Peek(32)
		if len(head) < 4 {
			f.cut = f.header.rate != 0 && lost+int64(len(head)) > 0 && !(zeros && allZero(head))
			return nil, 0, 0, io.EOF
		}
		if n := tagSize(head); n > 0 && f.in.at()+n <= f.file.size {
			f.in.skip(n)
			continue
		}
		h, ok, err := parseMPEG(head)
		if ok && err != nil && f.header.rate == 0 {
			return nil, 0, 0, err
		}
		joined := false
		if ok && err == nil {
			frame, joined = f.frame(h)
		}
		if joined {
			f.joined, f.cut = f.in.at(), lost > 0 && !zeros
			return nil, 0, 0, io.EOF
		}
		if frame != nil {
			return frame, f.in.at() - int64(len(frame)), lost, nil
		}
		zeros = zeros && head[0] == 0
		f.in.Discard(1)
		lost++
	}
	return nil, 0, 0, malformed(fmt.Sprintf("byte %d", f.in.at()), fmt.Sprintf("an MPEG frame within %d bytes", maxGap), "none")
}

// frame reads the frame that begins at the reader with header h. The first frame sets f.header. It returns nil, and
// reads nothing, if the bytes are not a frame of this file: joined reports whether they begin the next of joined files,
// with a Xing tag or with three frames of another kind.
func (f *mpegFrames) frame(h mpegHeader) (frame []byte, joined bool) {
	b, _ := f.in.Peek(h.size + 3*maxMPEGFrame)
	if len(b) < h.size {
		return nil, false
	}
	after := b[h.size:]
	follows := runOf(after, 1, h)
	if !follows && f.header.rate != 0 {
		follows = len(after) < 4 || tagSize(after) > 0 || runOf(after, 3, mpegHeader{})
	}
	if !follows {
		return nil, false
	}
	if f.header.rate == 0 {
		f.header = h
	} else if !h.like(f.header) {
		return nil, runOf(b, 3, mpegHeader{})
	} else if _, joined = parseXing(b[:h.size], h); joined {
		return nil, true
	}
	frame = append([]byte(nil), b[:h.size]...)
	f.in.Discard(h.size)
	if h.intensity {
		// The library would scale the wrong channel, by the wrong numbers. Undone, the left channel has twice the
		// mean of both, and the right one nothing.
		frame[3] &^= intensity
		f.intensity = true
	}
	return frame, false
}

// checkIntensity refuses intensity stereo of MPEG-2, which the library cannot read: where one frame has it, nearly all
// do.
func (f *mpegFrames) checkIntensity() error {
	for range 20 {
		if _, _, _, err := f.next(); err != nil || !f.header.low {
			return nil // reading the file finds the error
		}
	}
	if f.intensity {
		return unsupported("MPEG-2 audio", "stereo of another kind", "intensity stereo")
	}
	return nil
}

// maxMPEGFrame is more than the bytes of a frame: 144·320,000/32,000, and padding.
const maxMPEGFrame = 1500

// runOf reports whether b begins with n consecutive frames, like h unless h is zero.
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

// parseXing reads the tag that Xing introduced and LAME extended. Of Fraunhofer's tag (VBRI) it reads nothing:
// ok alone reports it.
//
// Source: LAME's "Mp3 Info Tag rev 1". ffmpeg drops the same samples at the start and the end.
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
	// Decoders are late: with less padding than their delay, as by libshine, the last samples do not come out.
	if total := tag.samples - delay - max(padding, decoderDelay); tag.samples > 0 && total > 0 {
		tag.samples, tag.exact = total, true
	}
	return tag, true
}
