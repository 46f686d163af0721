package audio

import "io"

// A Part is a stretch of a clip, in samples, the end not included.
type Part struct{ Start, End int64 }

// Parts returns a clip of the parts of c, one after another. They must be in order and must not touch. c must
// not be read while the result is used; closing the result closes c. Only c has warnings.
func (c *Clip) Parts(parts []Part) *Clip {
	p := *c
	p.src = &selection{src: c.src, parts: parts}
	// Warnings are those of c: the parts may end long before the file does.
	p.whole, p.found, p.ended = FromSamples(c.name, nil).whole, findings{}, false
	return &p
}

// A selection is a signal of some parts of another.
type selection struct {
	src   mono
	parts []Part
	next  int   // part
	at    int64 // sample of src
	waste []float32
}

func (p *selection) rewind() error {
	p.next, p.at = 0, 0
	return p.src.rewind()
}

func (p *selection) read(dst []float32) (int, error) {
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

// Original maps the position of a sample in a clip made by Parts to its position in the original clip. A
// position where two parts meet maps to the end of the first if end is set, else to the start of the second. One
// after the last part maps to the same distance after that part in the original.
func Original(parts []Part, sample int64, end bool) int64 {
	for i, p := range parts {
		n := p.End - p.Start
		if sample < n || end && sample == n || i == len(parts)-1 {
			return p.Start + sample
		}
		sample -= n
	}
	return sample
}
