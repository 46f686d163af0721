package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"
	"strings"
)

// maxPacket bounds a packet. Sound needs some 100 kB at most, in headers.
const maxPacket = 1 << 20

// maxDamage is how many damaged pages or frames a file may have before it is refused: the search for the next
// intact one takes time.
const maxDamage = 1000

const oggContinued, oggFirst, oggLast = 1, 2, 4 // flags of a page

// An oggReader gives the packets of one stream of an Ogg file, or of one link of a chained file. It
// verifies the checksum of pages and skips pages of other streams. After a damaged page it continues with the
// next intact one; the numbers of the pages show whether any of the stream is missing. A first page after later
// ones begins the next link.
//
// It is our own because known readers keep unfinished packets in memory without a bound, and because Opus,
// Vorbis and FLAC share it.
//
// Source: RFC 3533.
type oggReader struct {
	file    *file
	in      cursor
	at      int64    // of the next page
	sounds  []Track  // the streams with sound
	track   int      // index of the one that is decoded
	serial  uint32   // of that one
	several bool     // the file has several streams, of whatever kind: the sound may begin after the file does
	latest  int64    // position after which the beginning of sound is the beginning of the file
	seq     uint32   // number of its next page
	begun   bool     // its first page was read
	within  bool     // a later page was read
	sound   bool     // a page of sound was read
	last    bool     // its last page was read
	others  []uint32 // streams beside it
	chained bool     // the page at position at begins another stream
	broken  hole     // damage since its last page
	count   int      // of damaged pages
	lost    hole     // before the next packet
	queue   []packet
	part    []byte // of a packet that continues in the next page; nil if its start is missing
	counted bool   // packets state their length (FLAC): no samples are dropped at the end
}

// oggSounds are the streams with sound in Ogg, by the beginning of their first packet. A codec is made of header
// packets.
var oggSounds = []struct {
	magic, codec string
	headers      int
	open         func([][]byte) (codec, error) // nil: not read here; ffmpeg may
}{
	{"OpusHead", "opus", 1, newOpus},
	{"\x01vorbis", "vorbis", 3, newVorbis},
	{"\x7fFLAC", "flac", 1, newPackedFLAC},
	{"Speex   ", "speex", 0, nil},
	{"CELT    ", "celt", 0, nil},
	{"\x01audio\x00\x00\x00", "ogm", 0, nil},
}

// An oggStream is one of the streams with sound of a file.
type oggStream struct {
	serial uint32
	sound  int // index of oggSounds
}

// openOgg opens one of the streams with sound of an Ogg file.
func openOgg(f *file) (container, codec, error) {
	f.trim()
	o := &oggReader{file: f, in: f.cursor(0)}
	streams := o.survey()
	if len(o.sounds) == 0 {
		return nil, nil, unsupported("", readable(), "an Ogg file")
	}
	var err error
	if o.track, err = chooseTrack(o.sounds, f.track); err != nil {
		return nil, nil, err
	}
	c, err := o.codec(streams[o.track])
	if err == nil && o.several {
		o.latest = latestStart * int64(c.shape().rate)
	}
	return o, c, err
}

// codec reads the headers of a stream.
func (o *oggReader) codec(s oggStream) (codec, error) {
	kind := oggSounds[s.sound]
	if o.serial = s.serial; kind.open == nil {
		return nil, unsupported("", readable(), "an Ogg file with sound of the kind %s", kind.codec)
	}
	list := make([][]byte, kind.headers)
	for i := range list {
		p, err := o.next()
		if err != nil {
			return nil, err
		}
		list[i] = p.data
	}
	c, err := kind.open(list)
	_, o.counted = c.(*flacCodec)
	return c, err
}

// maxOggHeaders bounds the bytes in which the headers of all streams are sought. They can be read twice, also of a
// stream that arrives.
const maxOggHeaders = streamHistory / 2

// head returns a reader of a stream of the same file, as far as headers are sought.
func (o *oggReader) head(serial uint32) *oggReader {
	f := newFile(o.file.r, o.file.from, o.file.from+min(o.file.size, maxOggHeaders))
	return &oggReader{file: f, in: f.cursor(0), serial: serial}
}

// survey reads the first pages of all streams, which come before any other, and lists those with sound.
func (o *oggReader) survey() (sounds []oggStream) {
	head := o.head(0).file
	var b [27 + 255]byte
	for at, streams := int64(0), 0; streams < maxTracks; {
		n, _ := head.read(b[:], at)
		if n < 28 || !hasAt(b[:], 0, "OggS\x00") || b[5]&oggFirst == 0 {
			break
		}
		start, size := 27+int(b[26]), 0
		for _, s := range b[27:min(start, n)] {
			size += int(s)
		}
		packet := b[min(start, n):min(start+size, n)]
		for k, kind := range oggSounds {
			if hasAt(packet, 0, kind.magic) {
				s := oggStream{binary.LittleEndian.Uint32(b[14:]), k}
				sounds = append(sounds, s)
				t := Track{Number: len(o.sounds) + 1, Codec: kind.codec}
				t.Language, t.Title = o.head(s.serial).comments()
				o.sounds = append(o.sounds, t)
			}
		}
		if !hasAt(packet, 0, "fishead\x00") { // not an index
			streams++
			o.several = streams > 1
		}
		at += int64(start + size)
	}
	return sounds
}

