package audio

import (
	"errors"
	"fmt"
	"io"
)

// A shape describes the samples of a source.
type shape struct {
	rate     int   // Hz
	channels int   // 1 or more
	promised int64 // frames according to the file; 0 if it does not say, or not reliably
	skip     int64 // frames to drop at the start
}

// Rates outside these limits are treated as damage: below, a few bytes would be hours of audio; above, one
// output sample would take thousands of products.
const (
	minRate = 1000
	maxRate = 1_000_000
)

// maxChannels is the largest channel count that a WAV file can state.
const maxChannels = 65535

func (s shape) check() error {
	switch {
	case s.rate < minRate || s.rate > maxRate:
		return unsupported("sample rate", fmt.Sprintf("%d to %d Hz", minRate, maxRate), "%d Hz", s.rate)
	case s.channels < 1 || s.channels > maxChannels:
		return malformed("channels", fmt.Sprintf("1 to %d", maxChannels), "%d", s.channels)
	}
	return nil
}

// seconds returns the time of a frame.
func (s shape) seconds(frame int64) float64 { return float64(frame) / float64(s.rate) }

// at names the place of a frame, for errors.
func (s shape) at(frame int64) string {
	return fmt.Sprintf("sample %d (%.3f s)", frame, s.seconds(frame))
}

// longestGap bounds the silence, in frames, for lost bytes: a minute, plus what the bytes can hold. A damaged
// number, or a recording that begins in the middle of a stream, could claim days.
func (s shape) longestGap(bytes int64) int64 { return int64(s.rate) * (60 + bytes/32) }

// A packet is the unit of data that a container passes to a decoder. Positions count the samples of each
// channel by the container's clock; -1 means unknown.
type packet struct {
	data    []byte
	start   int64  // position of its first sample
	end     int64  // position after its last sample
	limit   int64  // position where the sound ends, if that may be within the packet
	discard uint64 // nanoseconds to drop at its end
	lost    hole   // what is missing before it
}

func newPacket(data []byte) packet { return packet{data: data, start: -1, end: -1, limit: -1} }

// A hole is missing sound: why, and how many bytes. The zero hole is none.
type hole struct {
	why   error
	bytes int64
}

// add adds what is missing right after the hole.
func (h *hole) add(o hole) {
	if h.why == nil {
		h.why = o.why
	}
	h.bytes += o.bytes
}

// pop returns the hole and clears it.
func (h *hole) pop() hole {
	t := *h
	*h = hole{}
	return t
}

// A container reads the packets of one track of sound in a file, or in one link of a chained file. Packets
// carry the container's clock, so that a late start and gaps show, and what is missing before them. The
// container chooses the track when it is opened.
type container interface {
	// next returns the next packet, or io.EOF after the last.
	next() (packet, error)
	// ending reports how the stream ended, after io.EOF.
	ending() ending
}

// An ending is what the end of a stream shows.
type ending struct {
	cut      bool  // the file ends within the sound
	nextLink int64 // where the next link of a chained file begins; 0 without one
	unread   error // why bytes after the sound, which may be sound, are not read; or nil
}

// A codec decodes the packets of one track.
type codec interface {
	shape() shape
	// decode returns the interleaved samples of one packet, nominally in [-1, 1] and valid until the next call;
	// none for a header.
	decode(p packet) ([]float64, error)
}

// A source is the sound of one link of a file: a container reads packets, a codec decodes them. Silence replaces
// packets that are missing or cannot be decoded; the container's clock gives its length.
type source struct {
	damageLog
	open func() (container, codec, error) // reads the headers
	dec  codec
	in   container
	stop error // why no more packets come

	pos    int64 // samples of each channel decoded or lost so far
	base   int64 // position of the first of them, by the container's clock
	placed bool  // base is known
	frames int64 // frames read
	quiet  int64 // frames of silence to read before pcm
	pcm    []float64

	lost    hole      // before waiting; its length is not yet known
	waiting []float64 // samples decoded after it
	bad     int       // packets in a row that could not be decoded
}

// A damageLog is the damage that reading a source has shown. It is complete at the end.
type damageLog struct {
	ending
	gaps []gap // in order; at most maxGaps
}

// A gap is a stretch whose sound is lost. Silence replaces it, if its length is known.
type gap struct {
	from, to int64 // frames
	why      error
}

// maxGaps bounds the list of gaps; the last one covers all later ones.
const maxGaps = 100

// addGap adds a gap, or extends the last one.
func (l *damageLog) addGap(from, to int64, why error) {
	if n := len(l.gaps); n > 0 && (l.gaps[n-1].to == from || n == maxGaps) {
		l.gaps[n-1].to = to
		return
	}
	l.gaps = append(l.gaps, gap{from, to, why})
}

func newSource(open func() (container, codec, error)) (*source, error) {
	s := &source{open: open}
	return s, s.rewind()
}

func (s *source) shape() shape { return s.dec.shape() }

