package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBehindSamples: what lies behind uncompressed samples and may be more of them is read, or told
// of: recorders that break off leave stale sizes, editors split the sound in two.
func TestBehindSamples(t *testing.T) {
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
		"two chunks":                    {riff(pcm, chunk("data", sound), list, chunk("data", sound)), 8000, "data chunk at byte 16066: got another"},
		"a second chunk appended":       {slices.Concat(whole, chunk("data", sound)), 8000, "another"},
		"a stale size":                  {riff(pcm, chunkOf("data", 1000, sound)), 500, "bytes that no header tells of"},
		"both sizes stale":              {stale(slices.Concat(whole, sound), 4, 1036, binary.LittleEndian), 8000, "bytes that no header"},
		"samples behind":                {slices.Concat(whole, sound), 8000, "bytes that no header"},
		"samples behind, then a file":   {slices.Concat(whole, sound, whole), 16000, "bytes that no header"},
		"chunks behind":                 {riff(pcm, chunk("data", sound), list, chunk("JUNK", sound)), 8000, ""},
		"a chunk behind the end":        {slices.Concat(whole, chunk("id3 ", sound)), 8000, ""},
		"zeros behind":                  {slices.Concat(whole, make([]byte, 9000)), 8000, ""},
		"little behind":                 {slices.Concat(whole, sound[:1000]), 8000, ""},
		"another behind chunks":         {slices.Concat(riff(pcm, chunk("data", sound), list), whole), 16000, ""},
		"an empty one is one":           {riff(pcm, empty, list), 0, ""},
		"CAF, size 0":                   {caf(0), 8000, ""},
		"CAF, a stale size":             {caf(1004), 500, "bytes that no header"},
		"AU, size 0":                    {au, 8000, ""},
		"AU, a stale size":              {stale(au, 8, 1000, binary.BigEndian), 500, "bytes that no header"},
		"AIFF, a stale size":            {stale(aiff, sizeAt, 1008, binary.BigEndian), 500, "bytes that no header"},
		"AIFF, a second chunk of sound": {slices.Concat(aiff, []byte("SSND\x00\x00\x00\x10"), make([]byte, 16)), -1, "SSND chunk"},
	} {
		h := hear(tt.file, Input{})
		got := strings.Join(h.said(), " ")
		if h.err != nil || tt.samples >= 0 && len(h.samples) != tt.samples || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d samples, %v, %q; want %d, %q", why, len(h.samples), h.err, got, tt.samples, tt.want)
		}
		if s := hear(tt.file, Input{Strict: true}); (s.err == nil) != (got == "") {
			t.Errorf("%s: strict: %v", why, s.err)
		}
	}
}

// TestFFmpegBodies: streams and frames in a container that ffmpeg reads are none of another file, and
// behind it they are.
func TestFFmpegBodies(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'; head -c 32000 /dev/zero`)
	ac3, flac, ogg := bareFrames()["an AC-3 file"], readTestdata(t, "damage/frames.flac"), readTestdata(t, "damage/pages.ogg")
	mp3 := readTestdata(t, "damage/notag.mp3")
	avi := func(form string) []byte {
		return slices.Concat([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(4+len(mp3))), []byte(form), mp3)
	}
	box := func(name string, body []byte) []byte {
		return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), []byte(name), body)
	}
	video := bytes.Clone(ogg[:28+30])
	copy(video[14:], "other")      // stream
	copy(video[28:], "\x80theora") // its packet
	element := func(id string, body []byte) []byte {
		return slices.Concat([]byte(id), []byte{0x10 | byte(len(body)>>24), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body)
	}
	for why, file := range map[string][]byte{
		"AC-3 in MP4":                  slices.Concat(box("ftyp", []byte("isom0000")), box("mdat", ac3), box("moov", make([]byte, 100))),
		"AC-3 in WAV":                  riff(chunk("fmt ", fmtBody(0x2000, 1, 48000, 16)), chunk("data", ac3)),
		"FLAC in Matroska":             slices.Concat(element("\x1a\x45\xdf\xa3", []byte("\x42\x82\x88matroska")), element("\x18\x53\x80\x67", element("\x16\x54\xae\x6b", element("\xae", slices.Concat([]byte("\x83\x81\x02\x86\x86A_FLAC"), element("\x63\xa2", flac[:42])))))),
		"a video before Vorbis in Ogg": slices.Concat(video, ogg),
		"MP3 in AVI of two parts":      slices.Concat(avi("AVI "), avi("AVIX")),
		"MP3 in Windows Media":         slices.Concat([]byte(asfMagic), make([]byte, 8), []byte{30}, make([]byte, 13), make([]byte, 16), binary.LittleEndian.AppendUint64(nil, uint64(24+len(mp3))), mp3),
		"True Audio":                   slices.Concat([]byte("TTA1\x01\x00\x01\x00"), make([]byte, 100)),
	} {
		for _, behind := range [][]byte{nil, ac3, flac, mp3, slices.Concat([]byte("ID3\x04\x00\x00\x00\x00\x00\x05title"), mp3)} {
			name := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(name, slices.Concat(file, behind), 0o666); err != nil {
				t.Fatal(err)
			}
			c, err := Input{FFmpeg: program}.Open(t.Context(), name)
			if err != nil {
				t.Errorf("%s: %v", why, err)
				continue
			}
			_, err = readAll(t, c)
			c.Close()
			if got := strings.Join(c.Warnings(), " "); err != nil || (got == "") != (behind == nil) {
				t.Errorf("%s, %d bytes behind: %v, warnings %q", why, len(behind), err, got)
			}
		}
	}
}

