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
	mkvName        = 0x536e
	mkvLanguage    = 0x22b59c // three letters
	mkvLanguageTag = 0x22b59d // BCP 47; replaces mkvLanguage
	mkvDefault     = 0x88     // 1 unless stated
	mkvAudioPart   = 0xe1
	mkvRate        = 0xb5
	mkvChannels    = 0x9f
	mkvBits        = 0x6264
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
	ebmlMagic      = "\x1a\x45\xdf\xa3"
	mkvClusterID   = "\x1f\x43\xb6\x75"
	mkvAudio       = 2              // a type of tracks
	mkvUnknownSize = math.MaxUint64 // of an element
	maxMKVElement  = 1 << 20        // size of one that is read
)

// openMatroska opens an audio track of a Matroska or WebM file, Opus or Vorbis. No library known to us reads
// such files in bounded memory.
func openMatroska(f *file) (container, codec, error) {
	m, err := newMKV(f)
	if err != nil {
		return nil, nil, err
	}
	c, err := m.choose()
	return m, c, err
}

// choose selects the track that is decoded and returns its codec.
func (m *mkvReader) choose() (codec, error) {
	if len(m.sound) == 0 {
		return nil, ErrNoSound
	}
	list, _ := m.tracks()
	i, err := chooseTrack(list, m.file.track)
	if err != nil {
		return nil, err
	}
	m.track, m.number = i, m.sound[i].number
	c, err := m.sound[i].codec()
	if err == nil {
		m.rate = int64(c.shape().rate)
	}
	return c, err
}

// codec returns the decoder of the track.
func (t mkvTrack) codec() (codec, error) {
	switch t.Codec {
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
	case "A_PCM/FLOAT/IEEE": // which ffmpeg writes for us
		l := pcmLayout{code: pcmFloat, container: t.bits / 8, channels: t.channels, rate: int(min(t.rate, maxRate+1))}
		return newPCM(nil, l), l.check(t.bits)
	}
	return nil, unsupported("Matroska codec", "A_OPUS or A_VORBIS", "%q", t.Codec)
}

// An mkvTrack is a track entry.
type mkvTrack struct {
	Track
	number   uint64
	kind     uint64
	private  []byte
	rate     float64
	channels int
	bits     int
	tagged   bool // Language is a tag of BCP 47
}

// An mkvReader walks the elements of a file. It enters elements that hold others, so that their sizes, which
// may be unknown, do not matter, and skips elements that are not needed. After damage it continues with the
// next cluster.
type mkvReader struct {
	file      *file
	in        cursor
	at        int64
	largest   uint64     // size of an element that is read; 0 for maxMKVElement
	segment   int64      // where the Segment ends; 0 if unknown
	cluster   int64      // where the last cluster of known size ends, in case the Segment's size is unknown
	sound     []mkvTrack // the tracks with sound
	track     int        // index of the one that is decoded
	number    uint64     // of that one in blocks
	entry     mkvTrack   // the track entry that is being read
	numbers   []uint64   // of all tracks
	rate      int64      // samples a second of the track
	scale     int64      // ns of a tick
	time      int64      // of the cluster
	first     float64    // seconds: the least time of any block so far
	origin    float64    // seconds: the time of the beginning of the file
	started   bool       // origin is known
	position  int64      // of the last packet that states one
	inCluster bool       // a cluster has begun
	queue     []packet
	lost      hole  // before the next packet
	broken    int   // damaged elements so far
	end       error // why no more packets come
	cut       bool  // the file ended inside an element
}

