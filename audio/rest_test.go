package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAfterSamples: bytes right after uncompressed samples that may be more of them are read, or there is
// a warning. Recorders that break off leave stale sizes.
func TestAfterSamples(t *testing.T) {
	sound := make([]byte, 16000)
	for i := range sound {
		sound[i] = byte(i*i>>6) | 1
	}
	pcm, empty := chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunkOf("data", 0, nil)
	list := chunk("LIST", []byte("INFOISFT\x02\x00\x00\x00ab"))
	stale := func(b []byte, at int, size uint32, order binary.ByteOrder) []byte {
		b = bytes.Clone(b)
		order.PutUint32(b[at:], size)
		return b
	}
	caf := func(size uint64) []byte {
		b := readTestdata(t, "damage/tiny.caf")
		b = b[:bytes.Index(b, []byte("data"))+4]
		return slices.Concat(binary.BigEndian.AppendUint64(bytes.Clone(b), size), make([]byte, 4), sound)
	}
	au := append([]byte(".snd\x00\x00\x00\x18\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x3e\x80\x00\x00\x00\x01"), sound...)
	aiff := readTestdata(t, "damage/tiny.aiff")
	sizeAt := bytes.Index(aiff, []byte("SSND")) + 4
	whole := riff(pcm, chunk("data", sound))
	for why, tt := range map[string]struct {
		file    []byte
		samples int
		want    string // warning; empty: none
	}{
		"size 0, RIFF's is right":       {riff(pcm, chunkOf("data", 0, sound)), 8000, ""},
		"an empty chunk before it":      {riff(pcm, empty, chunk("data", sound)), 8004, ""}, // with a header
		"two chunks":                    {riff(pcm, chunk("data", sound), chunk("data", sound)), 8000, "bytes that no header"},
		"a second chunk appended":       {slices.Concat(whole, chunk("data", sound)), 8000, "bytes that no header"},
		"a stale size":                  {riff(pcm, chunkOf("data", 1000, sound)), 500, "bytes that no header accounts for"},
		"both sizes stale":              {stale(slices.Concat(whole, sound), 4, 1036, binary.LittleEndian), 8000, "bytes that no header"},
		"samples after":                 {slices.Concat(whole, sound), 8000, "bytes that no header"},
		"chunks after":                  {riff(pcm, chunk("data", sound), list, chunk("JUNK", sound)), 8000, ""},
		"a chunk after the end":         {slices.Concat(whole, chunk("id3 ", sound)), 8000, ""},
		"zeros after":                   {slices.Concat(whole, make([]byte, 9000)), 8000, ""},
		"little after":                  {slices.Concat(whole, sound[:1000]), 8000, ""},
		"an empty one is one":           {riff(pcm, empty, list), 0, ""},
		"CAF, size 0":                   {caf(0), 8000, ""},
		"CAF, a stale size":             {caf(1004), 500, "bytes that no header"},
		"AU, size 0":                    {au, 8000, ""},
		"AU, a stale size":              {stale(au, 8, 1000, binary.BigEndian), 500, "bytes that no header"},
		"AIFF, a stale size":            {stale(aiff, sizeAt, 1008, binary.BigEndian), 500, "bytes that no header"},
		"AIFF, a second chunk of sound": {slices.Concat(aiff, []byte("SSND\x00\x00\x3e\x80"), sound), -1, "bytes that no header"},
	} {
		h := decodeAll(tt.file, Input{})
		got := strings.Join(h.warnings(), " ")
		if h.err != nil || tt.samples >= 0 && len(h.samples) != tt.samples || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d samples, %v, %q; want %d, %q", why, len(h.samples), h.err, got, tt.samples, tt.want)
		}
		if s := decodeAll(tt.file, Input{Strict: true}); (s.err == nil) != (got == "") {
			t.Errorf("%s: strict: %v", why, s.err)
		}
	}
}

