package audio

import (
	"errors"
	"fmt"
	"io"
)

// A codec decodes the packets of one stream to interleaved samples.
type codec interface {
	rate() int
	channels() int
	// preskip is how many samples of each channel to drop at the start.
	preskip() int64
	// decode returns the samples of one packet, valid until the next call.
	decode(data []byte) ([]float32, error)
	// samples returns how many samples of each channel a packet stands for, for
	// silence in its place if it cannot be decoded; 0 if that is not known.
	samples(data []byte) int
}

// A codedSource decodes packets out of a container.
type codedSource struct {
	open  container
	start func(packets) (codec, error) // reads the headers
	dec   codec
	in    packets
	pos   int64 // samples of each channel decoded so far
	pcm   []float32
	bad   int // packets in a row that could not be decoded
	cut   bool
}

func newCoded(open container, start func(packets) (codec, error)) (source, error) {
	c := &codedSource{open: open, start: start}
	if err := c.rewind(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *codedSource) shape() shape {
	return shape{rate: c.dec.rate(), channels: c.dec.channels(), cut: c.cut}
}

func (c *codedSource) rewind() (err error) {
	defer catch("headers", &err)
	c.pos, c.pcm, c.bad, c.cut = 0, nil, 0, false
	if c.in, err = c.open(); err != nil {
		return err
	}
	c.dec, err = c.start(c.in)
	if errors.Is(err, io.EOF) {
		return malformed("headers", "more packets", "the end of the file")
	}
	return err
}

func (c *codedSource) read(dst []float64) (int, error) {
	for len(c.pcm) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	ch := c.dec.channels()
	n := min(len(dst)/ch*ch, len(c.pcm))
	for i, v := range c.pcm[:n] {
		dst[i] = float64(v)
	}
	c.pcm = c.pcm[n:]
	return n, nil
}

// next decodes one packet into c.pcm, without the samples to be dropped.
func (c *codedSource) next() error {
	p, err := c.in.next()
	if err == io.EOF {
		c.cut = !c.in.ended()
	}
	if err != nil {
		return err
	}
	if c.pcm, err = c.decode(p.data); err != nil {
		return err
	}
	ch := int64(c.dec.channels())
	n := int64(len(c.pcm)) / ch
	first, end := c.pos, c.pos+n
	c.pos = end
	if p.limit >= 0 {
		end = min(end, p.limit)
	}
	end -= p.discard * int64(c.dec.rate()) / 1e9
	from := min(max(c.dec.preskip()-first, 0), n)
	to := max(min(end-first, n), from)
	c.pcm = c.pcm[from*ch : to*ch]
	return nil
}

// After maxBadPackets failed packets in a row, the file is refused.
const maxBadPackets = 50

// decode decodes one packet, or gives silence of its length.
func (c *codedSource) decode(data []byte) (pcm []float32, err error) {
	func() {
		defer catch("packet", &err)
		pcm, err = c.dec.decode(data)
	}()
	if err == nil {
		c.bad = 0
		return pcm, nil
	}
	if c.bad++; c.bad >= maxBadPackets {
		s := c.shape()
		return nil, malformed("packet at "+s.at(c.pos), "", "%s, as in the %d before it", cause(err), c.bad-1)
	}
	return make([]float32, c.dec.samples(data)*c.dec.channels()), nil
}

// cause returns the text of a decoder's error, without the prefix that we added.
func cause(err error) string {
	var f *FormatError
	if errors.As(err, &f) {
		return f.Got
	}
	return fmt.Sprint(err)
}
