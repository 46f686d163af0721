package audio

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
)

// Elements of Matroska that Opus needs, by their ids.
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
)

const (
	ebmlMagic      = "\x1a\x45\xdf\xa3"
	mkvClusterID   = "\x1f\x43\xb6\x75"
	mkvAudio       = 2              // a type of tracks
	mkvUnknownSize = math.MaxUint64 // of an element
	maxMKVElement  = 1 << 20        // size of one that is read
	maxMKVTracks   = 1000
	mkvLaced       = 6 // flags of a block of several packets
)

// An mkvTrack is a track entry.
type mkvTrack struct {
	number, kind uint64
	codec        string
	private      []byte
}

// An mkvReader reads what browsers record, WebM or Matroska with one audio track of Opus, beside which there may
// be pictures. It walks the elements of the file: it enters those that hold others, so that their sizes, which
// may be unknown, do not matter, and skips those that it does not need. After damage it continues with the next
// cluster.
type mkvReader struct {
	file      *file
	in        byteReader
	segment   int64      // where the Segment ends; 0 if unknown
	cluster   int64      // where the last cluster of known size ends, in case the Segment's size is unknown
	tracks    []mkvTrack // the last of them is being read
	number    uint64     // of the track that is decoded
	scale     int64      // ns of a tick
	time      int64      // of the cluster
	first     float64    // seconds: the least time of any block so far
	origin    float64    // seconds: the time of the beginning of the file
	started   bool       // origin is known
	inCluster bool       // a cluster has begun
	queue     []packet
	lossCause error // why sound before the next packet is lost
	broken    int   // damaged elements so far
	end       error // why no more packets come
	cut       bool  // the file ended inside an element
	unread    error // why what follows is not read
}

// openMatroska opens the audio track of a WebM or Matroska file.
func openMatroska(f *file) (container, codec, error) {
	m := &mkvReader{file: f, in: f.readerAt(0), scale: 1e6, first: math.Inf(1)}
	for !m.inCluster {
		if err := m.element(); err == io.EOF {
			break
		} else if err != nil {
			return nil, nil, err
		}
	}
	sound := slices.DeleteFunc(slices.Clone(m.tracks), func(t mkvTrack) bool { return t.kind != mkvAudio })
	switch {
	case len(sound) == 0:
		return nil, nil, ErrNoSound
	case len(sound) > 1:
		return nil, nil, unsupported("", readable(), "a Matroska file with %d audio tracks", len(sound))
	case sound[0].codec != "A_OPUS":
		return nil, nil, unsupported("", readable(), "a Matroska file with sound of the kind %q", sound[0].codec)
	}
	m.number = sound[0].number
	// The Opus header states how many samples to skip. CodecDelay does too, but ffmpeg writes it wrongly.
	c, err := newOpus(sound[0].private)
	if m.fill(1); errors.Is(m.end, ErrUnsupported) {
		err = m.end
	}
	return m, c, err
}

func (m *mkvReader) ending() ending {
	return ending{cut: m.cut || m.lossCause != nil || m.in.at() < max(m.segment, m.cluster), unread: m.unread}
}

func (m *mkvReader) next() (packet, error) {
	m.fill(2) // the duration to discard follows its packet
	if len(m.queue) == 0 {
		return packet{}, m.end
	}
	p := m.queue[0]
	m.queue = m.queue[1:]
	if last := len(m.queue) == 0; last && p.lossCause == nil || !last && p.start > m.queue[0].start {
		p.start = -1 // it may be damaged, and no later one confirms it
	}
	return p, nil
}

// fill reads until some packets are queued, or none follows.
func (m *mkvReader) fill(packets int) {
	for len(m.queue) < packets && m.end == nil {
		at := m.in.at()
		b, _ := m.in.Peek(8)
		id, _ := mkvID(b)
		if m.inCluster && id == mkvEBML {
			m.unread = malformed(fmt.Sprintf("byte %d", at), "the end of the file", "another file")
		}
		if m.unread != nil || at > 0 && at == m.segment && id != mkvCluster && id != mkvVoid {
			m.end = io.EOF
			return
		}
		if m.end = m.element(); errors.Is(m.end, ErrMalformed) {
			m.end = m.resume(at, m.end)
		}
		if at < m.segment && m.in.at() > m.segment && m.end == nil {
			m.segment = 0 // its size is wrong: the sound continues
		}
	}
}

// resume moves to the cluster after damage.
func (m *mkvReader) resume(at int64, why error) error {
	if m.broken++; m.broken > maxDamage {
		return malformed("Matroska elements", fmt.Sprintf("at most %d damaged ones", maxDamage), "more")
	}
	m.lossCause = cmp.Or(m.lossCause, why)
	next := m.file.find(at+1, mkvClusterID, isAny)
	if m.cut = next < 0; m.cut {
		return io.EOF
	}
	m.in = m.file.readerAt(next)
	return nil
}