// TestEndPosition: where the last page of Ogg says that the stream ends, trims the last packet alone.
// A position that is further off is wrong, and all that is there is heard.
func TestEndPosition(t *testing.T) {
	for name, packet := range map[string]int{"pages.opus": 960, "pages.ogg": 1024, "pages.oga": 0} {
		file := readTestdata(t, "damage/"+name)
		last := bytes.LastIndex(file, []byte("OggS"))
		end := binary.LittleEndian.Uint64(file[last+6:])
		tail := func(back uint64, damaged bool) int { // frames behind damage, or all
			b := bytes.Clone(file)
			binary.LittleEndian.PutUint64(b[last+6:], end-back)
			reseal(b, last)
			if damaged { // in the page before it
				b[bytes.LastIndex(b[:last], []byte("OggS"))+40] ^= 1
			}
			h := hear(b, Input{})
			if h.err != nil || h.silent() == damaged {
				t.Fatalf("%s, %d less: %v, %q", name, back, h.err, h.said())
			}
			n, l := len(h.samples)/h.clip.Channels(), h.clip.whole.now.mix.src.ledger
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

// TestTagTooLong: behind an ID3 tag whose size is beyond the end of its file, sound is looked for.
func TestTagTooLong(t *testing.T) {
	text := []byte("TIT2\x00\x00\x00\x04\x00\x00\x00abc")
	sound := []byte("ID3\x04\x00\x00\x00\x00\x00\x0e")
	tag := func(size string) []byte { return slices.Concat([]byte("ID3\x03\x00\x00"), []byte(size), text) }
	for _, name := range []string{"vbr.mp3", "notag.mp3", "tiny.wav", "frames.flac", "pages.opus", "clusters.webm"} {
		file := readTestdata(t, "damage/"+name)
		want := hear(file, Input{})
		for why, b := range map[string][]byte{
			"alone":        slices.Concat(tag("\x7f\x7f\x7f\x7f"), file),
			"behind a tag": slices.Concat(sound, text, tag("\x02\x00\x00\x00"), file),
			"before a tag": slices.Concat(tag("\x02\x00\x00\x00"), sound, text, file),
		} {
			h := hear(b, Input{})
			if said := strings.Join(h.said(), " "); h.err != nil || len(h.samples) != len(want.samples) || !strings.Contains(said, "ID3 tag: got") {
				t.Errorf("%s, %s: %d samples, %v, %q; want %d", name, why, len(h.samples), h.err, said, len(want.samples))
			}
			if s := hear(b, Input{Strict: true}); s.err == nil {
				t.Errorf("%s, %s: strict: no error", name, why)
			}
		}
		if h := hear(slices.Concat(file, tag("\x02\x00\x00\x00"), file), Input{}); h.err != nil || len(h.samples) != 2*len(want.samples) {
			t.Errorf("%s, between two: %d samples, %v", name, len(h.samples), h.err)
		}
	}
	if h := hear(tag("\x02\x00\x00\x00"), Input{}); !strings.Contains(fmt.Sprint(h.err), "sound behind it") {
		t.Errorf("a tag alone: %v", h.err)
	}
}

// TestMagicAtTheEnd: samples that end like the beginning of a file are samples: whatever looks further
// than the magic finds too few bytes.
func TestMagicAtTheEnd(t *testing.T) {
	for _, f := range formats {
		if f.sure == nil {
			continue
		}
		magic := []byte(strings.ReplaceAll(f.magic, "?", "\x00"))
		for _, more := range []int{0, 1, 2, 3, 4, 5, 7, 8, 16, 40} {
			head := slices.Concat(magic, bytes.Repeat([]byte{5}, more))
			if !f.matches(head) {
				t.Fatalf("%s: %q does not match", f.name, head)
			}
			f.sure(head)
			sound := slices.Concat(bytes.Repeat([]byte{1, 2}, 8000), make([]byte, len(head)%2), head)
			h := hear(riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", sound)), Input{})
			if h.err != nil || len(h.samples) < 8000 {
				t.Fatalf("%s and %d bytes: %d samples, %v", f.name, more, len(h.samples), h.err)
			}
		}
	}
}

// TestBehindSegment: clusters behind the stated end of a Segment are heard, or told of.
func TestBehindSegment(t *testing.T) {
	for _, name := range []string{"clusters.webm", "clusters.mka"} {
		file := readTestdata(t, "damage/"+name)
		last := bytes.LastIndex(file, []byte(mkvClusterID))
		whole := hear(file, Input{})
		for why, tt := range map[string]struct {
			between string
			silent  bool
		}{
			"at once": {"", true}, "empty elements": {strings.Repeat("\xec\x80", 500), true}, "noise": {strings.Repeat("\x00what is no element", 50), false},
		} {
			b := slices.Concat(file, []byte(tt.between), file[last:])
			h := hear(b, Input{})
			if h.err != nil || len(h.samples) <= len(whole.samples) || h.silent() != tt.silent {
				t.Errorf("%s, %s: %d samples, the file alone %d, %v, %q", name, why, len(h.samples), len(whole.samples), h.err, h.said())
			}
		}
	}
}

// TestPictures: what a file holds beside its sound, in parts that it states, is no other file: FLAC keeps
// the header of the WAV that it was made of, pictures are AVIF. A file behind it is one.
func TestPictures(t *testing.T) {
	wav, other := readTestdata(t, "damage/tiny.wav"), readTestdata(t, "damage/pages.opus")
	flac, aiff, caf, webm := readTestdata(t, "damage/frames.flac"), readTestdata(t, "damage/tiny.aiff"), readTestdata(t, "damage/tiny.caf"), readTestdata(t, "damage/clusters.webm")
	pcm, sound := chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", make([]byte, 3200))
	put := func(b []byte, at int, what ...string) []byte {
		return slices.Concat(b[:at], []byte(strings.Join(what, "")), b[at:])
	}
	for why, picture := range map[string]string{
		"a picture": "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1" + strings.Repeat("\x01\x02", 300),
		"a header":  string(wav[:44]) + strings.Repeat("\x03\x04", 300),
	} {
		size := string(binary.BigEndian.AppendUint32(nil, uint32(len(picture))))
		behind := slices.Concat(aiff, []byte("ID3 "+size+picture))
		binary.BigEndian.PutUint32(behind[4:], uint32(len(behind)-8))
		segment := bytes.Index(webm, []byte("\x18\x53\x80\x67"))
		for name, file := range map[string][]byte{
			"FLAC":       put(flac, 42, "\x02"+size[1:], picture),
			"WAV":        riff(pcm, chunk("LIST", []byte(picture)), sound),
			"WAV behind": riff(pcm, sound, chunk("id3 ", []byte(picture))),
			"AIFF":       behind,
			"CAF":        put(caf, bytes.Index(caf, []byte("data")), "uuid\x00\x00\x00\x00", size, picture),
			"WebM":       put(slices.Concat(webm[:segment+4], []byte("\x01\xff\xff\xff\xff\xff\xff\xff"), webm[segment+12:]), segment+12, "\x19\x41\xa4\x69\x10"+size[1:], picture),
		} {
			h := hear(file, Input{})
			if !h.silent() || len(h.samples) < 1600 {
				t.Errorf("%s in %s: %d samples, %v, %q", why, name, len(h.samples), h.err, h.said())
				continue
			}
			if j := hear(slices.Concat(file, other), Input{}); !j.silent() || len(j.samples) != len(h.samples)+48000 {
				t.Errorf("%s in %s, and a file behind: %d samples, %v, %q; want %d", why, name, len(j.samples), j.err, j.said(), len(h.samples)+48000)
			}
		}
	}
}
