package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// oggPages cuts a file into pages.
func oggPages(file []byte) (pages [][]byte) {
	for at := 0; at < len(file); at += oggSize(file[at:]) {
		pages = append(pages, file[at:at+oggSize(file[at:])])
	}
	return pages
}

// oggPage makes a page of one packet.
func oggPage(flags byte, seq uint32, packet string) []byte {
	b := slices.Concat([]byte("OggS\x00"), []byte{flags}, make([]byte, 8+4), binary.LittleEndian.AppendUint32(nil, seq), make([]byte, 4),
		[]byte{byte(len(packet)/255 + 1)}, bytes.Repeat([]byte{255}, len(packet)/255), []byte{byte(len(packet) % 255)}, []byte(packet))
	reseal(b, 0)
	return b
}

// multiplex joins streams into one file: the first pages of all, then one page of each in turn.
func multiplex(streams ...[][]byte) (file []byte) {
	for i := 0; slices.ContainsFunc(streams, func(s [][]byte) bool { return i < len(s) }); i++ {
		for serial, pages := range streams {
			if i < len(pages) {
				at := len(file)
				file = append(file, pages[i]...)
				binary.LittleEndian.PutUint32(file[at+14:], uint32(serial)+0xfffffff0)
				reseal(file, at)
			}
		}
	}
	return file
}