// TestEndPosition: where the last page of Ogg says that the stream ends, trims the last packet alone.
// A position that is further off is wrong, and all that is there is decoded.
func TestEndPosition(t *testing.T) {
	for name, packet := range map[string]int{"pages.opus": 960, "pages.ogg": 1024, "pages.oga": 0} {
		file := readTestdata(t, "damage/"+name)
		last := bytes.LastIndex(file, []byte("OggS"))
		end := binary.LittleEndian.Uint64(file[last+6:])
		tail := func(back uint64, damaged bool) int { // frames after damage, or all
			b := bytes.Clone(file)
			binary.LittleEndian.PutUint64(b[last+6:], end-back)
			reseal(b, last)
			if damaged { // in the page before it
				b[bytes.LastIndex(b[:last], []byte("OggS"))+40] ^= 1
			}
			h := decodeAll(b, Input{})
			if h.err != nil || h.clean() == damaged {
				t.Fatalf("%s, %d less: %v, %q", name, back, h.err, h.warnings())
			}
			n, l := len(h.samples)/h.clip.Channels(), h.clip.whole.now.mix.src.damageLog
			if damaged {
				n -= int(l.gaps[len(l.gaps)-1].to)
			}
			return n
		}
		for _, damaged := range []bool{false, true} {
			whole := tail(0, damaged)
			for _, back := range []uint64{5, 3000, end / 2, end - 1} {
				if lost := whole - tail(back, damaged); lost < -packet || lost > 0 && back != 5 || back == 5 && !damaged && lost != min(5, packet) {
					t.Errorf("%s, ends %d before its end, damaged: %t: %d samples are lost, want none", name, back, damaged, lost)
				}
			}
		}
	}
}

// TestEndAmid: where no header states how long the sound is, the end amid a cluster or a sample tells that the file
// was cut.
func TestEndAmid(t *testing.T) {
	file := bytes.Clone(readTestdata(t, "damage/clusters.webm"))
	segment := bytes.Index(file, []byte("\x18\x53\x80\x67")) + 5
	copy(file[segment:], "\xff\xff\xff\xff\xff\xff\xff") // as of a stream
	m, blocks := &mkvReader{file: newFile(bytes.NewReader(file), 0, int64(len(file)))}, 0
	m.in = m.file.cursor(0)
	for id, err := m.element(); err == nil; id, err = m.element() {
		next, _ := mkvID(m.file.head(m.at))
		within := next == mkvSimpleBlock || next == mkvBlockGroup
		if blocks++; id == mkvSimpleBlock && decodeAll(file[:m.at], Input{}).clean() == within {
			t.Errorf("cut at byte %d, before %x: want silent %t", m.at, next, !within)
		}
	}
	if blocks < 10 {
		t.Errorf("%d elements", blocks)
	}
	for size := range 4 * 3 { // bytes after whole samples of two channels of 16 bits, or one of 24
		pcm := make([]byte, 24000+size)
		wav := func(channels, bits int, claim uint32) []byte {
			return riff(chunk("fmt ", fmtBody(1, channels, 16000, bits)), chunkOf("data", claim, pcm))[:44+len(pcm)]
		}
		for why, tt := range map[string]struct {
			b    []byte
			want bool
		}{
			"two of 16":         {wav(2, 16, 0xffffffff), size%4 == 0},
			"one of 24, padded": {wav(1, 24, 0), size%3 < 2},
			"AU":                {slices.Concat([]byte(".snd\x00\x00\x00\x18\xff\xff\xff\xff\x00\x00\x00\x03\x00\x00\x3e\x80\x00\x00\x00\x02"), pcm), size%4 == 0},
		} {
			if h := decodeAll(tt.b, Input{}); h.clean() != tt.want || h.err == nil && h.clip.Truncated() == tt.want {
				t.Errorf("%s, %d bytes more: %v, %q", why, size, h.err, h.warnings())
			}
		}
	}
}

// renumbered returns an Ogg file as another stream.
func renumbered(file []byte) []byte {
	file = bytes.Clone(file)
	for at := 0; at < len(file); at += oggSize(file[at:]) {
		file[at+14] ^= 1
		reseal(file, at)
	}
	return file
}

// TestLostFirstPage: a link of chained Ogg whose first page is damaged or lost is a warning, and the link after it
// is read.
func TestLostFirstPage(t *testing.T) {
	for _, name := range []string{"pages.opus", "pages.ogg", "pages.oga"} {
		file := readTestdata(t, "damage/"+name)
		other, want := renumbered(file), len(decodeAll(file, Input{}).samples)
		damaged := bytes.Clone(other)
		damaged[5] ^= 1
		for why, b := range map[string][]byte{"damaged": damaged, "lost": other[oggSize(other):], "cut": other[oggSize(other)+9:]} {
			if h := decodeAll(slices.Concat(file, b, file), Input{}); h.err != nil || len(h.samples) != 2*want || !strings.Contains(fmt.Sprint(h.warnings()), "first page") {
				t.Errorf("%s, %s: %d samples, %v, %q; want %d", name, why, len(h.samples), h.err, h.warnings(), 2*want)
			}
			if s := decodeAll(slices.Concat(file, b), Input{Strict: true}); s.err == nil {
				t.Errorf("%s, %s: strict: no error", name, why)
			}
		}
		if h := decodeAll(slices.Concat(file, other), Input{}); !h.clean() || len(h.samples) != 2*want {
			t.Errorf("%s, whole: %d samples, %q", name, len(h.samples), h.warnings())
		}
	}
}

