package audio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A packet is the unit of data that a container passes to a decoder.
type packet struct {
	data    []byte
	limit   int64 // number of samples after which the sound ends; -1: not here
	discard int64 // nanoseconds to drop at the end of this packet
}

// packets gives the packets of one stream. ended reports, after io.EOF, whether
// the stream had an end.
type packets interface {
	next() (packet, error)
	ended() bool
}

// A container opens a stream of packets at its first.
type container func() (packets, error)

// maxPacket bounds a packet. Sound needs some 100 kB at most, in headers.
const maxPacket = 1 << 20

// An oggReader gives the packets of the first stream of an Ogg file. It verifies the
// checksum of pages and skips pages of other streams. It is our own because known
// readers keep unfinished packets in memory without a bound, and because Opus, Vorbis
// and FLAC share it.
//
// Source: RFC 3533.
type oggReader struct {
	r      *bufio.Reader
	at     int64
	serial uint32
	known  bool // serial is
	last   bool // the page that ends the stream was read
	queue  []packet
	part   []byte // of a packet that goes on in the next page
}

func oggPackets(r io.ReaderAt, size int64) container {
	return func() (packets, error) {
		return &oggReader{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<14)}, nil
	}
}

func (o *oggReader) ended() bool { return o.last }

func (o *oggReader) next() (packet, error) {
	for len(o.queue) == 0 {
		if o.last {
			return packet{}, io.EOF
		}
		if err := o.page(); err != nil {
			return packet{}, err
		}
	}
	p := o.queue[0]
	o.queue = o.queue[1:]
	return p, nil
}

// page reads one page. A file that ends inside a page ends before it.
func (o *oggReader) page() error {
	var b [27 + 255]byte
	n, err := io.ReadFull(o.r, b[:27])
	thing := fmt.Sprintf("Ogg page at byte %d", o.at)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return io.EOF
	case err != nil:
		return fmt.Errorf("reading at byte %d: %w", o.at, err)
	case !hasAt(b[:n], 0, "OggS\x00"):
		return malformed(thing, `"OggS" and version 0`, "% x", b[:5])
	}
	segments := int(b[26])
	if _, err := io.ReadFull(o.r, b[27:27+segments]); err != nil {
		return io.EOF
	}
	size := 0
	for _, s := range b[27 : 27+segments] {
		size += int(s)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(o.r, body); err != nil {
		return io.EOF
	}
	want := binary.LittleEndian.Uint32(b[22:])
	clear(b[22:26])
	if got := oggSum(oggSum(0, b[:27+segments]), body); got != want {
		return malformed(thing, fmt.Sprintf("the checksum %08x", want), "%08x", got)
	}
	o.at += int64(27 + segments + size)
	return o.take(b[:27], b[27:27+segments], body)
}

// take cuts the body of a page into packets.
func (o *oggReader) take(head, lacing, body []byte) error {
	serial := binary.LittleEndian.Uint32(head[14:])
	const continued, first, last = 1, 2, 4
	if !o.known {
		o.serial, o.known = serial, true
	}
	if serial != o.serial {
		return nil
	}
	if head[5]&continued == 0 {
		o.part = nil
	}
	lost := head[5]&continued != 0 && o.part == nil // the start of the packet is missing
	o.last = head[5]&last != 0
	for _, s := range lacing {
		o.part = append(o.part, body[:s]...)
		body = body[s:]
		if len(o.part) > maxPacket {
			return malformed(fmt.Sprintf("Ogg packet before byte %d", o.at),
				fmt.Sprintf("at most %d bytes", maxPacket), "more")
		}
		if s == 255 {
			continue
		}
		if !lost {
			o.queue = append(o.queue, packet{data: o.part, limit: -1})
		}
		o.part, lost = nil, false
	}
	if granule := int64(binary.LittleEndian.Uint64(head[6:])); o.last && granule >= 0 {
		for i := range o.queue {
			o.queue[i].limit = granule
		}
	}
	if o.part == nil {
		o.part = []byte{}
	}
	return nil
}

// oggTable is the table of the CRC with the polynomial 0x04c11db7, highest bit first.
var oggTable = func() (t [256]uint32) {
	for i := range t {
		c := uint32(i) << 24
		for range 8 {
			c = c<<1 ^ uint32(int32(c)>>31)&0x04c11db7
		}
		t[i] = c
	}
	return t
}()

func oggSum(sum uint32, b []byte) uint32 {
	for _, v := range b {
		sum = sum<<8 ^ oggTable[byte(sum>>24)^v]
	}
	return sum
}

// newOggFLAC opens FLAC in an Ogg container: behind 9 bytes of its own, the first
// packet begins a FLAC file, and all packets together are one.
func newOggFLAC(r io.ReaderAt, size int64) (source, error) {
	f := &flacSource{}
	f.open = func() (io.Reader, error) {
		o, err := oggPackets(r, size)()
		return &packetStream{o: o, skip: 9}, err
	}
	if err := f.rewind(); err != nil {
		return nil, err
	}
	return f, nil
}

// A packetStream reads packets as one stream of bytes, without the header of the first
// one.
type packetStream struct {
	o    packets
	skip int
	rest []byte
}

func (p *packetStream) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		next, err := p.o.next()
		if err != nil {
			return 0, err
		}
		p.rest = next.data[min(p.skip, len(next.data)):]
		p.skip = 0
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
