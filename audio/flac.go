package audio

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"
)

// A flacReader finds and decodes the frames of a file, with mewkiz/flac. After a damaged one it continues with
// the next intact frame; the numbers of the frames show how much is missing.
type flacReader struct {
	info   *meta.StreamInfo
	buf    []float64 // samples of the last frame
	file   *file
	in     byteReader
	at     int64 // of the next frame
	number int64 // number of its first sample; -1: any
	block  int64 // samples of a frame, if all have as many
	tries  int   // frames tried after damage
	cut    bool  // sound is missing at the end
	unread error // why what follows is not read
}

// openFLAC opens a FLAC file. The library does not read ahead in a buffered reader, so the first frame is where
// it stops after the header.
func openFLAC(file *file) (_ container, _ codec, err error) {
	defer catch("FLAC header", &err)
	f := &flacReader{file: file, in: file.readerAt(0), number: -1}
	// The first block must be STREAMINFO (type 0, 34 bytes). It is checked here because the library would read
	// and allocate any other block first.
	head, _ := f.in.Peek(8)
	if len(head) < 8 || head[4]&0x7f != 0 || !hasAt(head, 5, "\x00\x00\x22") {
		return nil, nil, malformed("FLAC header", "a STREAMINFO block of 34 bytes", "% x", head)
	}
	stream, err := flac.New(f.in.Reader)
	if err != nil {
		return nil, nil, malformed("FLAC header", "", "%v", noEOF(err))
	}
	f.info, f.at = stream.Info, f.in.at()
	return f, f, nil
}

func (f *flacReader) shape() shape {
	return shape{rate: int(f.info.SampleRate), channels: int(f.info.NChannels), promised: int64(f.info.NSamples)}
}

// frame decodes one frame.
func (f *flacReader) frame(r io.Reader) (fr *frame.Frame, err error) {
	defer catch("FLAC frame", &err)
	if fr, err = frame.Parse(r); err != nil {
		return nil, unprefixed(noEOF(err))
	}
	s := f.shape()
	switch {
	case fr.SampleRate != 0 && int(fr.SampleRate) != s.rate:
		return nil, unsupported("FLAC frame", fmt.Sprintf("%d Hz as before", s.rate), "%d Hz", fr.SampleRate)
	case len(fr.Subframes) != s.channels:
		return nil, unsupported("FLAC frame", fmt.Sprintf("%d channels as before", s.channels), "%d", len(fr.Subframes))
	}
	bits := cmp.Or(int(fr.BitsPerSample), int(f.info.BitsPerSample))
	ch, n := s.channels, len(fr.Subframes[0].Samples)
	f.buf = slices.Grow(f.buf[:0], n*ch)[:n*ch]
	scale := math.Ldexp(1, 1-bits)
	for c, s := range fr.Subframes {
		if len(s.Samples) != n {
			return nil, malformed("FLAC frame", fmt.Sprintf("%d samples in every channel", n), "%d", len(s.Samples))
		}
		for i, v := range s.Samples {
			f.buf[i*ch+c] = float64(v) * scale
		}
	}
	return fr, nil
}

// unprefixed returns an error of the library without the name of its function.
func unprefixed(err error) error {
	if err == io.ErrUnexpectedEOF {
		return errors.New("the end of the file")
	}
	if name, text, ok := strings.Cut(err.Error(), ": "); ok && strings.HasPrefix(name, "frame.") {
		return errors.New(text)
	}
	return err
}

// maxFLACFrame bounds the size of a frame after damage.
const maxFLACFrame = 4 << 20

func (f *flacReader) ending() ending { return ending{cut: f.cut, unread: f.unread} }

// decode returns the samples of the last frame, which next has decoded to find its end.
func (f *flacReader) decode(packet) ([]float64, error) { return f.buf, nil }

func (f *flacReader) next() (packet, error) {
	p, err := f.parse(f.at)
	if errors.Is(err, ErrMalformed) {
		return f.resume(err)
	}
	return p, err
}

// parse reads the frame at a place, where f.in is.
func (f *flacReader) parse(at int64) (packet, error) {
	thing := fmt.Sprintf("FLAC frame at byte %d", at)
	fr, err := f.frame(f.in)
	switch {
	case errors.Is(err, ErrUnsupported):
		return packet{}, err
	case err != nil:
		return packet{}, malformed(thing, "", "%s", cause(err))
	}
	p := newPacket(nil)
	p.start = int64(fr.Num)
	if fr.HasFixedBlockSize {
		if info := f.info; f.block == 0 && info.BlockSizeMin == info.BlockSizeMax {
			f.block = int64(info.BlockSizeMax) // only the last frame has fewer
		}
		f.block = max(f.block, int64(fr.BlockSize))
		p.start *= f.block
	}
	if p.start > f.number && (f.number >= 0 || f.info.NSamples > 0) && p.start > 0 {
		p.lossCause = malformed(thing, fmt.Sprintf("sample %d", max(f.number, 0)), "sample %d", p.start)
	}
	f.at, f.number = f.in.at(), p.start+int64(fr.BlockSize)
	return p, nil
}

// resume finds the first intact frame after damage. Without one the sound ends: nothing is missing if padding
// or a tag follows.
func (f *flacReader) resume(why error) (packet, error) {
	head := f.file.head(f.at)
	if hasAt(head, 0, "fLaC") {
		f.unread = malformed(fmt.Sprintf("byte %d", f.at), "the end of the file", "another file")
	}
	if tagSize(head) > 0 || f.unread != nil {
		return packet{}, f.finish(why)
	}
	for at := f.at + 1; ; at++ {
		if at = f.file.find(at, "\xff", isFLACFrame); at < 0 {
			return packet{}, f.finish(why)
		}
		if f.tries++; f.tries > maxDamage {
			return packet{}, malformed("FLAC frames", fmt.Sprintf("at most %d damaged ones", maxDamage), "more")
		}
		f.in = f.file.readerTo(at, at+maxFLACFrame)
		p, err := f.parse(at)
		f.in = f.file.readerAt(f.at)
		if err == nil || !errors.Is(err, ErrMalformed) {
			p.lossCause = why
			return p, err
		}
	}
}

// isFLACFrame reports whether head begins a frame. Forbidden values are checked first: the library allocates
// before it finds them, and prints that some rates were not tested.
//
// Source: RFC 9639, 9.1.
func isFLACFrame(head []byte) bool {
	if len(head) < 6 || head[0] != 0xff || head[1]&^1 != 0xf8 {
		return false
	}
	size, rate, channels, bits := head[2]>>4, head[2]&0xf, head[3]>>4, head[3]>>1&7
	if size == 0 || rate == 0xf || channels > 10 || bits == 3 || bits == 7 || head[3]&1 != 0 {
		return false
	}
	_, err := frame.New(bytes.NewReader(head))
	return err == nil
}

// finish ends the stream, whose last frame lies before f.at.
func (f *flacReader) finish(why error) error {
	if f.number < 0 {
		return why // there is no frame at all
	}
	total := int64(f.info.NSamples)
	f.cut = (total == 0 || f.number < total) && f.unread == nil && !f.file.padding(f.at)
	return io.EOF
}
