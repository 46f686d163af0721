package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Elements of Matroska that sound needs, by their ids.
//
// Source: RFC 9559, 5.1.
const (
	mkvEBML         = 0x1a45dfa3
	mkvSegment      = 0x18538067
	mkvInfo         = 0x1549a966
	mkvScale        = 0x2ad7b1 // ns of a tick
	mkvTime         = 0xe7     // of a cluster, in ticks
	mkvCluster      = 0x1f43b675
	mkvTracks       = 0x1654ae6b
	mkvEntry        = 0xae
	mkvNumber       = 0xd7
	mkvType         = 0x83
	mkvCodec        = 0x86
	mkvPrivate      = 0x63a2
	mkvSimpleBlock  = 0xa3
	mkvBlockGroup   = 0xa0
	mkvBlock        = 0xa1
	mkvDiscard      = 0x75a2 // ns
	mkvEncodings    = 0x6d80
	mkvClusterID    = "\x1f\x43\xb6\x75"
	mkvUnknownSize  = -1
	mkvAudio        = 2
	maxMKVElement   = 1 << 20 // of what is kept
	maxMKVElements  = 1 << 24 // of a file
	mkvMaxLacedSize = maxPacket
)

// newMatroska opens the first audio track of a Matroska or WebM file, Opus or Vorbis.
// No library known to us reads such files in bounded memory.
func newMatroska(f *file) (source, error) {
	open := func() (packets, error) { return newMKV(f) }
	return newCoded(open, func(in packets) (codec, error) {
		m := in.(*mkvReader)
		c, err := m.track.open()
		if err == nil {
			m.rate = int64(c.shape().rate)
		}
		return c, err
	})
}

func (t mkvTrack) open() (codec, error) {
	switch t.codec {
	case "A_OPUS":
		return newOpus(t.private) // its skip counts: ffmpeg writes a wrong CodecDelay
	case "A_VORBIS":
		headers, err := xiphHeaders(t.private)
		if err != nil {
			return nil, err
		}
		return newVorbis(headers)
	case "":
		return nil, unsupported("Matroska tracks", "an audio track", "none")
	}
	return nil, unsupported("Matroska codec", "A_OPUS or A_VORBIS", "%q", t.codec)
}

// xiphHeaders cuts the three headers of Vorbis out of a track's private data: how
// many less one, the lengths of all but the last as sums of bytes, and the headers.
func xiphHeaders(b []byte) (h [3][]byte, err error) {
	bad := malformed("Vorbis headers", "three", "%d bytes", len(b))
	if len(b) < 3 || b[0] != 2 {
		return h, bad
	}
	sizes, at := [2]int{}, 1
	for i := range sizes {
		for {
			if at >= len(b) {
				return h, bad
			}
			v := b[at]
			sizes[i] += int(v)
			at++
			if v != 255 {
				break
			}
		}
	}
	if at+sizes[0]+sizes[1] > len(b) {
		return h, bad
	}
	h[0] = b[at : at+sizes[0] : at+sizes[0]]
	h[1] = b[at+sizes[0] : at+sizes[0]+sizes[1]]
	h[2] = b[at+sizes[0]+sizes[1]:]
	return h, nil
}

// An mkvTrack is what a track entry says.
type mkvTrack struct {
	number  uint64
	kind    uint64
	codec   string
	private []byte
}

// An mkvReader walks the elements of a file. It enters elements that hold others, so
// that their sizes, which may be unknown, do not matter, and skips elements that are
// not needed. Behind damage it goes on with the next cluster.
type mkvReader struct {
	file    *file
	in      cursor
	at      int64
	segment int64    // where it ends; 0 if unknown
	track   mkvTrack // the track that is decoded
	entry   mkvTrack // the track entry that is being read
	numbers []uint64 // of all tracks
	rate    int64    // samples a second of the track
	scale   int64    // ns of a tick
	time    int64    // of the cluster
	within  bool     // a cluster has begun
	queue   []packet
	lost    hole  // before the next packet
	seen    int   // elements
	broken  int   // damaged ones
	end     error // why no more packets come
	cut     bool  // the file ended inside an element
}

