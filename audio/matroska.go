package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
)

// Elements of Matroska that sound needs, by their ids.
//
// Source: RFC 9559, 5.1.
const (
	mkvEBML        = 0x1a45dfa3
	mkvSegment     = 0x18538067
	mkvInfo        = 0x1549a966
	mkvScale       = 0x2ad7b1 // ns of a tick
	mkvTime        = 0xe7     // of a cluster, in ticks
	mkvCluster     = 0x1f43b675
	mkvTracks      = 0x1654ae6b
	mkvEntry       = 0xae
	mkvNumber      = 0xd7
	mkvType        = 0x83
	mkvCodec       = 0x86
	mkvPrivate     = 0x63a2
	mkvSimpleBlock = 0xa3
	mkvBlockGroup  = 0xa0
	mkvBlock       = 0xa1
	mkvDiscard     = 0x75a2 // ns
	mkvEncodings   = 0x6d80
	mkvVoid        = 0xec
	mkvAttachments = 0x1941a469
	mkvTags        = 0x1254c367
)

// Elements that are skipped, because they are indexes or describe clusters and blocks.
//
// Source: RFC 9559, 5.1; mkvCRC32: RFC 8794, 11.3.1.
const (
	mkvSeekHead          = 0x114d9b74
	mkvCues              = 0x1c53bb6b
	mkvChapters          = 0x1043a770
	mkvPosition          = 0xa7
	mkvPrevSize          = 0xab
	mkvBlockDuration     = 0x9b
	mkvReferenceBlock    = 0xfb
	mkvReferencePriority = 0xfa
	mkvCRC32             = 0xbf
	mkvSilentTracks      = 0x5854
	mkvBlockAdditions    = 0x75a1
)

const (
	mkvClusterID   = "\x1f\x43\xb6\x75"
	mkvAudio       = 2              // a type of tracks
	mkvUnknownSize = math.MaxUint64 // of an element
	maxMKVElement  = 1 << 20        // size of one that is read
)

// openMatroska opens the first audio track of a Matroska or WebM file, Opus or Vorbis. No library known to us
// reads such files in bounded memory.
func openMatroska(f *file) (container, codec, error) {
	m, err := newMKV(f)
	if err != nil {
		return nil, nil, err
	}
	c, err := m.track.open()
	if err == nil {
		m.rate = int64(c.shape().rate)
	}
	return m, c, err
}

func (t mkvTrack) open() (codec, error) {
	switch t.codec {
	case "A_OPUS":
		// The Opus header states how many samples to skip. CodecDelay does too, but ffmpeg writes it wrongly.
		return newOpus([][]byte{t.private})
	case "A_VORBIS": // the number of headers less one, then the headers, laced
		if hasAt(t.private, 0, "\x02") {
			if headers, ok := unlace(1, 3, t.private[1:]); ok {
				return newVorbis(headers)
			}
		}
		return nil, malformed("Vorbis headers", "three", "%d bytes", len(t.private))
	case "":
		return nil, unsupported("Matroska tracks", "an audio track", "none")
	}
	return nil, unsupported("Matroska codec", "A_OPUS or A_VORBIS", "%q", t.codec)
}

// An mkvTrack is a track entry.
type mkvTrack struct {
	number  uint64
	kind    uint64
	codec   string
	private []byte
}

// An mkvReader walks the elements of a file. It enters elements that hold others, so that their sizes, which
// may be unknown, do not matter, and skips elements that are not needed. After damage it continues with the
// next cluster.
type mkvReader struct {
	file      *file
	in        cursor
	at        int64
	segment   int64    // where the Segment ends; 0 if unknown
	cluster   int64    // where the last cluster of known size ends, in case the Segment's size is unknown
	track     mkvTrack // the track that is decoded
	entry     mkvTrack // the track entry that is being read
	numbers   []uint64 // of all tracks
	rate      int64    // samples a second of the track
	scale     int64    // ns of a tick
	time      int64    // of the cluster
	inCluster bool     // a cluster has begun
	queue     []packet
	lost      hole  // before the next packet
	broken    int   // damaged elements so far
	end       error // why no more packets come
	cut       bool  // the file ended inside an element
}

