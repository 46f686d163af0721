package audio

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Gap is a stretch of a clip, in seconds, whose sound is damaged or lost in the file.
// Silence stands for it, if its length is known.
type Gap struct{ Start, End float64 }

// A joined is the sound of a file, and of those that follow it in the same bytes: `cat`
// makes such files, and so does who records a radio station that changes its title.
type joined struct {
	in    Input
	first *part
	now   *part
	base  int64 // samples before it
	given int64 // of all samples
	empty int   // files in a row without a sample
	over  bool
	odd   oddities
}

// maxEmpty bounds files in a row without a sample: nobody who reads hears a signal meanwhile.
const maxEmpty = 1000

// A part is the sound of one file at SampleRate.
type part struct {
	file *file
	mix  *mixer
	out  mono
}

// oddities are what was found in a file that could be read nevertheless.
type oddities struct {
	cut  bool
	said []string
	gaps []Gap
	why  error // of the first gap
	peak float64

	opposed bool // channels cancel one another in their mean
}

// part makes the sound of a file; the one before it, if there is one, has the filter of its rate.
func (in Input) part(src source, f *file, before *part) (*part, error) {
	s := src.shape()
	if err := s.check(); err != nil {
		return nil, err
	}
	if in.Channel < 0 || in.Channel > s.channels {
		return nil, fmt.Errorf("channel: got %d, want 1 to %d, or 0 for the mean of all", in.Channel, s.channels)
	}
	mix := &mixer{src: src, shape: s, pick: in.Channel}
	p := &part{f, mix, mix}
	if s.rate != SampleRate {
		var like *resampler
		if before != nil {
			like, _ = before.out.(*resampler)
		}
		p.out = newResampler(mix, s.rate, like)
	}
	return p, nil
}

func (j *joined) rewind() error {
	*j = joined{in: j.in, first: j.first, now: j.first}
	j.now.mix.peak, j.now.file.err = 0, nil
	return j.now.file.failed(j.now.out.rewind())
}

func (j *joined) read(dst []float32) (int, error) {
	for !j.over {
		n, err := j.now.out.read(dst)
		j.given += int64(n)
		if err = j.now.file.failed(err); err != io.EOF {
			return n, err
		}
		if err := j.finish(); err != nil {
			return 0, err
		}
		if err := j.follow(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

// finish notes what was odd about the file that has been read. With Input.Strict, that is
// an error.
func (j *joined) finish() error {
	m, out, base := j.now.mix, j.now.mix.src.outcome(), float64(j.base)/SampleRate
	j.odd.peak = max(j.odd.peak, m.peak)
	j.odd.opposed = j.odd.opposed || m.mean < m.power/1000 // 30 dB
	for _, g := range out.gaps {
		if j.odd.why == nil {
			j.odd.why = g.why
		}
		j.odd.gaps = append(j.odd.gaps, Gap{base + m.shape.seconds(g.from), base + m.shape.seconds(g.to)})
	}
	end := base + m.shape.seconds(m.frame)
	switch {
	case m.frame < m.shape.promised:
		j.short(fmt.Sprintf("the header promises %.2f s, the file ends after %.2f s", base+m.shape.seconds(m.shape.promised), end))
	case out.cut:
		j.short(fmt.Sprintf("the file ends after %.2f s, amid the sound", end))
	}
	if !j.in.Strict {
		return nil
	}
	if j.odd.why != nil {
		return j.odd.why
	}
	if j.odd.cut {
		return malformed("", "a whole one", "a part: %s", j.odd.said[0])
	}
	return nil
}

// short notes that sound is missing at the end of a file.
func (j *joined) short(sentence string) {
	j.odd.cut = true
	j.odd.said = append(j.odd.said, sentence)
}

// follow goes to the file behind the one that has been read, if there is one: at once, behind
// tags, or behind whatever may lie between.
func (j *joined) follow() error {
	f, end := j.now.file, j.now.mix.src.outcome().end
	if j.empty++; j.now.mix.frame > 0 {
		j.empty = 0
	}
	if _, ok := j.now.mix.src.(*ffmpegSource); ok {
		return j.unseen(f)
	}
	if f.next {
		end = f.size
	}
	if j.over = true; end <= 0 {
		return nil
	}
	if j.empty > maxEmpty {
		return j.unread(f.from+end, malformed("files without a sample", fmt.Sprintf("at most %d in a row", maxEmpty), "more"))
	}
	found := f.next || f.kind == "mpeg" // and not only its first bytes
	for at := f.from + end; at < f.end; at = f.from + f.size {
		f = newFile(f.r, at, f.end)
		head, err := f.skipID3()
		k := formatOf(head)
		if err == nil && k != nil {
			if err = j.open(f, k, head); err == nil {
				return nil
			}
			if found || k.sure != nil && k.sure(head) || k.open == nil && len(k.magic) >= 4 && k.name != "an Ogg file" {
				return j.unread(f.from, err)
			}
		}
		if f.look(0, f.size); !f.next { // tags, padding, or what happens to begin some format
			return nil
		}
		found = true
	}
	return nil
}

// unseen looks for a file behind the one that ffmpeg has read: it may have read both, or one.
func (j *joined) unseen(f *file) error {
	head, _ := f.skipID3()
	j.over, f.kind = true, "mpeg" // other containers hold frames of MPEG audio
	if k := formatOf(head); k != nil && k.kind != "" {
		f.kind = k.kind // it is nothing but frames itself
	}
	if f.look(1, f.size); f.next {
		head := newFile(f.r, f.from+f.size, f.end).head(0)
		return j.unread(f.from+f.size, malformed("", "", "%s; ffmpeg may have stopped before it", formatOf(head).name))
	}
	return nil
}

// open makes f, which begins with head, the file that is read.
func (j *joined) open(f *file, k *format, head []byte) error {
	if k.open == nil {
		return refuse(head)
	}
	src, err := f.sniff()
	if err != nil {
		return f.failed(err)
	}
	p, err := j.in.part(src, f, j.now)
	if err == nil {
		j.now, j.base, j.over = p, j.given, false
	}
	return err
}

// unread notes that what follows at a place cannot be read.
func (j *joined) unread(at int64, why error) error {
	thing := fmt.Sprintf("what follows %.2f s, at byte %d", float64(j.given)/SampleRate, at)
	if j.in.Strict {
		return malformed(thing, "", "%s", placeOf(why))
	}
	j.short(thing + ", cannot be read: " + placeOf(why))
	return nil
}

// warnings returns a sentence for everything that is odd.
func (o oddities) warnings() []string {
	list := slices.Clone(o.said)
	if n := len(o.gaps); n == 1 && o.gaps[0].Start == o.gaps[0].End { // as ffmpeg tells it
		list = append(list, fmt.Sprintf("damaged before %.2f s: %s", o.gaps[0].End, placeOf(o.why)))
	} else if n > 0 {
		const most = 5
		var places []string
		for _, g := range o.gaps[:min(n, most)] {
			places = append(places, fmt.Sprintf("%.2f to %.2f s", g.Start, g.End))
		}
		text := "damaged in one place: "
		if n > 1 {
			text = fmt.Sprintf("damaged in %d places: ", n)
		}
		if text += strings.Join(places, ", "); n > most {
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
