package audio

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
)

// maxPacket bounds a packet. Sound needs some 100 kB at most, in headers.
const maxPacket = 1 << 20

// maxDamage is how many damaged pages or frames a file may have before it is refused: the search for the next
// intact one takes time.
const maxDamage = 1000

const oggContinued, oggFirst, oggLast = 1, 2, 4 // flags of a page

// An oggReader gives the Opus packets of an Ogg file with one stream, or of one stream of a chained file. It
// verifies the checksum of pages. After a damaged page it continues with the next intact one; the numbers of
// the pages show whether any is missing. A first page after later ones, or one of another stream, begins the
// next stream.
//
// It is our own because known readers keep unfinished packets in memory without a bound.
//
// Source: RFC 3533.
type oggReader struct {
	file      *file
	in        byteReader
	at        int64  // of the next page
	serial    uint32 // of the stream
	seq       uint32 // number of its next page
	begun     bool   // its first page was read
	within    bool   // a later page was read
	sound     bool   // a page of sound was read
	last      bool   // its last page was read
	chained   bool   // the page at position at begins another stream
	broken    error  // damage since the last page
	count     int    // of damaged pages
	lossCause error  // why sound before the next packet is lost
	queue     []packet
	part      []byte // of a packet that continues in the next page; nil if its start is missing
}

// openOgg opens the only stream of an Ogg file, which is Opus.
func openOgg(f *file) (container, codec, error) {
	o := &oggReader{file: f, in: f.readerAt(0)}
	head, err := o.next()
	if err != nil {
		return nil, nil, err
	}
	if b := f.head(o.at); hasAt(b, 0, "OggS\x00") && b[5]&oggFirst != 0 && binary.LittleEndian.Uint32(b[14:]) != o.serial {
		return nil, nil, unsupported("", readable(), "an Ogg file with several streams")
	}
	c, err := newOpus(head.data)
	return o, c, err
}

func (o *oggReader) ending() ending {
	e := ending{cut: !o.last}
	switch head := o.file.head(o.at); {
	case !o.last && !o.chained:
	case hasAt(head, 0, "OggS\x00"):
		e.nextStream = o.at
	case tagSize(head) == 0: // the next page may be damaged
		e.nextStream = findPage(o.file, o.at, 0)
	}
	return e
}

// findPage returns the first place from at on where an Ogg page with some flags begins, or 0.
func findPage(f *file, at int64, flags byte) int64 {
	return max(0, f.find(at, "OggS\x00", func(head []byte) bool { return len(head) > 5 && head[5]&flags == flags }))
}

func (o *oggReader) next() (packet, error) {
	for len(o.queue) == 0 {
		if err := o.page(); err != nil {
			return packet{}, err
		}
	}
	p := o.queue[0]
	o.queue = o.queue[1:]
	p.lossCause, o.lossCause = o.lossCause, nil
	return p, nil
}

// page reads one page, or finds the next one if it is damaged.
func (o *oggReader) page() error {
	var b [27 + 255]byte
	thing := fmt.Sprintf("Ogg page at byte %d", o.at)
	if _, err := io.ReadFull(o.in, b[:27]); err != nil {
		return o.damaged(thing, err)
	}
	if !hasAt(b[:], 0, "OggS\x00") {
		return o.damaged(thing, malformed(thing, `"OggS" and version 0`, "% x", b[:5]))
	}
	segments, size := int(b[26]), 0
	if _, err := io.ReadFull(o.in, b[27:27+segments]); err != nil {
		return o.damaged(thing, err)
	}
	for _, s := range b[27 : 27+segments] {
		size += int(s)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(o.in, body); err != nil {
		return o.damaged(thing, err)
	}
	want := binary.LittleEndian.Uint32(b[22:])
	clear(b[22:26])
	if got := oggSum(b[:27+segments], body); got != want {
		return o.damaged(thing, malformed(thing, fmt.Sprintf("the checksum %08x", want), "%08x", got))
	}
	serial := binary.LittleEndian.Uint32(b[14:])
	if !o.begun {
		o.begun, o.serial, o.seq = true, serial, binary.LittleEndian.Uint32(b[18:])
	}
	if o.chained = b[5]&oggFirst != 0 && o.within || serial != o.serial; o.chained {
		return io.EOF
	}
	at := o.at
	o.at += int64(27 + segments + size)
	return o.add(at, b[:27], b[27:27+segments], body)
}

// damaged moves to the page after a damaged one. If there is none, the file ends here.
func (o *oggReader) damaged(thing string, err error) error {
	if !errors.Is(err, ErrMalformed) {
		err = malformed(thing, "a whole page", "the end of the file")
	}
	if o.count++; o.count > maxDamage {
		return malformed("Ogg pages", fmt.Sprintf("at most %d damaged ones", maxDamage), "more")
	}
	if o.last && tagSize(o.file.head(o.at)) > 0 {
		return io.EOF
	}
	at := o.file.find(o.at+1, "OggS", isAny)
	if at < 0 {
		return io.EOF
	}
	if !o.begun { // the headers are damaged
		return err
	}
	o.broken = cmp.Or(o.broken, err)
	o.at, o.in = at, o.file.readerAt(at)
	return nil
}

// add cuts the body of a page into packets.
func (o *oggReader) add(at int64, head, lacing, body []byte) error {
	seq, continued := binary.LittleEndian.Uint32(head[18:]), head[5]&oggContinued != 0
	if seq != o.seq || continued != (len(o.part) > 0) {
		if o.lossCause = o.broken; o.lossCause == nil && o.sound { // else the recording begins amid the stream
			want := fmt.Sprintf("page %d of its stream", o.seq)
			o.lossCause = malformed(fmt.Sprintf("Ogg page at byte %d", at), want, "page %d", seq)
		}
		o.part = nil
	}
	if !continued {
		o.part = []byte{}
	}
	o.broken, o.seq = nil, seq+1
	o.within, o.last = o.within || head[5]&oggFirst == 0, head[5]&oggLast != 0
	for _, s := range lacing {
		if o.part != nil {
			o.part = append(o.part, body[:s]...)
		}
		if body = body[s:]; len(o.part) > maxPacket {
			return malformed(fmt.Sprintf("Ogg packet before byte %d", o.at),
				fmt.Sprintf("at most %d bytes", maxPacket), "more")
		}
		if s == 255 {
			continue
		}
		if o.part != nil {
			o.queue = append(o.queue, newPacket(o.part))
		}
		o.part = []byte{}
	}
	if granule := int64(binary.LittleEndian.Uint64(head[6:])); granule >= 0 && len(o.queue) > 0 {
		o.date(granule)
	}
	return nil
}

// date sets the positions of the packets of a page, the last of which ends at granule. On the last page the
// sound may end before its last packet does.
func (o *oggReader) date(granule int64) {
	o.sound = o.sound || granule > 0
	if o.last {
		o.queue[len(o.queue)-1].limit = granule
		if o.lossCause == nil {
			return
		}
	}
	at := granule
	for _, p := range o.queue {
		at -= opusDuration(p.data)
	}
	for i := range o.queue {
		o.queue[i].start = at
		at += opusDuration(o.queue[i].data)
	}
}

// oggSum returns the checksum of bytes: zlib's with the bits in the other order, but without its first and last
// inversion.
func oggSum(list ...[]byte) uint32 {
	sum := ^uint32(0)
	for _, b := range list {
		b = bytes.Clone(b)
		for i, v := range b {
			b[i] = bits.Reverse8(v)
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
	}
	return bits.Reverse32(^sum)
}
