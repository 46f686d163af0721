package audio

import (
	"cmp"
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

const (
	// clockTolerance is how far, as a part of a second, the container's clock may be off the samples before
	// they are moved. Clocks of milliseconds and of recorders are never exact. ffmpeg's resampler has the same.
	clockTolerance = 10
	// maxSilence bounds the silence, in seconds, that the container's clock asks for in one source: six hours.
	// A hostile clock could ask for years.
	maxSilence = 6 * 3600
	// maxFirstLoss bounds the loss, in seconds, before the first sound. A recording that begins amid a stream
	// has not lost what came before.
	maxFirstLoss = 60
)

// A packet is the unit of data that a container passes to a decoder. Positions count the samples of each
// channel by the container's clock; -1 means unknown.
type packet struct {
	data      []byte
	start     int64  // position of its first sample
	limit     int64  // position where the sound ends, if that may be within the packet
	discard   uint64 // nanoseconds to drop at its end
	lossCause error  // why sound before it is lost; or nil
	absolute  bool   // positions count from the beginning of the file: sound that starts late has silence before it
}

func newPacket(data []byte) packet { return packet{data: data, start: -1, limit: -1} }

// A container reads the packets of one track of sound in a file, or in one stream of a chained file. Packets
// carry the container's clock, so that a late start and losses show. The container chooses the track when it
// is opened.
type container interface {
	// next returns the next packet, or io.EOF after the last.
	next() (packet, error)
	// ending reports how the stream ended, after io.EOF.
	ending() ending
}

// An ending is what the end of a stream shows.
type ending struct {
	cut            bool  // the file ends within the sound
	nextStream     int64 // where the next stream of a chained file begins; 0 without one
	unread         error // why bytes after the sound, which may be sound, are not read; or nil
	leadingSilence int64 // frames of silence that the container itself put before the sound
	filled         []gap // that it filled with silence itself
}

// A codec decodes the packets of one track.
type codec interface {
	shape() shape
	// decode returns the interleaved samples of one packet, nominally in [-1, 1] and valid until the next call;
	// none for a header.
	decode(p packet) ([]float64, error)
}

// A source is the sound of one stream: a container reads packets, a codec decodes them. Packets that are
// missing or cannot be decoded are skipped. Where the container's clock tells how long the loss is, silence
// replaces it.
type source struct {
	damageLog
	open func() (container, codec, error) // reads the headers
	dec  codec
	in   container
	stop error // why no more packets come

	pos    int64 // samples of each channel decoded or lost so far
	base   int64 // position of the first of them, by the container's clock
	placed bool  // base is known
	ahead  int64 // how far the clock was ahead of the samples after the last packet
	frames int64 // frames read
	quiet  int64 // frames of silence to read before pcm
	silent int64 // frames of silence that the clock asked for so far
	late   int64 // frames of silence before the sound, which starts late
	pcm    []float64

	lossCause error // why sound before the next packet is lost
	failed    int   // packets in a row that could not be decoded
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

// addGap adds a gap, or extends the last one, if that ends at most near frames before it.
func (l *damageLog) addGap(from, to, near int64, why error) {
	if n := len(l.gaps); n > 0 && (from-l.gaps[n-1].to <= near || n == maxGaps) {
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

// readsFast reports whether the sound is uncompressed at SampleRate, so that reading it again costs little.
func (s *source) readsFast() bool {
	switch s.dec.(type) {
	case *pcmReader, *wavReader:
		return s.shape().rate == SampleRate
	}
	return false
}

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
		if p, s.stop = s.in.next(); s.stop == io.EOF {
			s.end()
		}
	}
	if s.stop != nil {
		return s.stop
	}
	s.lossCause = cmp.Or(s.lossCause, p.lossCause)
	pcm, err := s.decode(p)
	if err != nil {
		return err
	}
	shape := s.shape()
	pcm = pcm[:max(0, len(pcm)-int(p.discard*uint64(shape.rate)/1e9)*shape.channels)]
	if len(pcm) > 0 {
		s.place(p, pcm)
	}
	return nil
}

// end adds what the end of the stream shows.
func (s *source) end() {
	s.ending = s.in.ending()
	for _, g := range s.ending.filled {
		s.addGap(g.from, g.to, 0, cmp.Or(s.lossCause, g.why))
	}
	if s.lossCause != nil && len(s.ending.filled) == 0 { // else it is known where
		s.addGap(s.frames, s.frames, 0, s.lossCause)
	}
}

// place queues the samples of packet p for read, after silence for what is missing before them.
func (s *source) place(p packet, pcm []float64) {
	missing, why := s.missing(p)
	if !s.placed && p.absolute {
		s.late, s.quiet = missing, missing
	} else {
		s.quiet = max(0, s.pos+missing-max(s.pos, s.shape().skip))
		s.pos += missing
	}
	if s.placed, s.lossCause = true, nil; why != nil {
		s.addGap(s.frames, s.frames+s.quiet, 0, why)
	}
	s.emit(pcm, p.limit)
}

// missing returns how many samples are missing before packet p, by the container's clock, and why if that is damage.
func (s *source) missing(p packet) (n int64, why error) {
	if why = s.lossCause; p.start < 0 {
		return 0, why
	}
	ahead, before := p.start-s.base-s.pos, s.ahead
	s.ahead = min(0, ahead)
	switch {
	case !s.placed && p.absolute: // a late start
		s.base += max(0, ahead)
		n, damage := s.silenceFor(ahead)
		return n, cmp.Or(why, damage)
	case !s.placed && (why == nil || ahead > maxFirstLoss*int64(s.shape().rate)): // a recording that begins amid a stream
		s.base += max(0, ahead)
		return 0, why
	case why == nil:
		var jumps bool
		if jumps, why = s.jumps(ahead, before); !jumps {
			return 0, nil
		}
	}
	n, damage := s.silenceFor(ahead)
	if damage != nil {
		s.base += ahead
	}
	return n, cmp.Or(why, damage)
}

// jumps reports whether sound is missing between two packets because the clock is ahead of the samples. If it suddenly is,
// the file is damaged. If the clock was set back instead, later packets are compared with it as it is now.
func (s *source) jumps(ahead, before int64) (jumps bool, damage error) {
	switch tolerance := int64(s.shape().rate) / clockTolerance; {
	case ahead < -tolerance:
		s.base, s.ahead = s.base+ahead, 0
		return false, nil
	case ahead <= tolerance:
		s.ahead = ahead
		return false, nil
	case ahead-before > tolerance/2: // else the clock is a little faster than the samples, which is no damage
		damage = s.badTime(ahead, "")
	}
	return true, damage
}

// silenceFor returns the silence for what is missing. If that is longer than any file should have, the time is damaged.
func (s *source) silenceFor(ahead int64) (n int64, damage error) {
	shape := s.shape()
	if ahead > max(maxSilence*int64(shape.rate)-s.silent, shape.promised-s.frames) {
		return 0, s.badTime(ahead, fmt.Sprintf(", or at most %d h of silence before it", maxSilence/3600))
	}
	n = max(0, ahead)
	s.silent += n
	return n, nil
}

// badTime returns the error for a time stamp that is ahead of the samples.
func (s *source) badTime(ahead int64, or string) error {
	shape := s.shape()
	return malformed("time stamp", fmt.Sprintf("%.2f s%s", shape.seconds(s.frames), or), "%.2f s", shape.seconds(s.frames+ahead))
}

// emit queues the samples of a packet for read. It drops those before the start, and those after limit if limit
// lies within the packet. An earlier limit is wrong and ignored.
func (s *source) emit(pcm []float64, limit int64) {
	ch := int64(s.shape().channels)
	n := int64(len(pcm)) / ch
	first, end := s.pos, s.pos+n
	s.pos = end
	if limit -= s.base; limit >= first {
		end = min(end, limit)
	}
	from := min(max(s.shape().skip-first, 0), n)
	to := max(min(end-first, n), from)
	s.pcm = pcm[from*ch : to*ch]
}

// After maxBadPackets failed packets in a row, the file is refused.
const maxBadPackets = 50

// decode decodes one packet. One that cannot be decoded is lost.
func (s *source) decode(p packet) (pcm []float64, err error) {
	func() {
		defer catch("packet", &err)
		pcm, err = s.dec.decode(p)
	}()
	if err == nil {
		s.failed = 0
		return pcm, nil
	}
	thing := "packet at " + s.shape().at(s.frames)
	if s.failed++; s.failed >= maxBadPackets {
		return nil, malformed(thing, "", "%s, as in the %d before it", cause(err), s.failed-1)
	}
	s.lossCause = cmp.Or(s.lossCause, malformed(thing, "", "%s", cause(err)))
	return nil, nil
}

// cause returns the text of a decoder's error, without our prefix.
func cause(err error) string {
	if f, ok := errors.AsType[*FormatError](err); ok {
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
