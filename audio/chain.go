package audio

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Gap is a stretch of a clip, in seconds, whose sound is damaged or lost in the file.
// Silence stands for it, if its length is known.
type Gap struct{ Start, End float64 }

// A chain is the sound of a file, and of those that follow it in the same bytes: `cat`
// makes such files, and so does who records a radio station that changes its title.
type chain struct {
	in    Input
	first *fileSound
	now   *fileSound
	base  int64 // samples before it
	given int64 // of all samples
	files int   // that were read
	over  bool
	odd   oddities
}

// So many files are read, and so many more a second of their sound: to open one takes much more than
// it may hold, 46 bytes.
const (
	maxFiles       = 1000
	filesPerSecond = 10
)

// A fileSound is the sound of one file at SampleRate.
type fileSound struct {
	file *file
	mix  *mixer
	out  mono
}

// maxPlaces bounds what is told one by one; of others, how many there are.
const maxPlaces = 5

// oddities are what was found in a file that could be read nevertheless.
type oddities struct {
	cut  bool
	said []string // the first maxPlaces sentences, and the last
	more int      // between them
	gaps []Gap
	why  error // of the first gap
	peak float64

	opposed bool // channels cancel one another in their mean
}

// sound makes the sound of a file; the one before it, if there is one, has the filter of its rate.
func (in Input) sound(src *source, f *file, before *fileSound) (*fileSound, error) {
	s := src.shape()
	if err := s.check(); err != nil {
		return nil, err
	}
	if in.Channel < 0 || in.Channel > s.channels {
		return nil, fmt.Errorf("channel: got %d, want 1 to %d, or 0 for the mean of all", in.Channel, s.channels)
	}
	mix := &mixer{src: src, shape: s, pick: in.Channel}
	p := &fileSound{f, mix, mix}
	if s.rate != SampleRate {
		var like *resampler
		if before != nil {
			like, _ = before.out.(*resampler)
		}
		p.out = newResampler(mix, s.rate, like)
	}
	return p, nil
}

func (c *chain) rewind() error {
	*c = chain{in: c.in, first: c.first, now: c.first}
	c.now.file.err = nil
	return c.now.file.failed(c.now.out.rewind())
}

