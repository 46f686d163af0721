package audio

import (
	"fmt"
	"io"
	"slices"

	"verity/internal/show"
)

// A chain is the sound of a file at SampleRate. Most files are one stream. A chained Ogg file, such as a
// recording of a radio station that changes its title, and MP3 whose parameters change have several, each with
// a rate and channels of its own.
type chain struct {
	in        Input
	first     *stream
	now       *stream  // that is being read
	base      int64    // samples of the streams before it
	delivered int64    // samples returned so far
	opened    int      // streams after the first that were tried
	over      bool     // no stream follows
	found     findings // in all streams so far
}

// Limits on streams: opening one takes far longer than reading the few bytes it may consist of.
const (
	maxStreams       = 1000
	streamsPerSecond = 10
)

// A stream is a part of a file with its own headers, and so its own rate and channels.
type stream struct {
	file *file
	mix  *mixer
	out  mono // mix at SampleRate
}

// stream returns the sound of src in f.
func (in Input) stream(src *source, f *file) (*stream, error) {
	s := src.shape()
	if err := s.check(); err != nil {
		return nil, err
	}
	if in.Channel < 0 || in.Channel > s.channels {
		return nil, fmt.Errorf("channel %d: the file has only %s; leave the number out for the mean of all",
			in.Channel, show.Some(s.channels, "channel"))
	}
	mix := &mixer{src: src, shape: s, pick: in.Channel}
	st := &stream{f, mix, mix}
	if s.rate != SampleRate {
		st.out = newResampler(mix, s.rate)
	}
	return st, nil
}

func (c *chain) rewind() error {
	*c = chain{in: c.in, first: c.first, now: c.first}
	c.now.file.err = nil
	return c.now.file.failed(c.now.out.rewind())
}

func (c *chain) read(dst []float32) (int, error) {
	for !c.over {
		n, err := c.now.out.read(dst)
		c.delivered += int64(n)
		if err = c.now.file.failed(err); err != io.EOF {
			return n, err
		}
		if err := c.finish(); err != nil {
			return 0, err
		}
		if err := c.follow(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

// finish adds what is wrong with the stream that has been read. With Input.Strict, that is an error.
func (c *chain) finish() error {
	m, src, base := c.now.mix, c.now.mix.src, float64(c.base)/SampleRate
	c.found.add(m, base)
	end := base + m.shape.seconds(m.frame)
	switch {
	case m.frame < m.shape.promised && !slices.ContainsFunc(src.gaps, func(g gap) bool { return g.from == g.to }):
		promised := base + m.shape.seconds(m.shape.promised)
		c.found.short(fmt.Sprintf("the file ends after %.2f s of %.2f s: copy it again", end, promised))
	case src.cut:
		c.found.short(fmt.Sprintf("the file ends after %.2f s, amid the sound: copy it again", end))
	}
	if c.in.Strict && c.found.why != nil {
		return c.found.why
	}
	if c.in.Strict && c.found.cut {
		return final(ErrMalformed, c.found.sentences[0])
	}
	if src.unread != nil {
		return c.unread(fmt.Sprintf("what follows %.2f s", end), src.unread)
	}
	return nil
}

// follow opens the next stream, if there is one. It skips streams that cannot be read.
func (c *chain) follow() error {
	f, next := c.now.file, c.now.mix.src.nextStream
	for c.over = true; next > 0; next = findPage(f, next+1, oggFirst) {
		thing := fmt.Sprintf("what follows %.2f s (byte %d)", float64(c.delivered)/SampleRate, f.from+next)
		if c.opened++; int64(c.opened) >= maxStreams+streamsPerSecond*c.delivered/SampleRate {
			most := fmt.Sprintf("at most %d, and %d a second", maxStreams, streamsPerSecond)
			return c.unread(thing, malformed("streams of a chained file", most, "more"))
		}
		err := c.open(newFile(f.r, f.from+next, f.from+f.size))
		if err == nil {
			return nil
		}
		if err := c.unread(thing, err); err != nil || !hasAt(f.head(next), 0, "OggS") {
			return err
		}
	}
	return nil
}

// open makes f the stream that is read.
func (c *chain) open(f *file) error {
	head, err := f.skipID3()
	if err != nil {
		return err
	}
	src, err := f.source(formatOf(head), head)
	if err != nil {
		return err
	}
	st, err := c.in.stream(src, f)
	if err == nil {
		c.now, c.base, c.over = st, c.delivered, false
	}
	return err
}

// unread adds that a part of the file cannot be read.
func (c *chain) unread(part string, why error) error {
	if c.in.Strict {
		return malformed(part, "", "%s", detail(why))
	}
	c.found.short(part + " cannot be read: " + detail(why))
	return nil
}