// newMKV reads up to the first cluster.
func newMKV(f *file) (*mkvReader, error) {
	m := &mkvReader{file: f, in: f.cursor(0), scale: 1e6, first: math.Inf(1), position: -1}
	for {
		id, err := m.element()
		if err == io.EOF || err == nil && id == mkvCluster {
			m.addTrack()
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
	if m.isOdd(p) {
		p.start = -1
	} else if p.start >= 0 {
		m.position = p.start
	}
	return p, nil
}

// isOdd reports whether the time of p, which comes before those of the queue, is damaged: the times of a track rise,
// but for a clock that is set back, and this one lies beside its neighbours. The last one has none to confirm it.
func (m *mkvReader) isOdd(p packet) bool {
	switch last := m.position; {
	case p.start < 0 || last < 0 && len(m.queue) == 0:
		return false
	case len(m.queue) == 0:
		return p.lost.why == nil && p.start > last && m.largest == 0
	default:
		next := m.queue[0].start
		return next >= 0 && (p.start > next || p.start < last && next >= last)
	}
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
	case mkvSegment, mkvCluster, mkvTracks, mkvBlockGroup, mkvInfo, mkvAudioPart:
		m.inCluster = m.inCluster || id == mkvCluster
		if end := m.at + int64(length); id == mkvSegment && length <= math.MaxInt64/2 {
			m.segment = end
		} else if id == mkvCluster && length <= math.MaxInt64/2 {
			m.cluster = end
		}
		return id, nil // their elements come next
	case mkvEntry:
		m.addTrack()
		m.entry = mkvTrack{Track: Track{Language: "eng", Default: true}, rate: 8000, channels: 1}
		return id, nil
	case mkvSimpleBlock, mkvBlock:
		if m.isForeign() { // a picture may be large
			return id, m.skip(at, id, length)
		}
		fallthrough
	case mkvNumber, mkvType, mkvCodec, mkvPrivate, mkvDiscard, mkvEncodings, mkvTime, mkvScale,
		mkvName, mkvLanguage, mkvLanguageTag, mkvDefault, mkvRate, mkvChannels, mkvBits:
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
	if err := m.skip(at, id, length); err != nil {
		return 0, err
	}
	if most, ok := mkvOthers[id]; (m.inCluster || id > 1<<24) && (!ok || length > most) {
		m.lost.add(hole{malformed(thing, "sound, or what may stand beside it", "%d bytes of neither", length), int64(length)})
	}
	return id, nil
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
	if most := cmp.Or(m.largest, maxMKVElement); length > most {
		return nil, malformed(fmt.Sprintf("Matroska element %x at byte %d", id, at),
			fmt.Sprintf("at most %d bytes", most), "%d", length)
	}
	if err := m.fits(at, id, length); err != nil {
		return nil, err
	}
	b := make([]byte, length)
	n, err := io.ReadFull(m.in, b)
	m.at += int64(n)
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
	switch left := end - m.at; {
	case length <= uint64(max(0, left)):
		return nil
	case m.inCluster: // more clusters may follow
		return malformed(fmt.Sprintf("Matroska element %x at byte %d", id, at), fmt.Sprintf("at most %d bytes", left), "%d", length)
	}
	m.cut = true
	return io.EOF
}

// skip passes over an element.
func (m *mkvReader) skip(at int64, id, length uint64) error {
	if err := m.fits(at, id, length); err != nil {
		return err
	}
	m.at += int64(length)
	m.in.skip(int64(length))
	return nil
}

// addTrack adds the track entry that was read last, if it has sound.
func (m *mkvReader) addTrack() {
	if m.entry.kind == mkvAudio && m.entry.Codec != "" && len(m.sound) < maxTracks {
		m.entry.Number = len(m.sound) + 1
		m.sound = append(m.sound, m.entry)
	}
	m.entry = mkvTrack{}
}

// tracks returns the tracks with sound, and the index of the one that is decoded.
func (m *mkvReader) tracks() ([]Track, int) {
	list := make([]Track, len(m.sound))
	for i, t := range m.sound {
		list[i] = t.Track
	}
	return list, m.track
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
	case mkvEncodings:
		return unsupported(fmt.Sprintf("Matroska track at byte %d", at),
			"plain packets", "compressed or encrypted ones")
	case mkvSimpleBlock, mkvBlock:
		return m.block(b, at)
	case mkvDiscard: // of the block before, in its group; less than nothing is nothing
		if n := len(m.queue); n > 0 && len(b) > 0 && b[0] < 0x80 {
			m.queue[n-1].discard = min(uintOf(b), 1e12)
		}
	default:
		m.entry.set(id, b)
	}
	return nil
}

// set stores the value of an element of a track entry.
func (t *mkvTrack) set(id uint64, b []byte) {
	switch id {
	case mkvType:
		t.kind = uintOf(b)
	case mkvCodec:
		t.Codec = string(b)
	case mkvPrivate:
		t.private = b
	case mkvName:
		t.Title = trackText(b)
	case mkvLanguage:
		if !t.tagged {
			t.Language = languageCode(trackText(b))
		}
	case mkvLanguageTag:
		t.Language, t.tagged = languageCode(trackText(b)), true
	case mkvDefault:
		t.Default = uintOf(b) > 0
	case mkvRate:
		t.rate = floatOf(b)
	case mkvBits:
		t.bits = int(min(uintOf(b), 64))
	case mkvChannels:
		t.channels = int(min(uintOf(b), maxChannels+1))
	}
}

// uintOf returns the number in up to eight bytes.
func uintOf(b []byte) (v uint64) {
	for _, c := range b[:min(len(b), 8)] {
		v = v<<8 | uint64(c)
	}
	return v
}

// floatOf returns the number in four or eight bytes; 0 for any other size.
func floatOf(b []byte) float64 {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
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
	if n == 0 || track == m.number || !slices.Contains(m.numbers, track) {
		return false
	}
	m.first = min(m.first, seconds)
	return true
}

// block cuts a block into packets: track, time, flags, and how several are laced.
func (m *mkvReader) block(b []byte, at int64) error {
	bad := malformed(fmt.Sprintf("Matroska block at byte %d", at), "whole packets", "%d bytes", len(b))
	track, seconds, n := m.blockHead(b)
	if n == 0 || track != m.number {
		return bad
	}
	m.first = min(m.first, seconds)
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
		if at := (seconds - m.begin()) * float64(m.rate); i == 0 && at < 1<<53 {
			p.start, p.absolute = max(0, int64(math.Round(at))), true
			p.lost = m.lost.pop()
		}
		m.queue = append(m.queue, p)
	}
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