// element reads one element.
func (m *mkvReader) element() error {
	at := m.in.at()
	id, length, err := m.head()
	if err != nil {
		return err
	}
	switch id {
	case mkvSegment, mkvCluster, mkvTracks, mkvBlockGroup, mkvInfo: // their elements come next
		m.inCluster = m.inCluster || id == mkvCluster
		if end := m.in.at() + int64(length); id == mkvSegment && length <= math.MaxInt64/2 {
			m.segment = end
		} else if id == mkvCluster && length <= math.MaxInt64/2 {
			m.cluster = end
		}
		return nil
	case mkvEntry:
		if m.tracks = append(m.tracks, mkvTrack{}); len(m.tracks) > maxMKVTracks {
			return malformed("Matroska tracks", fmt.Sprintf("at most %d", maxMKVTracks), "more")
		}
		return nil
	case mkvSimpleBlock, mkvBlock:
		if m.isForeign() { // a picture may be large
			return m.skip(at, id, length)
		}
		fallthrough
	case mkvNumber, mkvType, mkvCodec, mkvPrivate, mkvDiscard, mkvEncodings, mkvTime, mkvScale:
		b, err := m.body(at, id, length)
		if err != nil {
			return err
		}
		return m.set(id, b, at)
	}
	return m.skip(at, id, length)
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
			return 0, 0, malformed(fmt.Sprintf("byte %d", m.in.at()+int64(at)), "a Matroska element", "%02x", b[at])
		}
		m.cut = true
		return 0, 0, io.EOF
	}
	if size == 1<<(7*n)-1 {
		size = mkvUnknownSize
	}
	m.in.Discard(at + n)
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
	if err := m.fits(at, id, length); err != nil {
		return nil, err
	}
	b := make([]byte, length)
	_, err := io.ReadFull(m.in, b)
	if m.cut = err != nil; m.cut {
		return nil, io.EOF
	}
	return b, nil
}

// fits returns an error for an element that does not end in its cluster, or in the file.
func (m *mkvReader) fits(at int64, id, length uint64) error {
	end := m.file.size
	if at < m.cluster {
		end = min(end, m.cluster)
	}
	switch left := end - m.in.at(); {
	case length <= uint64(max(0, left)):
		return nil
	case m.inCluster: // more clusters may follow
		thing := fmt.Sprintf("Matroska element %x at byte %d", id, at)
		return malformed(thing, fmt.Sprintf("at most %d bytes", left), "%d", length)
	}
	m.cut = true
	return io.EOF
}

// skip passes over an element.
func (m *mkvReader) skip(at int64, id, length uint64) error {
	if length == mkvUnknownSize {
		return malformed(fmt.Sprintf("Matroska element %x at byte %d", id, at), "a size", "none")
	}
	if err := m.fits(at, id, length); err != nil {
		return err
	}
	m.in.skip(int64(length))
	return nil
}

// set stores the value of an element, or the packet of a block.
func (m *mkvReader) set(id uint64, b []byte, at int64) error {
	t := &mkvTrack{}
	if n := len(m.tracks); n > 0 {
		t = &m.tracks[n-1]
	}
	switch id {
	case mkvNumber:
		t.number = uintOf(b)
	case mkvType:
		t.kind = uintOf(b)
	case mkvCodec:
		t.codec = string(b)
	case mkvPrivate:
		t.private = b
	case mkvTime:
		m.time = int64(uintOf(b) & math.MaxInt64)
	case mkvScale:
		m.scale = int64(uintOf(b) & math.MaxInt32)
	case mkvEncodings:
		return unsupported("", readable(), "a Matroska file with compressed or encrypted packets")
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

// blockHead reads the beginning of a block: its track and its time in seconds. n is the length of the track's
// number, 0 if the block is too short.
func (m *mkvReader) blockHead(b []byte) (track uint64, seconds float64, n int) {
	if track, n = vint(b); n == 0 || len(b) < n+3 {
		return 0, 0, 0
	}
	ticks := float64(m.time) + float64(int16(binary.BigEndian.Uint16(b[n:])))
	return track, ticks * float64(m.scale) / 1e9, n
}

// isForeign reports whether the next block belongs to a known track that is not decoded.
func (m *mkvReader) isForeign() bool {
	b, _ := m.in.Peek(8 + 3)
	track, seconds, n := m.blockHead(b)
	if n == 0 || track == m.number || !slices.ContainsFunc(m.tracks, func(t mkvTrack) bool { return t.number == track }) {
		return false
	}
	m.first = min(m.first, seconds)
	return true
}

// block queues the packet of a block, after its track, its time and its flags.
func (m *mkvReader) block(b []byte, at int64) error {
	track, seconds, n := m.blockHead(b)
	if n == 0 || track != m.number {
		return malformed(fmt.Sprintf("Matroska block at byte %d", at), "a whole packet", "%d bytes", len(b))
	}
	if b[n+2]&mkvLaced != 0 {
		return unsupported("", readable(), "a Matroska file with several packets in a block")
	}
	m.first = min(m.first, seconds)
	p := newPacket(b[n+3:])
	if at := (seconds - m.begin()) * opusRate; at < 1<<53 {
		p.start, p.absolute = max(0, int64(math.Round(at))), true
		p.lossCause, m.lossCause = m.lossCause, nil
	}
	m.queue = append(m.queue, p)
	return nil
}

// latestStart is how many seconds the times of a file may begin after 0, its beginning. One that begins later
// was joined or cut out, and begins with its first block.
const latestStart = 60

// begin returns the time of the beginning of the file in seconds.
func (m *mkvReader) begin() float64 {
	if !m.started {
		if m.started = true; m.first > latestStart {
			m.origin = m.first
		}
	}
	return m.origin
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
