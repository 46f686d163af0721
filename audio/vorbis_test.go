package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// highBits writes numbers as a vorbisSetup reads them.
type highBits struct {
	b  []byte
	at int
}

func (w *highBits) put(pairs ...int) { // value, bits
	for i := 0; i < len(pairs); i += 2 {
		for k := range pairs[i+1] {
			if w.at&7 == 0 {
				w.b = append(w.b, 0)
			}
			w.b[w.at>>3] |= byte(pairs[i]>>k&1) << (w.at & 7)
			w.at++
		}
	}
}

// A tinyVorbis is a setup with one codebook of two entries, one floor, one residue. Its
// packets are of two bytes: all codes after them are read as zeros.
type tinyVorbis struct {
	channels, rate, dims            int
	floor, points                   int // type; partitions of eight points
	partition, classes, class, book int
}

// harmless is one that decodes.
var harmless = tinyVorbis{channels: 1, rate: 16000, dims: 1, floor: 1, points: 1, partition: 32, classes: 1}

func (v tinyVorbis) setup() []byte {
	w := &highBits{b: []byte("\x05vorbis"), at: 56}
	w.put(0, 8, 0x564342, 24, v.dims, 16, 2, 24, 0, 1, 0, 1, 0, 5, 0, 5) // two codes of one bit
	w.put(1, 4, 0, 32, 1<<20, 32, 0, 4, 0, 1)
	if v.dims == 1 {
		w.put(0, 1)
	}
	w.put(0, 1)              // two values for each of one dimension, one for more
	w.put(0, 6, 0, 16)       // transforms
	w.put(0, 6, v.floor, 16) // floors
	w.put(v.points, 5)       // partitions
	for range v.points {
		w.put(0, 4) // their class
	}
	w.put(7, 3, 0, 2, 0, 8, 0, 2, 9, 4) // the class has eight points and no book
	for i := range 8 * v.points {
		w.put(i+1, 9)
	}
	w.put(0, 6, 2, 16, 0, 24, 1<<24-1, 24, v.partition-1, 24, v.classes-1, 6, v.class, 8) // residues
	for range v.classes {
		w.put(7, 3, 1, 1, 31, 5) // a book in all eight passes
	}
	for range 8 * v.classes {
		w.put(v.book, 8)
	}
	w.put(0, 6, 0, 16, 0, 1, 0, 1, 0, 2, 0, 8, 0, 8, 0, 8) // mappings
	w.put(0, 6, 0, 1, 0, 16, 0, 16, 0, 8, 1, 1)            // modes
	return w.b
}

// file returns an Ogg file of the headers and n packets.
func (v tinyVorbis) file(packets int) (b []byte) {
	le := binary.LittleEndian
	id := append(le.AppendUint32([]byte("\x01vorbis"), 0), byte(v.channels))
	id = append(le.AppendUint32(id, uint32(v.rate)), "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xdd\x01"...) // blocks of 8192
	all := [][]byte{id, []byte("\x03vorbis\x00\x00\x00\x00\x00\x00\x00\x00\x01"), v.setup()}
	for range packets {
		all = append(all, []byte("\x02\x00")) // a floor, and nothing else
	}
	for i, p := range all {
		at, kind := len(b), byte(0)
		if i == 0 {
			kind = 2 // the first page
		} else if i == len(all)-1 {
			kind = 4 // the last
		}
		b = append(append(b, "OggS\x00"...), kind)
		b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, uint64(max(0, i-3)*4096)), 1), uint32(i))
		b = append(b, 0, 0, 0, 0, byte(len(p)/255+1))
		b = append(append(b, bytes.Repeat([]byte{255}, len(p)/255)...), byte(len(p)%255))
		b = append(b, p...)
		reseal(b, at)
	}
	return b
}

// TestVorbisSlow: files of 300 bytes whose packets of two bytes would take the library
// the square of their samples, or more: each value of a partition may cost a vector of 65535.
func TestVorbisSlow(t *testing.T) {
	c, err := openBytes(harmless.file(3))
	if err != nil {
		t.Fatal(err)
	}
	if pcm, err := readAll(t, c); err != nil || len(pcm) != 2*4096 {
		t.Fatalf("harmless: %d samples, %v, want %d", len(pcm), err, 2*4096)
	}
	for name, tt := range map[string]struct {
		change func(v *tinyVorbis)
		cause  error
		want   string
	}{
		"vectors longer than partitions": {func(v *tinyVorbis) { v.dims, v.partition, v.channels, v.classes = 2, 1, 255, 1 }, ErrMalformed,
			"residue 0: got partitions of 1 values, vectors of 2"},
		"the longest": {func(v *tinyVorbis) { v.dims, v.partition = 24, 23 }, ErrMalformed, "partitions of 23 values, vectors of 24"},
		"classes by the thousand": {func(v *tinyVorbis) { v.dims, v.partition = 65535, 65535 }, ErrMalformed,
			"1 classes, 65535 in a code"},
		"no such class book": {func(v *tinyVorbis) { v.class = 9 }, ErrMalformed, "residue 0: got runtime error: index out of range [9]"},
		"no such book":       {func(v *tinyVorbis) { v.book = 9 }, ErrMalformed, "residue 0: got runtime error: index out of range [9]"},
		"a floor of many points": {func(v *tinyVorbis) { v.points = 9 }, ErrMalformed,
			"floor 0: got 74 points, want at most 65"},
		"a floor of type 0":     {func(v *tinyVorbis) { v.floor = 0 }, ErrUnsupported, "Vorbis floor: got type 0, want type 1"},
		"a floor of type 2":     {func(v *tinyVorbis) { v.floor = 2 }, ErrUnsupported, "Vorbis floor: got type 2, want type 1"},
		"255 channels at 1 MHz": {func(v *tinyVorbis) { v.channels, v.rate = 255, 1_000_000 }, ErrUnsupported, "at most 16777216 samples a second"},
	} {
		v := harmless
		tt.change(&v)
		_, err := openBytes(v.file(3))
		if !errors.Is(err, tt.cause) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %v with %q", name, err, tt.cause, tt.want)
		}
	}
}

// TestVorbisEmptyFloor: libvorbis gives the deepest channel of 5.1 sound a floor without
// partitions, which the library misreads; ffmpeg reads it.
func TestVorbisEmptyFloor(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, ErrUnsupported) {
			t.Errorf("error = %v, want ErrUnsupported", err)
		}
	}()
	(&vorbisSetup{b: []byte{1, 0, 0, 0, 0, 0}}).floor()
}
