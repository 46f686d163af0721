package audio

import (
	"fmt"
	"math"
	"math/bits"
)

const (
	// maxCodebook bounds the values of a codebook; encoders use some ten thousand.
	maxCodebook = 1 << 20
	// maxClassDims bounds how many classes one code stands for. If there are at least two classes, a code for n
	// of them needs a codebook of 2^n entries, and a codebook has at most 2^24.
	maxClassDims = 24
	// maxFloorPoints is the specification's bound, 7.2.2.
	maxFloorPoints = 65
)

// A vorbisSetup reads a setup header. It panics with a FormatError if something is wrong.
type vorbisSetup struct {
	b    []byte
	at   int    // bit, lowest first
	part string // being read, for errors
	dims []int  // of each codebook, the values of a vector
}

// checkSetup reads a setup header up to its residues and refuses one that makes the library slow: codebooks
// must fit into memory; their codes must form a full tree, or it could search for ever; and a partition of a
// residue must be whole vectors, or each value could cost a vector of 65535. At other damage the library fails
// by itself.
//
// Source: Vorbis I specification, 3.2.1, 4.2.4, 7.2.2 and 8.6.1.
func checkSetup(b []byte) (err error) {
	if !hasAt(b, 0, "\x05vorbis") {
		return malformed("Vorbis setup header", `"\x05vorbis"`, "% x", b[:min(len(b), 7)])
	}
	s := &vorbisSetup{b: b[7:]}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *FormatError:
			err = p
		default: // there is no such codebook
			err = malformed(s.part, "", "%v", p)
		}
	}()
	transform := func() { s.read(16) }
	for _, list := range []struct {
		name string
		bits int // of their number
		read func()
	}{{"codebook", 8, s.codebook}, {"transform", 6, transform}, {"floor", 6, s.floor}, {"residue", 6, s.residue}} {
		for i := range s.read(list.bits) + 1 {
			s.part = fmt.Sprintf("Vorbis %s %d", list.name, i)
			list.read()
		}
	}
	return nil
}

func (s *vorbisSetup) fail(format string, args ...any) { panic(malformed(s.part, "", format, args...)) }

// read reads a number of n bits, at most 32.
func (s *vorbisSetup) read(n int) (v int) {
	for i := range n {
		if s.at>>3 >= len(s.b) {
			s.fail("the end of the header")
		}
		v |= int(s.b[s.at>>3]>>(s.at&7)&1) << i
		s.at++
	}
	return v
}

func (s *vorbisSetup) codebook() {
	sync, dims, entries := s.read(24), s.read(16), s.read(24)
	if sync != 0x564342 || dims == 0 || entries == 0 || dims*entries > maxCodebook {
		s.fail("%d entries of %d values", entries, dims)
	}
	s.codes(entries)
	if lookup := s.read(4); lookup > 0 {
		s.at += 32 + 32
		size, n := s.read(4)+1, dims*entries
		if lookup == 1 { // as the library rounds it; from a wrong root on it would read garbage
			n = int(math.Floor(math.Pow(float64(entries), 1/float64(dims))))
			if math.Pow(float64(n+1), float64(dims)) <= float64(entries) { // 12 for the cube root of 2197
				panic(unsupported(s.part, "", "%d entries of %d values", entries, dims))
			}
		}
		s.at += 1 + n*size
	}
	s.dims = append(s.dims, dims)
}

// codes reads the lengths of the codes. They form a full tree if the shares 2^-length sum to 1.
func (s *vorbisSetup) codes(entries int) {
	used, share := 0, int64(0)
	add := func(length, n int) {
		used += n
		share += int64(n) << (32 - length)
	}
	if ordered := s.read(1) == 1; !ordered {
		sparse := s.read(1) == 1
		for range entries {
			if !sparse || s.read(1) == 1 {
				add(s.read(5)+1, 1)
			}
		}
	} else {
		for length, left := s.read(5)+1, entries; left > 0; length++ {
			n := s.read(bits.Len(uint(left)))
			if length > 32 || n > left {
				s.fail("codes of %d bits for %d of %d entries", length, n, left)
			}
			add(length, n)
			left -= n
		}
	}
	if share != 1<<32 && used != 1 {
		s.fail("codes for %d entries that are no full tree", used)
	}
}

// floor reads a floor of type 1. The library's formula for type 0, which encoders gave up before version 1.0,
// is wrong.
func (s *vorbisSetup) floor() {
	if kind := s.read(16); kind != 1 {
		panic(unsupported("Vorbis floor", "type 1", "type %d", kind))
	}
	classes := make([]int, s.read(5))
	// Encoders write none for the bass channel of 5.1 sound. The library would continue at a wrong place.
	if len(classes) == 0 {
		panic(unsupported("Vorbis floor", "partitions", "none"))
	}
	highest := 0
	for i := range classes {
		classes[i] = s.read(4)
		highest = max(highest, classes[i])
	}
	var dims [16]int
	for c := range highest + 1 {
		dims[c] = s.read(3) + 1
		sub := s.read(2)
		if sub > 0 {
			s.at += 8
		}
		s.at += 8 << sub
	}
	s.at += 2
	size, points := s.read(4), 2
	for _, c := range classes {
		points += dims[c]
	}
	if points > maxFloorPoints {
		s.fail("%d points, want at most %d", points, maxFloorPoints)
	}
	s.at += (points - 2) * size
}

// residue reads a residue. Each of its partitions has a class, each class a codebook in each of eight passes or
// none.
func (s *vorbisSetup) residue() {
	s.at += 16 + 24 + 24
	partition, classes := s.read(24)+1, s.read(6)+1
	if dims := s.dims[s.read(8)]; dims > maxClassDims {
		s.fail("%d classes, %d in a code", classes, dims)
	}
	books := 0
	for range classes {
		passes := s.read(3)
		if s.read(1) == 1 {
			passes |= s.read(5) << 3
		}
		books += bits.OnesCount(uint(passes))
	}
	for range books {
		if dims := s.dims[s.read(8)]; partition%dims != 0 {
			s.fail("partitions of %d values, vectors of %d", partition, dims)
		}
	}
}