// opusComments returns a header packet of Opus.
func opusComments(list ...string) string {
	word := func(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	b := "OpusTags" + word(4) + "test" + word(len(list))
	for _, c := range list {
		b += word(len(c)) + c
	}
	return b
}

// TestOggTracks: of several streams in one Ogg file one is read, as if it were alone, whatever stands beside it.
func TestOggTracks(t *testing.T) {
	alone := map[string]decoded{}
	pages := map[string][][]byte{}
	for _, name := range []string{"opus", "ogg", "oga"} {
		file := readTestdata(t, "damage/pages."+name)
		alone[name], pages[name] = decodeAll(file, Input{}), oggPages(file)
	}
	german := slices.Clone(pages["opus"])
	german[1] = oggPage(0, 1, opusComments("artist=x", "Language=ger", "TITLE=Ton\x1b[2J"))
	picture := [][]byte{oggPage(oggFirst, 0, "\x80theora\x03\x02"), oggPage(0, 1, "\x81theora"), oggPage(oggLast, 2, "x")}
	index := [][]byte{oggPage(oggFirst, 0, "fishead\x00\x04"), oggPage(oggLast, 1, "")}
	speex := [][]byte{oggPage(oggFirst, 0, "Speex   1.2"), oggPage(0, 1, opusComments("language=fr")[8:]), oggPage(oggLast, 2, "x")}
	three := multiplex(german, picture, pages["ogg"], pages["oga"], speex)
	for _, tt := range []struct {
		file []byte
		want string
		same string // the sound of this file alone; empty for a file that ffmpeg must read
	}{
		{three, "", "opus"}, {three, "1", "opus"}, {three, "2", "ogg"}, {three, "3", "oga"}, {three, "4", ""}, {three, "de", "opus"}, {three, "fr", ""},
		{multiplex(index, picture, pages["ogg"]), "", "ogg"}, {multiplex(picture, pages["oga"]), "", "oga"}, {multiplex(index, pages["opus"]), "1", "opus"},
		{multiplex(speex, pages["oga"]), "", ""}, {multiplex(speex, pages["oga"]), "2", "oga"}, {multiplex(picture, index), "", ""},
	} {
		h := decodeAll(tt.file, Input{Track: tt.want})
		if failed := new(FormatError); tt.same == "" {
			if !errors.As(h.err, &failed) || failed.Err != ErrUnsupported {
				t.Errorf("track %q: %v, want an unsupported format", tt.want, h.err)
			}
			continue
		}
		if !h.clean() || !slices.Equal(h.samples, alone[tt.same].samples) {
			t.Errorf("track %q: %d samples, %v; want the %d of %s alone", tt.want, len(h.samples), h.err, len(alone[tt.same].samples), tt.same)
			continue
		}
		twice := decodeAll(slices.Concat(tt.file, tt.file), Input{Track: tt.want})
		if !twice.clean() || len(twice.samples) != 2*len(h.samples) {
			t.Errorf("track %q of two files in a row: %d samples, %v", tt.want, len(twice.samples), twice.err)
		}
		for _, kind := range []string{"cut", "drop"} {
			for k := range damageKinds[kind].count {
				bad := decodeAll(damageKinds[kind].make(tt.file, k), Input{Track: tt.want})
				if bad.clean() && !slices.Equal(bad.samples, h.samples) {
					t.Errorf("track %q, %s %d: %d samples of %d without a warning", tt.want, kind, k, len(bad.samples), len(h.samples))
				}
			}
		}
	}
	if h := decodeAll(three, Input{Track: "5"}); !strings.Contains(fmt.Sprint(h.err), `no audio track 5, want 1 (ger, Ton`) {
		t.Errorf("track 5: %v", h.err)
	}
	h := decodeAll(three, Input{})
	want := []Track{{1, "opus", "ger", `Ton\x1b[2J`, false}, {2, "vorbis", "", "", false}, {3, "flac", "", "", false}, {4, "speex", "fr", "", false}}
	if list, read := h.clip.Tracks(); !slices.Equal(list, want) || read != 0 {
		t.Errorf("tracks %q, %d; want %q", list, read, want)
	}
}

// TestOggLateTrack: time 0 of a file of several streams is as the file states it, whether or not pages are missing,
// unless the sound begins after more than a minute.
func TestOggLateTrack(t *testing.T) {
	picture := [][]byte{oggPage(oggFirst, 0, "\x80theora\x03\x02"), oggPage(oggLast, 1, "x")}
	for _, name := range []string{"opus", "ogg", "oga"} {
		file := readTestdata(t, "damage/pages."+name)
		whole := decodeAll(file, Input{})
		rate := whole.clip.whole.first.mix.shape.rate
		// later returns the pages of a file from a time on, with others lost before them.
		later := func(name string, seconds, rate, lost int) [][]byte {
			pages := oggPages(bytes.Clone(readTestdata(t, "damage/pages."+name)))
			for _, p := range pages {
				if g := binary.LittleEndian.Uint64(p[6:]); g > 0 && g < 1<<60 {
					binary.LittleEndian.PutUint64(p[6:], g+uint64(seconds*rate))
					binary.LittleEndian.PutUint32(p[18:], binary.LittleEndian.Uint32(p[18:])+uint32(lost))
				}
			}
			return pages
		}
		beside := func(seconds int) [][]byte { return later("opus", seconds, 48000, 0) }
		for why, tt := range map[string]struct {
			first               [][]byte
			seconds, lost, late int
		}{
			"at once": {beside(0), 0, 0, 0}, "late": {beside(0), 5, 0, 5}, "both late": {beside(5), 5, 0, 5}, "late, after holes": {beside(0), 5, 9, 5},
			"the other late": {beside(7), 5, 0, 5}, "joined": {beside(3600), 3602, 9, 0}, "amid days": {beside(90 * 3600), 90*3600 + 3, 9, 0},
			"late by minutes": {beside(0), 100, 0, 0}, "beside a picture": {picture, 5, 0, 5}, "joined beside a picture": {picture, 100, 9, 0},
		} {
			track := "1"
			if bytes.Contains(tt.first[0], []byte("OpusHead")) {
				track = "2"
			}
			h := decodeAll(multiplex(tt.first, later(name, tt.seconds, rate, tt.lost)), Input{Track: track})
			less := len(h.samples) - len(whole.samples) - tt.late*rate*whole.clip.Channels()
			if !h.clean() || !(math.Abs(h.clip.Start()-float64(tt.late)) < 0.05) || max(less, -less) > rate/20*whole.clip.Channels() {
				t.Errorf("%s, %s: %d samples of %d, starts at %v s, want %d; %v, %q", name, why, len(h.samples), len(whole.samples), h.clip.Start(), tt.late, h.err, h.warnings())
			}
		}
	}
}

// TestOggTracksFFmpeg: of what ffmpeg writes the same track is read here and by ffmpeg.
func TestOggTracksFFmpeg(t *testing.T) {
	needs.Program(t, "ffmpeg")
	two := makeFile(t, "two.ogg", strings.Fields("-f lavfi -i sine=d=1:sample_rate=48000 -f lavfi -i sine=d=2 -map 0 -map 1 -c:a:0 libopus "+
		"-c:a:1 libvorbis -metadata:s:a:0 language=ger -metadata:s:a:1 language=eng -metadata:s:a:1 title=Comments")...)
	speex := makeFile(t, "speex.ogg", strings.Fields("-f lavfi -i sine=d=1:sample_rate=16000 -i "+two+" -map 0 -map 1:1 -c:a:0 libspeex -c:a:1 copy")...)
	for _, tt := range []struct {
		path, want string
		seconds    float64
	}{{two, "", 1}, {two, "2", 2}, {two, "en", 2}, {two, "de", 1}, {speex, "", 1}, {speex, "2", 2}} {
		c, err := Input{Track: tt.want}.Open(t.Context(), tt.path)
		if err != nil {
			t.Errorf("%s, track %q: %v", filepath.Base(tt.path), tt.want, err)
			continue
		}
		pcm, err := readAll(t, c)
		if got := float64(len(pcm)) / SampleRate; err != nil || !(math.Abs(got-tt.seconds) < 0.05) {
			t.Errorf("%s, track %q: %.2f s, %v; want %v", filepath.Base(tt.path), tt.want, got, err, tt.seconds)
		}
		if list, _ := c.Tracks(); tt.path == two && (len(list) != 2 || list[0].Language != "ger" || list[1].String() != "2 (eng, Comments)") {
			t.Errorf("tracks %v", list)
		}
		c.Close()
	}
}