// newMKV reads up to the first cluster.
func newMKV(f *file) (*mkvReader, error) {
	m := &mkvReader{file: f, in: f.cursor(0), scale: 1e6}
	for {
		id, err := m.element()
		if err == io.EOF || err == nil && id == mkvCluster {
			m.chooseTrack()
			return m, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (m *mkvReader) ending() ending {
	return ending{cut: m.cut || m.lost.why != nil || m.at < max(m.segment, m.cluster)}
}

func (m *mkvReader) next() (packet, error) {
	// One packet more than is returned, since the duration to discard follows its packet.
	for len(m.queue) < 2 && m.end == nil {
		at := m.at
		if at == m.segment && at > 0 && !m.continues() {
			m.end = io.EOF
			break
		}
		if _, m.end = m.element(); errors.Is(m.end, ErrMalformed) {
			m.end = m.resume(at, m.end)
		}
		if at < m.segment && m.at > m.segment && m.end == nil {
			m.segment = 0 // its size is wrong: the sound continues
		}
	}
	if len(m.queue) == 0 {
		return packet{}, m.end
	}
	p := m.queue[0]
	m.queue = m.queue[1:]
	return p, nil
}

// resume moves to the cluster after damage.
func (m *mkvReader) resume(at int64, why error) error {
	if m.broken++; m.broken > maxDamage {
		return malformed("Matroska elements", fmt.Sprintf("at most %d damaged ones", maxDamage), "more")
	}
	next := m.file.find(at+1, mkvClusterID)
	m.lost.add(hole{why, max(next, at) - at})
	if m.cut = next < 0; m.cut {
		return io.EOF
	}
	m.at, m.in = next, m.file.cursor(next)
	return nil
}

// element reads one element and returns its id.
func (m *mkvReader) element() (uint64, error) {
	at := m.at
	id, length, err := m.head()
	if err != nil {
		return 0, err
	}
	switch id {
	case mkvSegment, mkvCluster, mkvTracks, mkvBlockGroup, mkvInfo:
		m.inCluster = m.inCluster || id == mkvCluster
		if end := m.at + int64(length); id == mkvSegment && length <= math.MaxInt64/2 {
			m.segment = end
		} else if id == mkvCluster && length <= math.MaxInt64/2 {
			m.cluster = end
		}
		return id, nil // their elements come next
	case mkvEntry:
		m.chooseTrack()
		m.entry = mkvTrack{}
		return id, nil
	case mkvNumber, mkvType, mkvCodec, mkvPrivate, mkvSimpleBlock, mkvBlock, mkvDiscard, mkvEncodings, mkvTime, mkvScale:
		b, err := m.body(at, id, length)
		if err != nil {
			return 0, err
		}
		return id, m.set(id, b, at)
	}
	thing := fmt.Sprintf("Matroska element %x at byte %d", id, at)
	if length == mkvUnknownSize {
		return 0, malformed(thing, "a size", "none")
	}
	if most, ok := mkvOthers[id]; (m.inCluster || id > 1<<24) && (!ok || length > most) {
		m.lost.add(hole{malformed(thing, "sound, or what may stand beside it", "%d bytes of neither", length), int64(length)})
	}
	return id, m.skip(int64(length))
}

// continues reports whether more of a Segment follows its stated end. Of a stream, only the next element is
// known.
func (m *mkvReader) continues() bool {
	id, _ := mkvID(m.file.head(m.at))
	if id == mkvEBML { // another file
		return false
	}
	return id == mkvCluster || id == mkvVoid || m.file.stream == nil && m.file.find(m.at, mkvClusterID) >= 0
}

// mkvOthers are the elements that may stand beside sound, each with its largest size. Any other may be sound
// with a damaged id.
var mkvOthers = map[uint64]uint64{
	mkvEBML: math.MaxUint64, mkvSeekHead: math.MaxUint64, mkvCues: math.MaxUint64, mkvTags: math.MaxUint64,
	mkvAttachments: math.MaxUint64, mkvChapters: math.MaxUint64, mkvVoid: math.MaxUint64,

	mkvPosition: 8, mkvPrevSize: 8, mkvBlockDuration: 8, mkvReferenceBlock: 8, mkvReferencePriority: 8,
	mkvCRC32: 4, mkvSilentTracks: 256, mkvBlockAdditions: maxMKVElement,
}

// head reads the id of an element, with its length marker, and its size, which is unknown if it is all ones.
func (m *mkvReader) head() (id, size uint64, err error) {
	b, err := m.in.Peek(8 + 8)
	if len(b) == 0 || err != nil && err != io.EOF {
		return 0, 0, err
	}
	id, at := mkvID(b)
	size, n := vint(b[at:])
	if n == 0 { // there is no size; or no id, and at is 0
		if at < len(b) && b[at] == 0 {
			return 0, 0, malformed(fmt.Sprintf("byte %d", m.at+int64(at)), "a Matroska element", "%02x", b[at])
		}
		m.cut = true
		return 0, 0, io.EOF
	}
	if size == 1<<(7*n)-1 {
		size = mkvUnknownSize
	}
	m.in.Discard(at + n)
	m.at += int64(at + n)
	return id, size, nil
}

// mkvID reads the id of an element and its length, which is 0 if there is none.
func mkvID(b []byte) (id uint64, n int) {
	if id, n = vint(b); n > 0 {
		id |= 1 << (7 * n)
	}
	return id, n
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
	if n > m.file.size-m.at {
		m.cut = true
		return io.EOF
	}
	m.at += n
	m.in.skip(n)
	return nil
}

// chooseTrack selects the track entry that was read last if it is the first one with sound.
func (m *mkvReader) chooseTrack() {
	if m.track.codec == "" && m.entry.kind == mkvAudio {
		m.track = m.entry
	}
}

// set stores the value of an element, or cuts a block.
func (m *mkvReader) set(id uint64, b []byte, at int64) error {
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
	case mkvDiscard: // of the block before, in its group; less than nothing is nothing
		if n := len(m.queue); n > 0 && len(b) > 0 && b[0] < 0x80 {
			m.queue[n-1].discard = min(uintOf(b), 1e12)
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
	frames, ok := [][]byte{b}, true
	if lacing > 0 {
		if len(b) == 0 {
			return bad
		}
		if frames, ok = unlace(lacing, int(b[0])+1, b[1:]); !ok {
			return bad
		}
	}
	for i, frame := range frames {
		p := newPacket(frame)
		if at := ticks * float64(m.scale) / 1e9 * float64(m.rate); i == 0 && at < 1<<53 {
			p.start = max(0, int64(math.Round(at)))
			p.lost = m.lost.pop()
		}
		m.queue = append(m.queue, p)
	}
	return nil
}

// vint reads a variable number from b: as many zero bits as bytes follow, a one, and the rest. It returns its
// length, 0 if there is none.
func vint(b []byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	if n = bits.LeadingZeros8(b[0]) + 1; n > min(8, len(b)) {
		return 0, 0
	}
	return uintOf(b[:n]) & (1<<(7*n) - 1), n
}

// unlace cuts b into n packets. The sizes of all but the last come first, as sums of bytes (1) or as a number
// and differences (3); with fixed lacing (2) all are equal.
func unlace(lacing byte, n int, b []byte) (list [][]byte, ok bool) {
	sizes, total := make([]int, n), 0
	for i := range n - 1 {
		switch lacing {
		case 1:
			for more := true; more; b = b[1:] {
				if len(b) == 0 {
					return nil, false
				}
				sizes[i] += int(b[0])
				more = b[0] == 255
			}
		case 2:
			sizes[i] = len(b) / n
		case 3:
			v, m := vint(b)
			if m == 0 || v > math.MaxInt32 {
				return nil, false
			}
			b = b[m:]
			if sizes[i] = int(v); i > 0 {
				sizes[i] = sizes[i-1] + int(v) - (1<<(7*m-1) - 1)
			}
		}
		if sizes[i] < 0 || sizes[i] > maxPacket {
			return nil, false
		}
		total += sizes[i]
	}
	if sizes[n-1] = len(b) - total; sizes[n-1] < 0 || lacing == 2 && len(b)%n > 0 {
		return nil, false
	}
	for _, size := range sizes {
		list = append(list, b[:size:size])
		b = b[size:]
	}
	return list, true
}
