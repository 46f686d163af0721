package audio

import (
	"errors"
	"fmt"
	"io"
)

const (
	// maxCodebook bounds the values of a codebook; encoders use some ten thousand.
	maxCodebook = 1 << 20
	// maxClassDims bounds the classes that one code stands for. With two classes or
	// more, a codebook of 2^24 entries has at most 24.
	maxClassDims = 24
	// maxFloorPoints is the specification's bound, 7.2.2.
	maxFloorPoints = 65
)

// A vorbisSetup holds what checkSetup has read of the codebooks.
type vorbisSetup struct {
	*lowBits
	books []vorbisBook
}

type vorbisBook struct{ dims, entries int }

// checkSetup reads a setup header up to its residues and refuses one that makes packets
// slow: codebooks must fit into memory; their codes must form a full tree, or the
// library could search for ever; and a partition of a residue must be whole vectors, or
// each value could cost a vector of 65535.
//
// Source: Vorbis I specification, 3.2.1, 4.2.4, 7.2.2 and 8.6.1.
func checkSetup(b []byte) error {
	if !hasAt(b, 0, "\x05vorbis") {
		return malformed("Vorbis setup header", `"\x05vorbis"`, "% x", b[:min(len(b), 7)])
	}
	s := &vorbisSetup{lowBits: &lowBits{b: b[7:]}}
	for _, part := range []struct {
		name string
		bits int // of their number
		read func() error
	}{{"codebook", 8, s.codebook}, {"transform", 6, s.transform}, {"floor", 6, s.floor}, {"residue", 6, s.residue}} {
		for i := range int(s.read(part.bits)) + 1 {
			err := part.read()
			if err == nil && s.over {
				err = io.ErrUnexpectedEOF
			}
			if errors.Is(err, ErrUnsupported) {
				return err
			}
			if err != nil {
				return malformed(fmt.Sprintf("Vorbis %s %d", part.name, i), "", "%v", err)
			}
		}
	}
	return nil
}

// transform reads the time domain transforms, which the format does not use.
func (s *vorbisSetup) transform() error {
	if kind := s.read(16); kind != 0 {
		return fmt.Errorf("type %d", kind)
	}
	return nil
}

// floor reads a floor of type 1. The library's formula for type 0, which encoders gave
// up before version 1.0, is wrong.
func (s *vorbisSetup) floor() error {
	switch kind := s.read(16); kind {
	case 0:
		return unsupported("Vorbis floor", "type 1", "type 0")
	case 1:
	default:
		return fmt.Errorf("type %d", kind)
	}
	classes := make([]int, s.read(5))
	highest := 0 // even without classes, since the library reads one
	for i := range classes {
		classes[i] = int(s.read(4))
		highest = max(highest, classes[i])
	}
	var dims [16]int
	for c := range highest + 1 {
		dims[c] = int(s.read(3)) + 1
		sub := int(s.read(2))
		if sub > 0 {
			s.read(8)
		}
		s.skip(8 << sub)
	}
	s.read(2)
	bits, points := int(s.read(4)), 2
	for _, c := range classes {
		points += dims[c]
	}
	if points > maxFloorPoints {
		return fmt.Errorf("%d points, want at most %d", points, maxFloorPoints)
	}
	s.skip((points - 2) * bits)
	return nil
}

// residue reads a residue. Each of its partitions has a class, each class a codebook in
// each of eight passes or none.
func (s *vorbisSetup) residue() error {
	if kind := s.read(16); kind > 2 {
		return fmt.Errorf("type %d", kind)
	}
	s.skip(48)
	partition, classes := int(s.read(24))+1, int(s.read(6))+1
	class, err := s.book(int(s.read(8)))
	if err != nil {
		return err
	}
	if class.dims > maxClassDims || power(classes, class.dims, class.entries) > class.entries {
		return fmt.Errorf("%d classes, %d in a code, of a codebook of %d entries", classes, class.dims, class.entries)
	}
	passes := 0
	for range classes {
		low := s.read(3)
		if s.read(1) == 1 {
			low |= s.read(5) << 3
		}
		for ; low > 0; low &= low - 1 {
			passes++
		}
	}
	for range passes {
		b, err := s.book(int(s.read(8)))
		if err != nil {
			return err
		}
		if partition%b.dims != 0 {
			return fmt.Errorf("partitions of %d values, vectors of %d", partition, b.dims)
		}
	}
	return nil
}

func (s *vorbisSetup) book(i int) (vorbisBook, error) {
	if i >= len(s.books) {
		return vorbisBook{}, fmt.Errorf("codebook %d of %d", i, len(s.books))
	}
	return s.books[i], nil
}

func (s *vorbisSetup) codebook() error {
	r := s.lowBits
	if sync := r.read(24); sync != 0x564342 {
		return fmt.Errorf("sync %06x", sync)
	}
	dims, entries := int(r.read(16)), int(r.read(24))
	if dims == 0 || entries == 0 || dims*entries > maxCodebook {
		return fmt.Errorf("%d entries of %d values", entries, dims)
	}
	if err := checkCodes(r, entries); err != nil {
		return err
	}
	switch lookup := r.read(4); lookup {
	case 0:
	case 1, 2:
		r.read(32)
		r.read(32)
		bits := int(r.read(4)) + 1
		r.read(1)
		n := dims * entries
		if lookup == 1 {
			n = 0
			for power(n+1, dims, entries) <= entries {
				n++
			}
		}
		r.skip(n * bits)
	default:
		return fmt.Errorf("lookup type %d", lookup)
	}
	s.books = append(s.books, vorbisBook{dims, entries})
	return nil
}

// power returns base^n, or more than limit where it is more.
func power(base, n, limit int) int {
	p := 1
	for range n {
		if p *= base; p > limit || p == 1 {
			return p
		}
	}
	return p
}

// checkCodes reads the lengths of the codes. They form a full tree if the shares
// 2^-length sum to 1.
func checkCodes(r *lowBits, entries int) error {
	used, share := 0, uint64(0)
	add := func(length uint32, n int) {
		used += n
		share += uint64(n) << (32 - length)
	}
	if ordered := r.read(1) == 1; !ordered {
		sparse := r.read(1) == 1
		for range entries {
			if !sparse || r.read(1) == 1 {
				add(r.read(5)+1, 1)
			}
		}
	} else {
		length := r.read(5) + 1
		for done := 0; done < entries; length++ {
			bits := 0
			for (entries-done)>>bits > 0 {
				bits++
			}
			n := int(r.read(bits))
			if r.over || length > 32 || n > entries-done {
				return fmt.Errorf("codes of %d bits for %d of %d entries", length, n, entries-done)
			}
			add(length, n)
			done += n
		}
	}
	if share != 1<<32 && used != 1 {
		return fmt.Errorf("codes for %d entries that are no full tree", used)
	}
	return nil
}

// lowBits reads numbers of a few bits, lowest bit first.
type lowBits struct {
	b    []byte
	at   int  // bit
	over bool // a read went beyond the end
}

func (l *lowBits) read(n int) (v uint32) {
	for i := range n {
		if l.at>>3 >= len(l.b) {
			l.over = true
			return 0
		}
		v |= uint32(l.b[l.at>>3]>>(l.at&7)&1) << i
		l.at++
	}
	return v
}

func (l *lowBits) skip(n int) {
	l.at += n
	l.over = l.over || l.at > 8*len(l.b)
}