func (c *chain) read(dst []float32) (int, error) {
	for !c.over {
		n, err := c.now.out.read(dst)
		c.given += int64(n)
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

// finish notes what was odd about the file that has been read. With Input.Strict, that is
// an error.
func (c *chain) finish() error {
	m, base := c.now.mix, float64(c.base)/SampleRate
	c.odd.peak = max(c.odd.peak, m.peak)
	c.odd.opposed = c.odd.opposed || m.mean < m.power/1000 // 30 dB
	for _, g := range m.src.gaps {
		if c.odd.why == nil {
			c.odd.why = g.why
		}
		c.odd.gaps = append(c.odd.gaps, Gap{base + m.shape.seconds(g.from), base + m.shape.seconds(g.to)})
	}
	end := base + m.shape.seconds(m.frame)
	switch {
	case m.frame < m.src.shape().promised: // which ffmpeg tells late
		c.short(fmt.Sprintf("the header promises %.2f s, the file ends after %.2f s", base+m.shape.seconds(m.src.shape().promised), end))
	case m.src.cut:
		c.short(fmt.Sprintf("the file ends after %.2f s, amid the sound", end))
	}
	tag := c.now.file.tag
	if tag != nil {
		c.odd.say(placeOf(tag))
	}
	if !c.in.Strict {
		return nil
	}
	if tag != nil {
		return tag
	}
	if c.odd.why != nil {
		return c.odd.why
	}
	if c.odd.cut {
		return malformed("", "a whole one", "a part: %s", c.odd.said[0])
	}
	return nil
}

// short notes that sound is missing at the end of a file.
func (c *chain) short(sentence string) {
	c.odd.cut = true
	c.odd.say(sentence)
}

func (o *oddities) say(sentence string) {
	if len(o.said) > maxPlaces {
		o.more++
		o.said = o.said[:maxPlaces]
	}
	o.said = append(o.said, sentence)
}

// follow goes to the file behind the one that has been read, if there is one: at once, behind
// tags, or behind whatever may lie between.
func (c *chain) follow() error {
	f, src := c.now.file, c.now.mix.src
	c.files++
	if _, ok := src.in.(*ffmpeg); ok {
		return c.unseen(f)
	}
	end := src.end
	if c.over = true; f.next && (end <= 0 || end > f.size) {
		end = f.size
	}
	if end <= 0 { // the source tells no place where another file may begin
		return nil
	}
	if p, ok := src.in.(*pcmReader); ok && p.unread != nil && !f.next {
		return c.unread(f.from+end, p.unread)
	}
	if int64(c.files) >= maxFiles+filesPerSecond*c.given/SampleRate && f.from+end < f.end {
		return c.unread(f.from+end, malformed("files one behind the other", fmt.Sprintf("at most %d, and %d a second", maxFiles, filesPerSecond), "more"))
	}
	return c.openFrom(f, f.from+end)
}

// openFrom goes to the next file from a place behind f on, if there is one.
func (c *chain) openFrom(f *file, at int64) error {
	whole := f.next && at == f.from+f.size || f.kind == "mpeg" // a file begins there, and not only its first bytes
	for ; at < f.end; at = f.from + f.size {
		f = newFile(f.r, at, f.end)
		head, err := f.skipID3()
		k := formatOf(head)
		if err == nil && k != nil {
			if err = c.open(f, k, head); err == nil {
				return nil
			}
			if whole || k.sure != nil && k.sure(head) || k.open == nil && len(k.magic) >= 4 && k.name != "an Ogg file" {
				return c.unread(f.from, err)
			}
			if k.magic == "OggS" {
				if head[5]&oggFirst == 0 {
					err = malformed("", "", "pages of Ogg behind a first one that is damaged or lost")
				}
				if err := c.unread(f.from, err); err != nil {
					return err
				}
			}
		}
		f.look(0, f.size)
		if err := f.failed(c.stray(f)); err != nil || !f.next { // tags, padding, or what happens to begin some format
			return err
		}
		whole = true
	}
	return nil
}

// stray notes what lies behind uncompressed samples, if it may be more of them: a recorder that
// broke off leaves a header of some time before.
func (c *chain) stray(f *file) error {
	p, ok := c.now.mix.src.in.(*pcmReader)
	if !ok {
		return nil
	}
	b := make([]byte, min(p.layout.rate/10*p.layout.blockAlign(), pcmBlock))
	if n, _ := f.read(b, 0); n < len(b) || f.padding(0) || f.err != nil {
		return nil
	}
	return c.unread(f.from, malformed("", "", "bytes that no header tells of"))
}

// unseen looks for a file behind the one that ffmpeg has read: it may have read both, or one.
func (c *chain) unseen(f *file) error {
	head, _ := f.skipID3()
	c.over, f.kind = true, "mpeg" // other containers hold frames of MPEG audio
	if k := formatOf(head); k != nil {
		f.kind = cmp.Or(k.kind, "mpeg") // or it is nothing but frames itself
		if all := *f; k.end != nil {
			all.body = f.size
			f.kind, f.own, f.body = k.kind, k.own, k.end(&all)
		}
	}
	if f.look(1, f.size); f.next {
		what := "another file"
		if head, _ = newFile(f.r, f.from+f.size, f.end).skipID3(); formatOf(head) != nil {
			what = formatOf(head).name
		}
		return c.unread(f.from+f.size, malformed("", "", "%s; ffmpeg may have stopped before it", what))
	}
	return nil
}

// open makes f, which begins with head, the file that is read.
func (c *chain) open(f *file, k *format, head []byte) error {
	src, err := f.source(k, head)
	if err != nil {
		return err
	}
	p, err := c.in.sound(src, f, c.now)
	if err == nil {
		c.now, c.base, c.over = p, c.given, false
	}
	return err
}

// unread notes that what follows at a place cannot be read.
func (c *chain) unread(at int64, why error) error {
	thing := fmt.Sprintf("what follows %.2f s, at byte %d", float64(c.given)/SampleRate, at)
	if c.in.Strict {
		return malformed(thing, "", "%s", placeOf(why))
	}
	c.short(thing + ", cannot be read: " + placeOf(why))
	return nil
}

// warnings returns a sentence for everything that is odd.
func (o oddities) warnings() []string {
	list := slices.Clone(o.said)
	if o.more > 0 {
		list = slices.Insert(list, maxPlaces, fmt.Sprintf("and so on, %d more of this kind", o.more))
	}
	if n := len(o.gaps); n == 1 && o.gaps[0].Start == o.gaps[0].End { // as ffmpeg tells it
		list = append(list, fmt.Sprintf("damaged before %.2f s: %s", o.gaps[0].End, placeOf(o.why)))
	} else if n > 0 {
		var places []string
		for _, g := range o.gaps[:min(n, maxPlaces)] {
			places = append(places, fmt.Sprintf("%.2f to %.2f s", g.Start, g.End))
		}
		text := "damaged in one place: "
		if n > 1 {
			text = fmt.Sprintf("damaged in %d places: ", n)
		}
		if text += strings.Join(places, ", "); n > maxPlaces {
			text += " and so on"
		}
		list = append(list, fmt.Sprintf("%s; silence stands there (first: %s)", text, placeOf(o.why)))
	}
	if o.peak > loud {
		list = append(list, fmt.Sprintf("samples reach %.3g, want -1 to 1: the file may be scaled wrongly", o.peak))
	}
	if o.opposed {
		list = append(list, "the channels cancel one another: their mean is silent beside each of them; try channel 1 alone")
	}
	return list
}