// newMKV reads up to the first cluster.
func newMKV(f *file) (*mkvReader, error) {
	m := &mkvReader{file: f, in: f.cursor(0), scale: 1e6}
	for {
		id, err := m.element()
		if err == io.EOF || err == nil && id == mkvCluster {
			m.choose()
			return m, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (m *mkvReader) ended() (whole bool, end int64) {
	return !m.cut && m.lost.why == nil && m.at >= m.segment, m.at
}

func (m *mkvReader) next() (packet, error) {
	// One packet more than is returned, since the duration to discard follows its
	// packet.
	for len(m.queue) < 2 && m.end == nil {
		at := m.at
		if at == m.segment && at > 0 && !hasAt(m.file.head(at), 0, mkvClusterID) {
			m.end = io.EOF
			break
		}
		if _, m.end = m.element(); errors.Is(m.end, ErrMalformed) {
			m.end = m.resume(at, m.end)
		}
		if at < m.segment && m.at > m.segment && m.end == nil {
			m.segment = 0 // its size is wrong: the sound goes on
		}
	}
	if len(m.queue) == 0 {
		return packet{}, m.end
	}
	p := m.queue[0]
	m.queue = m.queue[1:]
	return p, nil
}

// resume goes to the cluster behind damage.
func (m *mkvReader) resume(at int64, why error) error {
	if m.broken++; m.broken > maxDamage {
		return malformed("Matroska elements", fmt.Sprintf("at most %d damaged ones", maxDamage), "more")
	}
	next := m.file.find(at+1, mkvClusterID)
	m.miss(why, max(next, at)-at)
	if m.cut = next < 0; m.cut {
		return io.EOF
	}
	m.at, m.in = next, m.file.cursor(next)
	return nil
}

// miss notes damage before the next packet.
func (m *mkvReader) miss(why error, bytes int64) {
	if m.lost.why == nil {
		m.lost.why = why
	}
	m.lost.bytes += bytes
}

// element reads one element and returns its id.
func (m *mkvReader) element() (uint64, error) {
	at := m.at
	id, err := m.number(true)
	if err != nil {
		return 0, err
	}
	length, err := m.number(false)
	if err == io.EOF {
		m.cut = true
	}
	if err != nil {
		return 0, err
	}
	if m.seen++; m.seen > maxMKVElements {
		return 0, malformed("Matroska elements", fmt.Sprintf("at most %d", maxMKVElements), "more")
	}
	switch id {
	case mkvSegment, mkvCluster, mkvTracks, mkvBlockGroup, mkvInfo:
		if m.within = m.within || id == mkvCluster; id == mkvSegment && length <= math.MaxInt64/2 {
			m.segment = m.at + int64(length)
		}
		return id, nil // their elements come next
	case mkvEntry:
		m.choose()
		m.entry = mkvTrack{}
		return id, nil
	case mkvNumber, mkvType, mkvCodec, mkvPrivate, mkvSimpleBlock, mkvBlock, mkvDiscard, mkvEncodings, mkvTime, mkvScale:
		b, err := m.body(at, id, length)
		if err != nil {
			return 0, err
		}
		return id, m.take(id, b, at)
	}
	thing := fmt.Sprintf("Matroska element %x at byte %d", id, at)
	if int64(length) == mkvUnknownSize {
		return 0, malformed(thing, "a size", "none")
	}
	if most, ok := mkvOthers[id]; (m.within || id > 1<<24) && (!ok || length > most) {
		m.miss(malformed(thing, "sound, or what may stand beside it", "%d bytes of neither", length), int64(length))
	}
	return id, m.skip(int64(length))
}

// mkvOthers are the elements that may lie beside sound, each with its largest size. One
// that is none of them may be sound with a damaged id.
var mkvOthers = map[uint64]uint64{
	mkvEBML: math.MaxUint64, 0x114d9b74: math.MaxUint64, 0x1c53bb6b: math.MaxUint64, 0x1254c367: math.MaxUint64,
	0x1941a469: math.MaxUint64, 0x1043a770: math.MaxUint64, 0xec: math.MaxUint64, // tables, tags, files, empty
	0xa7: 8, 0xab: 8, 0x9b: 8, 0xfb: 8, 0xfa: 8, 0xbf: 4, 0x5854: 256, 0x75a1: maxMKVElement, // about clusters and blocks
}

// number reads a variable number: as many zero bits as bytes follow, a one, and
// the rest. An id keeps the one. A size of all ones is unknown.
func (m *mkvReader) number(id bool) (uint64, error) {
	first, err := m.in.ReadByte()
	if err != nil {
		return 0, err
	}
	n := 1
	for mask := byte(0x80); n <= 8 && first&mask == 0; n++ {
		mask >>= 1
	}
	if n > 8 {
		return 0, malformed(fmt.Sprintf("byte %d", m.at), "a Matroska element", "%02x", first)
	}
	v, ones := uint64(first), uint64(1)<<(7*n)-1
	for range n - 1 {
		b, err := m.in.ReadByte()
		if m.cut = err == io.EOF; err != nil {
			return 0, err
		}
		v = v<<8 | uint64(b)
	}
	m.at += int64(n)
	if id {
		return v, nil
	}
	if v &= ones; v == ones {
		return math.MaxUint64, nil // mkvUnknownSize
	}
	return v, nil
}

func (m *mkvReader) body(at int64, id, length uint64) ([]byte, error) {
	if length > maxMKVElement {
		return nil, malformed(fmt.Sprintf("Matroska element %x at byte %d", id, at),
			fmt.Sprintf("at most %d bytes", maxMKVElement), "%d", length)
	}
	if int64(length) > m.file.size-m.at {
		m.cut = true
		return nil, io.EOF
	}
	b := make([]byte, length)
	n, err := io.ReadFull(m.in, b)
	m.at += int64(n)
	if m.cut = err != nil; m.cut {
		return nil, io.EOF
	}
	return b, nil
}

// skip passes over n bytes.
func (m *mkvReader) skip(n int64) error {
	m.file.look(m.at, m.at+min(n, m.file.size))
	if n > m.file.size-m.at {
		m.cut = true
		return io.EOF
	}
	m.at += n
	m.in = m.file.cursor(m.at)
	return nil
}

// choose keeps the track described last if it is the first one with sound.
func (m *mkvReader) choose() {
	if m.track.codec == "" && m.entry.kind == mkvAudio {
		m.track = m.entry
	}
}

func (m *mkvReader) take(id uint64, b []byte, at int64) error {
	switch id {
	case mkvNumber:
		m.entry.number = uintOf(b)
		if len(m.numbers) < 1000 {
			m.numbers = append(m.numbers, m.entry.number)
		}
	case mkvTime:
		m.time = int64(uintOf(b) & math.MaxInt64)
	case mkvScale:
		m.scale = int64(uintOf(b) & math.MaxInt32)
	case mkvType:
		m.entry.kind = uintOf(b)
	case mkvCodec:
		m.entry.codec = string(b)
	case mkvPrivate:
		m.entry.private = b
	case mkvEncodings:
		return unsupported(fmt.Sprintf("Matroska track at byte %d", at),
			"plain packets", "compressed or encrypted ones")
	case mkvSimpleBlock, mkvBlock:
		return m.block(b, at)
	case mkvDiscard: // of the block before, in its group
		if n := len(m.queue); n > 0 && len(b) == 8 {
			m.queue[n-1].discard = max(int64(binary.BigEndian.Uint64(b)), 0)
		} else if n > 0 {
			m.queue[n-1].discard = int64(uintOf(b) & math.MaxInt32)
		}
	}
	return nil
}

// uintOf returns the number in up to eight bytes.
func uintOf(b []byte) (v uint64) {
	for _, c := range b[:min(len(b), 8)] {
		v = v<<8 | uint64(c)
	}
	return v
}

// block cuts a block into packets: track, time, flags, and how several are laced.
func (m *mkvReader) block(b []byte, at int64) error {
	bad := malformed(fmt.Sprintf("Matroska block at byte %d", at), "whole packets", "%d bytes", len(b))
	track, n := vint(b)
	if n == 0 || len(b) < n+3 {
		return bad
	}
	if track != m.track.number {
		if !slices.Contains(m.numbers, track) {
			return bad
		}
		return nil
	}
	ticks := float64(m.time) + float64(int16(binary.BigEndian.Uint16(b[n:])))
	lacing, b := b[n+2]>>1&3, b[n+3:]
	sizes, ok := []int{len(b)}, true
	if lacing > 0 {
		if len(b) == 0 {
			return bad
		}
		if sizes, b, ok = lacedSizes(lacing, int(b[0])+1, b[1:]); !ok {
			return bad
		}
	}
	for i, s := range sizes {
		p := newPacket(b[:s:s])
		if at := ticks * float64(m.scale) / 1e9 * float64(m.rate); i == 0 && at < 1<<53 {
			p.start = max(0, int64(math.Round(at)))
			p.lost, m.lost = m.lost, hole{}
		}
		m.queue = append(m.queue, p)
		b = b[s:]
	}
	return nil
}

// vint reads a variable number from b and returns its length, 0 if there is none.
func vint(b []byte) (v uint64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	n = 1
	for mask := byte(0x80); b[0]&mask == 0; n++ {
		mask >>= 1
	}
	if len(b) < n {
		return 0, 0
	}
	return uintOf(b[:n]) & (1<<(7*n) - 1), n
}

// lacedSizes returns the sizes of n packets and where they begin. The sizes of all but
// the last are written as sums of bytes (1) or as a number and differences (3); with
// fixed lacing (2) all are equal.
func lacedSizes(lacing byte, n int, b []byte) (sizes []int, rest []byte, ok bool) {
	sizes = make([]int, n)
	total := 0
	for i := range n - 1 {
		switch lacing {
		case 1:
			for {
				if len(b) == 0 {
					return nil, nil, false
				}
				v := b[0]
				b = b[1:]
				sizes[i] += int(v)
				if v != 255 {
					break
				}
			}
		case 3:
			v, m := vint(b)
			if m == 0 || v > math.MaxInt32 {
				return nil, nil, false
			}
			b = b[m:]
			if sizes[i] = int(v); i > 0 {
				sizes[i] = sizes[i-1] + int(v) - (1<<(7*m-1) - 1)
			}
		}
		if sizes[i] < 0 || sizes[i] > mkvMaxLacedSize {
			return nil, nil, false
		}
		total += sizes[i]
	}
	if lacing == 2 {
		for i := range sizes {
			sizes[i] = len(b) / n
		}
		return sizes, b, len(b)%n == 0
	}
	sizes[n-1] = len(b) - total
	return sizes, b, sizes[n-1] >= 0
}

// isMatroska reports whether head is the header of a file of Matroska or WebM.
func isMatroska(head []byte) bool {
	return bytes.Contains(head, []byte("webm")) || bytes.Contains(head, []byte("matroska"))
}