// TestUnknownOgg: a link of chained Ogg with an unknown codec is a warning, and the link after it is read.
func TestUnknownOgg(t *testing.T) {
	other := speex(t)
	for _, name := range []string{"pages.opus", "pages.ogg", "pages.oga"} {
		file := readTestdata(t, "damage/"+name)
		want := len(decodeAll(file, Input{}).samples)
		if h := decodeAll(slices.Concat(file, other, renumbered(file)), Input{}); h.err != nil || len(h.samples) != 2*want || !h.clip.Truncated() {
			t.Errorf("%s: %d samples, %v, %q; want %d and a warning", name, len(h.samples), h.err, h.warnings(), 2*want)
		}
		if h := decodeAll(slices.Concat(file, other), Input{Strict: true}); h.err == nil {
			t.Errorf("%s: strict: no error", name)
		}
	}
}

// TestAfterSegment: clusters after the stated end of a Segment are decoded, or there is a warning.
func TestAfterSegment(t *testing.T) {
	for _, name := range []string{"clusters.webm", "clusters.mka"} {
		file := readTestdata(t, "damage/"+name)
		last := bytes.LastIndex(file, []byte(mkvClusterID))
		whole := decodeAll(file, Input{})
		for why, tt := range map[string]struct {
			between string
			silent  bool
		}{
			"at once": {"", true}, "empty elements": {strings.Repeat("\xec\x80", 500), true}, "noise": {strings.Repeat("\x00what is no element", 50), false},
		} {
			b := slices.Concat(file, []byte(tt.between), file[last:])
			h := decodeAll(b, Input{})
			if h.err != nil || len(h.samples) <= len(whole.samples) || h.clean() != tt.silent {
				t.Errorf("%s, %s: %d samples, the file alone %d, %v, %q", name, why, len(h.samples), len(whole.samples), h.err, h.warnings())
			}
		}
	}
}

// TestBesideSound: what a file holds beside its sound, before, between or after it, is not sound, even
// if it is a sound file: FLAC keeps the header of the WAV file that it was made of, covers are AVIF, and
// ID3 and APE tags hold any object.
func TestBesideSound(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range []string{"tiny.wav", "tiny.aiff", "tiny.au", "tiny.caf", "notag.mp3", "vbr.mp3", "frames.flac", "pipe.flac", "pages.oga", "pages.opus", "clusters.webm"} {
		files[name] = readTestdata(t, "damage/"+name)
	}
	inside := map[string]string{
		"a picture": "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1" + strings.Repeat("\x01\x02", 300),
		"a header":  string(files["tiny.wav"][:44]) + strings.Repeat("\x03\x04", 300),
		"a tag":     string(tagOf("TIT2", "a title")) + string(files["notag.mp3"]),
	}
	for _, name := range []string{"tiny.aiff", "notag.mp3", "frames.flac", "pages.opus"} {
		inside[name] = string(files[name])
	}
	for name, file := range files {
		alone := len(decodeAll(file, Input{}).samples)
		for what, x := range inside {
			for where, b := range besideSound(name, file, x) {
				want := alone
				if strings.HasPrefix(where, "between") {
					want *= 2
				}
				if d := decodeAll(b, Input{}); !d.clean() || len(d.samples) != want {
					t.Errorf("%s, %s in %s: %d samples, %v, %q; want %d", name, what, where, len(d.samples), d.err, d.warnings(), want)
				}
			}
		}
	}
}

// tagOf makes an ID3 tag of one frame.
func tagOf(id, body string) []byte {
	n := 10 + len(body)
	tag := []byte{'I', 'D', '3', 3, 0, 0, byte(n >> 21), byte(n >> 14 & 127), byte(n >> 7 & 127), byte(n & 127)}
	return slices.Concat(tag, binary.BigEndian.AppendUint32([]byte(id), uint32(len(body))), []byte("\x00\x00"+body))
}