// rewind opens the source again, so that the next read starts at the beginning.
func (s *source) rewind() (err error) {
	defer catch("headers", &err)
	*s = source{open: s.open}
	if s.in, s.dec, err = s.open(); errors.Is(err, io.EOF) {
		return malformed("headers", "more packets", "the end of the file")
	}
	return err
}

// read returns up to n frames: one sample of every channel each, interleaved, nominally in [-1, 1]. They are
// valid until the next call. At the end it returns none and io.EOF.
func (s *source) read(n int) (pcm []float64, err error) {
	for s.quiet == 0 && len(s.pcm) == 0 {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	ch := s.shape().channels
	if s.quiet > 0 {
		pcm = make([]float64, min(s.quiet, int64(n))*int64(ch))
		s.quiet -= int64(len(pcm) / ch)
	} else {
		pcm = s.pcm[:min(len(s.pcm), n*ch)]
		s.pcm = s.pcm[len(pcm):]
	}
	s.frames += int64(len(pcm) / ch)
	return pcm, nil
}

// next decodes one packet.
func (s *source) next() error {
	var p packet
	if s.stop == nil {
		p, s.stop = s.in.next()
	}
	if s.stop == io.EOF {
		if s.lost.why != nil {
			s.fill(-1, -1, 0)
			return nil
		}
		s.ending = s.in.ending()
	}
	if s.stop != nil {
		return s.stop
	}
	s.lost.add(p.lost)
	pcm, err := s.decode(p)
	if err != nil {
		return err
	}
	shape := s.shape()
	pcm = pcm[:max(0, len(pcm)-int(p.discard*uint64(shape.rate)/1e9)*shape.channels)]
	n := int64(len(pcm) / shape.channels)
	if p.start >= 0 && n > 0 {
		p.end = p.start + n
	}
	if s.lost.why == nil {
		if p.end > 0 && (!s.placed || p.start >= 0) {
			s.base, s.placed = max(0, p.end-s.pos-n), true
		}
		s.emit(pcm, p.limit, n)
		return nil
	}
	s.waiting = append(s.waiting, pcm...)
	if p.end > 0 || len(s.waiting) > maxWaiting {
		s.fill(p.end, p.limit, n)
	}
	return nil
}

// maxWaiting bounds the samples that wait for the length of a hole before them.
const maxWaiting = 1 << 22

// fill emits silence for the hole, then the samples that waited for its length. end is the position after those
// samples, or -1 if it is unknown; limit and last are those of emit.
func (s *source) fill(end, limit, last int64) {
	shape, lost, waiting := s.shape(), s.lost.pop(), s.waiting
	s.waiting = nil
	n, most := int64(0), shape.longestGap(lost.bytes)
	if end >= 0 {
		n = max(0, end-s.base-s.pos-int64(len(waiting)/shape.channels))
	}
	if n > most && !s.placed && lost.bytes == 0 {
		s.base += n // a recording that begins in the middle of a stream
	} else {
		n = min(n, max(most, shape.promised-s.frames))
		s.quiet = max(0, s.pos+n-max(s.pos, shape.skip))
		s.addGap(s.frames, s.frames+s.quiet, lost.why)
		s.pos += n
	}
	s.placed = true
	s.emit(waiting, limit, last)
}

// emit queues samples for read. It drops those before the start, and those after limit if limit lies within the
// last packet, which has last samples. An earlier limit is wrong: emit ignores it, as ffmpeg does for Vorbis.
func (s *source) emit(pcm []float64, limit, last int64) {
	ch := int64(s.shape().channels)
	n := int64(len(pcm)) / ch
	first, end := s.pos, s.pos+n
	s.pos = end
	if limit -= s.base; limit >= end-last {
		end = min(end, limit)
	}
	from := min(max(s.shape().skip-first, 0), n)
	to := max(min(end-first, n), from)
	if pcm = pcm[from*ch : to*ch]; s.quiet > 0 || len(s.pcm) > 0 {
		pcm = append(s.pcm, pcm...)
	}
	s.pcm = pcm
}

// After maxBadPackets failed packets in a row, the file is refused.
const maxBadPackets = 50

// decode decodes one packet. One that cannot be decoded becomes a hole.
func (s *source) decode(p packet) (pcm []float64, err error) {
	func() {
		defer catch("packet", &err)
		pcm, err = s.dec.decode(p)
	}()
	if err == nil {
		s.bad = 0
		return pcm, nil
	}
	thing := "packet at " + s.shape().at(s.frames)
	if s.bad++; s.bad >= maxBadPackets {
		return nil, malformed(thing, "", "%s, as in the %d before it", cause(err), s.bad-1)
	}
	s.lost.add(hole{why: malformed(thing, "", "%s", cause(err))})
	return nil, nil
}

// cause returns the text of a decoder's error, without our prefix.
func cause(err error) string {
	var f *FormatError
	if errors.As(err, &f) {
		return f.Got
	}
	return fmt.Sprint(err)
}

// catch turns a panic of a decoder library into an error, since the input is untrusted.
func catch(what string, err *error) {
	if p := recover(); p != nil {
		*err = malformed(what, "", "decoder failed: %v", p)
	}
}

// noEOF turns io.EOF into an error where more must follow.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
