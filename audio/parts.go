package audio

import (
	"io"
	"sort"
)

// A Part is a stretch of a clip, in samples, the end not included.
type Part struct{ Start, End int64 }

// Parts returns a clip that holds the parts of c one behind the other. They must be in
// order and must not touch. c must not be read while the result is used; closing the
// result closes c. Only c has warnings.
func (c *Clip) Parts(parts []Part) *Clip {
	p := *c
	p.src = &packed{src: c.src, parts: parts}
	// What is odd about the file is known of c: the parts may end long before it.
	p.whole, p.ended = nil, false
	return &p
}

// packed is a signal that passes on some parts of another.
type packed struct {
	src   mono
	parts []Part
	next  int   // part
	at    int64 // sample of src
	waste []float32
}

func (p *packed) rewind() error {
	p.next, p.at = 0, 0
	return p.src.rewind()
}

func (p *packed) read(dst []float32) (int, error) {
	for p.next < len(p.parts) && p.at >= p.parts[p.next].End {
		p.next++
	}
	if p.next == len(p.parts) {
		return 0, io.EOF
	}
	part := p.parts[p.next]
	if p.waste == nil {
		p.waste = make([]float32, 1<<13)
	}
	for p.at < part.Start {
		n, err := p.src.read(p.waste[:min(int64(len(p.waste)), part.Start-p.at)])
		if err != nil {
			return 0, err
		}
		p.at += int64(n)
	}
	n, err := p.src.read(dst[:min(int64(len(dst)), part.End-p.at)])
	p.at += int64(n)
	return n, err
}

// Packed maps times in a clip made by Parts back to the clip it was made of.
type Packed struct {
	parts []Part
	ends  []int64 // of each part in the packed clip
}

// NewPacked returns the map for some parts.
func NewPacked(parts []Part) *Packed {
	p := &Packed{parts: parts}
	var end int64
	for _, part := range parts {
		end += part.End - part.Start
		p.ends = append(p.ends, end)
	}
	return p
}

// Original returns where a sample of the packed clip lies in the other. At the border
// of two parts that is the end of the first if end is set, else the start of the
// second. A sample behind the last part maps to one behind it in the original.
func (p *Packed) Original(sample int64, end bool) int64 {
	if len(p.parts) == 0 {
		return sample
	}
	i := sort.Search(len(p.ends), func(i int) bool { return sample < p.ends[i] || end && sample == p.ends[i] })
	i = min(i, len(p.parts)-1)
	return p.parts[i].End - (p.ends[i] - sample)
}
