package audio

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"verity/internal/show"
)

// A Gap is a stretch of a clip, in seconds, whose sound is damaged or lost in the file. Silence replaces it, if
// its length is known.
type Gap struct{ Start, End float64 }

// A chain is the sound of a file at SampleRate. Most files are one link. A chained Ogg file, such as a
// recording of a radio station that changes its title, and MP3 files that were joined have several, each with a
// rate and channels of its own.
type chain struct {
	in        Input
	first     *link
	now       *link    // the link that is being read
	base      int64    // samples of the links before it
	delivered int64    // samples returned so far
	links     int      // links after the first that were tried
	over      bool     // no link follows
	found     findings // in all links so far
}

// Limits on links: opening one takes far longer than reading the few bytes it may consist of.
const (
	maxLinks       = 1000
	linksPerSecond = 10
)

// A link is a part of a file with its own headers, and so its own rate and channels.
type link struct {
	file *file
	mix  *mixer
	out  mono // mix at SampleRate
}

// maxListed is how many problems are listed; the rest are only counted.
const maxListed = 5

// Findings are what was found wrong with a file that could be read nevertheless.
type findings struct {
	cut       bool
	sentences []string // the first maxListed, and the last
	more      int      // sentences between them
	gaps      []Gap
	why       error // of the first gap
	bad       int64 // samples that are no numbers
	peak      float64
	opposed   bool // channels cancel one another in their mean
}

// link returns the sound of src in f.
func (in Input) link(src *source, f *file) (*link, error) {
	s := src.shape()
	if err := s.check(); err != nil {
		return nil, err
	}
	if in.Channel < 0 || in.Channel > s.channels {
		return nil, fmt.Errorf("channel %d: the file has only %s; 0 is the mean of all",
			in.Channel, show.Some(s.channels, "channel"))
	}
	mix := &mixer{src: src, shape: s, pick: in.Channel}
	l := &link{f, mix, mix}
	if s.rate != SampleRate {
		l.out = newResampler(mix, s.rate)
	}
	return l, nil
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

// finish adds what is wrong with the link that has been read. With Input.Strict, that is an error.
func (c *chain) finish() error {
	m, src, base := c.now.mix, c.now.mix.src, float64(c.base)/SampleRate
	c.found.peak = max(c.found.peak, m.peak)
	c.found.bad += src.bad
	c.found.opposed = c.found.opposed || m.mean < m.power/1000 // 30 dB
	for _, g := range src.gaps {
		if c.found.why == nil {
			c.found.why = g.why
		}
		c.found.gaps = append(c.found.gaps, Gap{base + m.shape.seconds(g.from), base + m.shape.seconds(g.to)})
	}
	end := base + m.shape.seconds(m.frame)
	switch {
	case m.frame < m.shape.promised:
		promised := base + m.shape.seconds(m.shape.promised)
		c.found.short(fmt.Sprintf("the file ends after %.2f s of %.2f s: copy it again", end, promised))
	case src.cut:
		c.found.short(fmt.Sprintf("the file ends after %.2f s, amid the sound: copy it again", end))
	}
	if c.in.Strict && c.found.why != nil {
		return c.found.why
	}
	if c.in.Strict && c.found.cut {
		return &FormatError{Got: c.found.sentences[0], Err: ErrMalformed, part: true}
	}
	if src.unread != nil {
		return c.unread(fmt.Sprintf("what follows %.2f s", end), src.unread)
	}
	return nil
}

// follow opens the next link, if there is one. It skips links that cannot be read.
func (c *chain) follow() error {
	f, next := c.now.file, c.now.mix.src.nextLink
	for c.over = true; next > 0; next = nextLink(f, next+1, oggFirst) {
		thing := fmt.Sprintf("what follows %.2f s, at byte %d", float64(c.delivered)/SampleRate, f.from+next)
		if c.links++; int64(c.links) >= maxLinks+linksPerSecond*c.delivered/SampleRate {
			most := fmt.Sprintf("at most %d, and %d a second", maxLinks, linksPerSecond)
			return c.unread(thing, malformed("links of a chained file", most, "more"))
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

// open makes f the link that is read.
func (c *chain) open(f *file) error {
	f.track = c.in.Track
	head, err := f.skipID3()
	if err != nil {
		return err
	}
	src, err := f.source(formatOf(head), head)
	if err != nil {
		return err
	}
	l, err := c.in.link(src, f)
	if err == nil {
		c.now, c.base, c.over = l, c.delivered, false
	}
	return err
}

// unread adds that a part of the file cannot be read.
func (c *chain) unread(part string, why error) error {
	if c.in.Strict {
		return malformed(part, "", "%s", detail(why))
	}
	c.found.short(part + ", cannot be read: " + detail(why))
	return nil
}

// short adds a sentence about sound that is missing at the end of a link.
func (f *findings) short(sentence string) {
	f.cut = true
	if len(f.sentences) > maxListed {
		f.more++
		f.sentences = f.sentences[:maxListed]
	}
	f.sentences = append(f.sentences, sentence)
}

// warnings returns a sentence for each finding.
func (f findings) warnings() []string {
	list := slices.Clone(f.sentences)
	if f.more > 0 {
		list = slices.Insert(list, maxListed, fmt.Sprintf("and so on, %d more of this kind", f.more))
	}
	if len(f.gaps) > 0 {
		list = append(list, f.damage())
	}
	if f.peak > loud {
		list = append(list, fmt.Sprintf("samples reach %.3g, want -1 to 1: the file may be scaled wrongly", f.peak))
	}
	if f.opposed {
		list = append(list, "the channels cancel one another: their mean is silent beside each of them; try channel 1 alone")
	}
	return list
}

// damage returns a sentence for the gaps.
func (f findings) damage() string {
	n, silence, places := len(f.gaps), "", []string{}
	for i, g := range f.gaps {
		place := fmt.Sprintf("%.2f to %.2f s", g.Start, g.End)
		if g.Start == g.End { // the length is unknown
			place = fmt.Sprintf("before %.2f s", g.End)
		} else {
			silence = "; silence stands there"
		}
		if i < maxListed {
			places = append(places, place)
		}
	}
	why := detail(f.why)
	if f.bad > 0 {
		why += fmt.Sprintf("; samples of this kind: %d", f.bad)
	}
	if n == 1 && silence == "" {
		return fmt.Sprintf("damaged %s: %s", places[0], why)
	}
	text := "damaged in one place: "
	if n > 1 {
		text = fmt.Sprintf("damaged in %d places: ", n)
	}
	if text += strings.Join(places, ", "); n > maxListed {
		text += " and so on"
	}
	return fmt.Sprintf("%s%s (first: %s)", text, silence, why)
}