// comments returns the language and the title in the second packet of a stream.
//
// Source: the Vorbis I specification, 5; RFC 7845, 5.2; RFC 9639, 10.1.
func (o *oggReader) comments() (language, title string) {
	var p packet
	for range 2 {
		var err error
		if p, err = o.next(); err != nil {
			return "", ""
		}
	}
	b := bytes.TrimPrefix(bytes.TrimPrefix(p.data, []byte("OpusTags")), []byte("\x03vorbis"))
	if len(b) > 4 && b[0]&0x7f == 4 && int(b[1])<<16|int(b[2])<<8|int(b[3]) == len(b)-4 { // a block of FLAC
		b = b[4:]
	}
	text := func() (t []byte) {
		if len(b) >= 4 {
			n := min(int(binary.LittleEndian.Uint32(b)), len(b)-4)
			t, b = b[4:4+n], b[4+n:]
		}
		return t
	}
	text() // the program that made the file
	for b = b[min(4, len(b)):]; len(b) >= 4; {
		switch key, value, _ := strings.Cut(string(text()), "="); strings.ToUpper(key) {
		case "LANGUAGE":
			language = languageCode(trackText([]byte(value)))
		case "TITLE":
			title = trackText([]byte(value))
		}
	}
	return language, title
}

// tracks returns the streams with sound, and the index of the one that is decoded.
func (o *oggReader) tracks() ([]Track, int) { return o.sounds, o.track }
func (o *oggReader) ending() ending {
	e := ending{cut: !o.last}
	switch head := o.file.head(o.at); {
	case !o.last && !o.chained:
	case hasAt(head, 0, "OggS\x00"):
		e.nextLink = o.at
	case tagSize(head) == 0: // the next page may be damaged
		e.nextLink = nextLink(o.file, o.at, 0)
	}
	return e
}

// nextLink returns the first place from at on where an Ogg page with some flags begins, or 0.
func nextLink(f *file, at int64, flags byte) int64 {
	for at = f.find(at, "OggS\x00"); at >= 0; at = f.find(at+1, "OggS\x00") {
		if head := f.head(at); len(head) > 5 && head[5]&flags == flags {
			return at
		}
	}
	return 0
}

func (o *oggReader) next() (packet, error) {
	for len(o.queue) == 0 {
		if err := o.page(); err != nil {
			return packet{}, err
		}
	}
	p := o.queue[0]
	o.queue = o.queue[1:]
	p.lost = o.lost.pop()
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
	if o.chained = b[5]&oggFirst != 0 && o.within; o.chained {
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
	at := o.file.find(o.at+1, "OggS")
	if at < 0 {
		return io.EOF
	}
	if !o.begun { // the headers are damaged
		return err
	}
	o.broken.add(hole{err, at - o.at})
	o.at, o.in = at, o.file.cursor(at)
	return nil
}

// add cuts the body of a page into packets.
func (o *oggReader) add(at int64, head, lacing, body []byte) error {
	serial, seq := binary.LittleEndian.Uint32(head[14:]), binary.LittleEndian.Uint32(head[18:])
	if serial == o.serial && !o.begun {
		o.seq, o.begun = seq, true
	}
	if known := slices.Contains(o.others, serial); serial != o.serial {
		if o.last && !known { // of a file whose first page is lost
			o.at, o.chained = at, true
			return io.EOF
		}
		if !known && len(o.others) < 1000 {
			o.others = append(o.others, serial)
		}
		return nil
	}
	continued := head[5]&oggContinued != 0
	if seq != o.seq || continued != (len(o.part) > 0) {
		if o.lost = o.broken; o.lost.why == nil && o.sound { // else the recording begins amid the stream
			want := fmt.Sprintf("page %d of its stream", o.seq)
			o.lost.why = malformed(fmt.Sprintf("Ogg page at byte %d", at), want, "page %d", seq)
		}
		o.part = nil
	}
	if !continued {
		o.part = []byte{}
	}
	o.broken, o.seq = hole{}, seq+1
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
			p := newPacket(o.part)
			p.pending = true
			o.queue = append(o.queue, p)
		}
		o.part = []byte{}
	}
	if granule := int64(binary.LittleEndian.Uint64(head[6:])); granule >= 0 && len(o.queue) > 0 {
		p := &o.queue[len(o.queue)-1]
		o.sound = o.sound || granule > 0
		p.absolute = granule <= o.latest
		if p.end, p.pending = granule, false; o.last && !o.counted {
			p.limit = granule
		}
	}
	return nil
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
