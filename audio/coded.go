package audio

import (
	"errors"
	"fmt"
	"io"
)

// A packet is the unit of data that a container passes to a decoder. Positions count the
// samples of each channel by the container's clock; -1 means unknown.
type packet struct {
	data    []byte
	start   int64  // position of its first sample
	end     int64  // position behind its last sample
	limit   int64  // position at which the sound ends, if that is known
	discard uint64 // nanoseconds to drop at its end
	lost    hole   // what is missing before it
}

func newPacket(data []byte) packet { return packet{data: data, start: -1, end: -1, limit: -1} }

// A hole is sound that is missing: why, and of how many bytes. The zero hole is none.
type hole struct {
	why   error
	bytes int64
}

// packets gives the packets of one stream, and io.EOF from its end on. Then ended reports
// whether the stream had an end, and where its file ends, as in outcome.
type packets interface {
	next() (packet, error)
	ended() (whole bool, end int64)
}

// A codec decodes the packets of one stream.
type codec interface {
	shape() shape
	// preskip is how many samples of each channel to drop at the start.
	preskip() int64
	// decode returns the interleaved samples of one packet, valid until the next call;
	// none of a header.
	decode(data []byte) ([]float64, error)
	// restart says that packets before the next are missing.
	restart()
}

// A codedSource decodes packets out of a container. Where packets are missing or cannot be
// decoded there is a hole: silence, whose length the container's clock tells.
type codedSource struct {
	result
	open func() (packets, codec, error) // reads the headers
	dec  codec
	in   packets

	pos    int64 // samples of each channel decoded or lost so far
	base   int64 // position of the first of them
	placed bool  // base is known
	given  int64 // frames read
	quiet  int64 // frames of silence to read before pcm
	pcm    []float64

	lost hole      // before held; its length is not yet known
	held []float64 // decoded behind it
	bad  int       // packets in a row that could not be decoded
}

func newCoded(open func() (packets, codec, error)) (source, error) {
	c := &codedSource{open: open}
	if err := c.rewind(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *codedSource) shape() shape { return c.dec.shape() }

func (c *codedSource) rewind() (err error) {
	defer catch("headers", &err)
	*c = codedSource{open: c.open}
	if c.in, c.dec, err = c.open(); errors.Is(err, io.EOF) {
		return malformed("headers", "more packets", "the end of the file")
	}
	return err
}

func (c *codedSource) read(dst []float64) (n int, err error) {
	for c.quiet == 0 && len(c.pcm) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	ch := c.dec.shape().channels
	dst = dst[:len(dst)/ch*ch]
	if c.quiet > 0 {
		n = int(min(c.quiet, int64(len(dst)/ch))) * ch
		clear(dst[:n])
		c.quiet -= int64(n / ch)
	} else {
		n = copy(dst, c.pcm)
		c.pcm = c.pcm[n:]
	}
	c.given += int64(n / ch)
	return n, nil
}

// next decodes one packet.
func (c *codedSource) next() error {
	p, err := c.in.next()
	if err == io.EOF && c.lost.why != nil {
		c.fill(-1, -1)
		return nil
	}
	if err == io.EOF {
		whole, end := c.in.ended()
		c.out.cut, c.out.end = !whole, end
	}
	if err != nil {
		return err
	}
	if p.lost.why != nil {
		c.miss(p.lost)
		c.dec.restart()
	}
	pcm, err := c.decode(p.data)
	if err != nil {
		return err
	}
	s := c.dec.shape()
	pcm = pcm[:max(0, len(pcm)-int(p.discard*uint64(s.rate)/1e9)*s.channels)]
	n := int64(len(pcm) / s.channels)
	if p.start >= 0 && n > 0 {
		p.end = p.start + n
	}
	if c.lost.why == nil {
		if p.end > 0 && (!c.placed || p.start >= 0) {
			c.base, c.placed = max(0, p.end-c.pos-n), true
		}
		c.give(pcm, p.limit)
		return nil
	}
	c.held = append(c.held, pcm...)
	if p.end > 0 || len(c.held) > maxHeld {
		c.fill(p.end, p.limit)
	}
	return nil
}

// maxHeld bounds the samples that wait for the length of a hole before them.
const maxHeld = 1 << 22

// miss notes that sound is missing from here on.
func (c *codedSource) miss(h hole) {
	if c.lost.why == nil {
		c.lost.why = h.why
	}
	c.lost.bytes += h.bytes
}

// fill gives silence for the hole and what was held behind it, up to a position.
func (c *codedSource) fill(end, limit int64) {
	s, lost, held := c.dec.shape(), c.lost, c.held
	c.lost, c.held = hole{}, nil
	n, most := int64(0), s.longestGap(lost.bytes)
	if end >= 0 {
		n = max(0, end-c.base-c.pos-int64(len(held)/s.channels))
	}
	if n > most && !c.placed && lost.bytes == 0 {
		c.base += n // a recording that begins amid a stream
	} else {
		n = min(n, max(most, s.promised-c.given))
		c.quiet = max(0, c.pos+n-max(c.pos, c.dec.preskip()))
		c.out.lose(c.given, c.given+c.quiet, lost.why)
		c.pos += n
	}
	c.placed = true
	c.give(held, limit)
}

// give adds samples to those that are read next, without those to be dropped.
func (c *codedSource) give(pcm []float64, limit int64) {
	ch := int64(c.dec.shape().channels)
	n := int64(len(pcm)) / ch
	first, end := c.pos, c.pos+n
	c.pos = end
	if limit >= 0 {
		end = min(end, limit-c.base)
	}
	from := min(max(c.dec.preskip()-first, 0), n)
	to := max(min(end-first, n), from)
	if pcm = pcm[from*ch : to*ch]; c.quiet > 0 || len(c.pcm) > 0 {
		pcm = append(c.pcm, pcm...)
	}
	c.pcm = pcm
}

// After maxBadPackets failed packets in a row, the file is refused.
const maxBadPackets = 50

// decode decodes one packet, or makes a hole of it.
func (c *codedSource) decode(data []byte) (pcm []float64, err error) {
	func() {
		defer catch("packet", &err)
		pcm, err = c.dec.decode(data)
	}()
	if err == nil {
		c.bad = 0
		return pcm, nil
	}
	thing := "packet at " + c.shape().at(c.given)
	if c.bad++; c.bad >= maxBadPackets {
		return nil, malformed(thing, "", "%s, as in the %d before it", cause(err), c.bad-1)
	}
	c.miss(hole{why: malformed(thing, "", "%s", cause(err))})
	return nil, nil
}

// cause returns the text of a decoder's error, without the prefix that we added.
func cause(err error) string {
	var f *FormatError
	if errors.As(err, &f) {
		return f.Got
	}
	return fmt.Sprint(err)
}