// besideSound puts x wherever a file may hold what is no sound.
func besideSound(name string, file []byte, x string) map[string][]byte {
	put := func(at int, what ...string) []byte {
		return slices.Concat(file[:at], []byte(strings.Join(what, "")), file[at:])
	}
	resize := func(order binary.ByteOrder, b []byte) []byte {
		order.PutUint32(b[4:], uint32(len(b)-8))
		return b
	}
	big, little := string(binary.BigEndian.AppendUint32(nil, uint32(len(x)))), string(binary.LittleEndian.AppendUint32(nil, uint32(len(x))))
	even := x + strings.Repeat("\x00", len(x)&1)
	id3 := string(tagOf("GEOB", "\x00a/b\x00c\x00d\x00"+x))
	item := little + "\x02\x00\x00\x00Cover Art (Front)\x00" + x
	end := "APETAGEX\xd0\x07\x00\x00" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(item)+32))) + "\x01\x00\x00\x00\x00\x00\x00"
	ape := end + "\xa0" + strings.Repeat("\x00", 8) + item + end + "\x80" + strings.Repeat("\x00", 8)
	old := "TAG" + strings.Repeat("a", 125)
	list := map[string][]byte{
		"ID3 before": put(0, id3), "ID3 after": put(len(file), id3), "ID3 twice": put(len(file), id3, old),
		"APE before": put(0, ape), "APE after": put(len(file), ape), "APE and ID3": put(len(file), ape, id3, old),
		"an APE tag without a header, at the end": put(len(file), item, end, strings.Repeat("\x00", 9), old),
	}
	switch name[strings.Index(name, "."):] {
	case ".mp3":
		list["between, ID3"], list["between, APE"] = put(len(file), id3, string(file)), put(len(file), ape, string(file))
	case ".flac":
		for _, kind := range []string{"\x06", "\x02"} {
			list[fmt.Sprintf("block %x", kind)] = put(42, kind, big[1:], x)
		}
	case ".wav":
		at := bytes.Index(file, []byte("data"))
		for _, id := range []string{"LIST", "id3 ", "JUNK"} {
			list[id+" before"] = resize(binary.LittleEndian, put(at, id, little, even))
			list[id+" after"] = resize(binary.LittleEndian, put(len(file), id, little, even))
			list[id+" at the end"] = put(len(file), id, little, even)
		}
	case ".aiff":
		at := bytes.Index(file, []byte("SSND"))
		for _, id := range []string{"ANNO", "ID3 ", "APPL"} {
			list[id+" before"] = resize(binary.BigEndian, put(at, id, big, even))
			list[id+" after"] = resize(binary.BigEndian, put(len(file), id, big, even))
			list[id+" at the end"] = put(len(file), id, big, even)
		}
	case ".au":
		start := string(binary.BigEndian.AppendUint32(nil, uint32(auHeader+len(x))))
		at := binary.BigEndian.Uint32(file[4:])
		list["a note"] = slices.Concat(file[:4], []byte(start), file[8:auHeader], []byte(x), file[at:])
	case ".caf":
		for _, id := range []string{"free", "info"} {
			list[id+" before"] = put(bytes.Index(file, []byte("data")), id, "\x00\x00\x00\x00", big, x)
			list[id+" at the end"] = put(len(file), id, "\x00\x00\x00\x00", big, x)
		}
	case ".oga":
		list["a block"] = withPacket(file, "\x06"+big[1:]+x)
	case ".webm":
		at := bytes.Index(file, []byte("\x18\x53\x80\x67"))
		file = slices.Concat(file[:at+4], []byte("\x01\xff\xff\xff\xff\xff\xff\xff"), file[at+12:])
		for _, id := range []string{"\x19\x41\xa4\x69", "\x12\x54\xc3\x67", "\xec"} {
			list[fmt.Sprintf("%x before", id)] = put(at+12, id, "\x10", big[1:], x)
			list[fmt.Sprintf("%x amid", id)] = put(bytes.LastIndex(file, []byte(mkvClusterID)), id, "\x10", big[1:], x)
		}
	}
	return list
}

// withPacket puts a header packet into an Ogg file, after its first page.
func withPacket(file []byte, packet string) []byte {
	first := oggSize(file)
	b, pages, goesOn := bytes.Clone(file[:first]), uint32(0), byte(0)
	for whole := false; !whole; pages, goesOn = pages+1, oggContinued {
		n := min(len(packet), 255*255)
		lacing, granule, start := bytes.Repeat([]byte{255}, n/255), strings.Repeat("\xff", 8), len(b)
		if whole = n < 255*255; whole {
			lacing, granule = append(lacing, byte(n%255)), strings.Repeat("\x00", 8)
		}
		b = slices.Concat(b, []byte("OggS\x00"), []byte{goesOn}, []byte(granule), file[14:18], binary.LittleEndian.AppendUint32(nil, pages+1),
			make([]byte, 4), []byte{byte(len(lacing))}, lacing, []byte(packet[:n]))
		reseal(b, start)
		packet = packet[n:]
	}
	for at := first; at < len(file); at += oggSize(file[at:]) {
		start := len(b)
		b = append(b, file[at:at+oggSize(file[at:])]...)
		binary.LittleEndian.PutUint32(b[start+18:], binary.LittleEndian.Uint32(b[start+18:])+pages)
		reseal(b, start)
	}
	return b
}
