package audio

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// heard is what is read of a file: samples of all channels at the file's own rates.
type heard struct {
	samples []float64
	clip    *Clip
	err     error
}

// hear reads a file, and those behind it, without resampling.
func hear(file []byte, in Input) heard {
	in.FFmpeg = FFmpegNever
	c, err := in.open("x", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return heard{err: err}
	}
	h := heard{clip: c}
	for j := c.whole; !j.over; {
		m := j.now.mix
		block, err := m.src.read(1 << 12)
		h.samples = append(h.samples, block...)
		frames := int64(len(block) / m.shape.channels)
		m.frame += frames
		j.given += frames * SampleRate / int64(m.shape.rate)
		if err == io.EOF {
			if err = j.finish(); err == nil {
				err = j.follow()
			}
		}
		if err != nil || len(h.samples) > 1<<24 {
			h.err = err
			return h
		}
	}
	c.ended = true
	return h
}

// silent reports whether nothing was said about the file.
func (h heard) silent() bool { return h.err == nil && len(h.clip.Warnings()) == 0 }

// sum returns what ffmpeg.json holds of samples.
func (h heard) sum() [2]any {
	var b []byte
	for _, v := range h.samples {
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(v*(1<<31))))
	}
	s := sha256.Sum256(b)
	return [2]any{len(h.samples), hex.EncodeToString(s[:])[:8]}
}

// damageKinds damage a file of n bytes as tools/reference/damage_goldens.py does.
var damageKinds = map[string]struct {
	count int
	make  func(b []byte, k int) []byte
}{
	"cut": {10, func(b []byte, k int) []byte { return b[:len(b)*(k+1)/11] }},
	"flip": {40, func(b []byte, k int) []byte {
		b = bytes.Clone(b)
		b[min(len(b)*k/40+17, len(b)-1)] ^= 1 << (k % 8)
		return b
	}},
	"zero": {10, func(b []byte, k int) []byte {
		b = bytes.Clone(b)
		at := len(b) * (k + 1) / 11
		clear(b[at:min(at+512, len(b))])
		return b
	}},
	"drop": {10, func(b []byte, k int) []byte {
		at := len(b) * (k + 1) / 11
		return slices.Concat(b[:at], b[min(at+512, len(b)):])
	}},
}

// reference returns what ffmpeg heard, by file and kind of damage.
func reference(t testing.TB) map[string]map[string]json.RawMessage {
	t.Helper()
	b, err := os.ReadFile("testdata/damage/ffmpeg.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "ffmpeg")
	files := map[string]map[string]json.RawMessage{}
	for name, raw := range all {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		files[name] = m
	}
	return files
}

// exact reports whether samples of a file are exact: the format loses none.
func exact(name string) bool {
	return !slices.Contains([]string{".mp3", ".ogg", ".opus", ".webm", ".mka"}, filepath.Ext(name))
}

// TestDamage damages a file of every format in many ways. Either what is heard equals what
// ffmpeg hears (its samples, or how many there are where the format is lossy), or there is an
// error, or a warning together with Truncated or Damaged. With Strict, warnings are errors.
func TestDamage(t *testing.T) {
	for name, want := range reference(t) {
		file := readTestdata(t, name)
		whole := hear(file, Input{})
		check := func(what string, h heard, golden json.RawMessage) {
			var g [2]any
			if err := json.Unmarshal(golden, &g); err != nil {
				t.Fatal(err)
			}
			got := h.sum()
			off := math.Abs(float64(got[0].(int)) - g[0].(float64))
			if filepath.Ext(name) == ".mka" { // a bit of Vorbis without a checksum may change the size of a block
				off = max(0, off-256)
			}
			if h.silent() && (off > 0 || exact(name) && got[1] != g[1]) && !slices.Equal(h.samples, whole.samples) {
				t.Errorf("%s, %s: %v without a word, ffmpeg has %v, the whole file %v", name, what, got, g, whole.sum())
			}
		}
		check("whole", whole, want["whole"])
		if !whole.silent() {
			t.Errorf("%s: %v, %q", name, whole.err, whole.said())
		}
		for kind, d := range damageKinds {
			var golden []json.RawMessage
			if err := json.Unmarshal(want[kind], &golden); err != nil || len(golden) != d.count {
				t.Fatalf("%s: %d of %s, %v", name, len(golden), kind, err)
			}
			said := map[string]int{}
			for k := range d.count {
				if testing.Short() && k%3 > 0 {
					continue
				}
				bad := d.make(file, k)
				h := hear(bad, Input{})
				what := kind + " " + string(rune('0'+k/10)) + string(rune('0'+k%10))
				check(what, h, golden[k])
				switch {
				case h.silent():
					said["nothing"]++
				case h.err != nil:
					said["an error"]++
				default:
					said["a warning"]++
					if !h.clip.Truncated() && h.clip.Damaged() == nil {
						t.Errorf("%s, %s: only %q", name, what, h.clip.Warnings())
					}
				}
				if s := hear(bad, Input{Strict: true}); h.silent() != (s.err == nil) {
					t.Errorf("%s, %s: strict: %v; otherwise %v", name, what, s.err, h.clip.Warnings())
				}
			}
			t.Logf("%s: %s: %v", name, kind, said)
		}
	}
}

// TestJoined joins every file with every other. Both are heard, or there is a warning; where
// one follows its own kind, both are heard.
func TestJoined(t *testing.T) {
	var names []string
	for name := range reference(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, a := range names {
		for k, b := range names {
			if testing.Short() && (i+k)%3 > 0 && filepath.Ext(a) != filepath.Ext(b) {
				continue
			}
			first, second := readTestdata(t, a), readTestdata(t, b)
			h := hear(slices.Concat(first, second), Input{})
			want := slices.Concat(hear(first, Input{}).samples, hear(second, Input{}).samples)
			same := slices.Equal(h.samples, want) ||
				filepath.Ext(a) == ".mp3" && len(h.samples) == len(want) // frames go on with the bits of those before
			if h.silent() && !same {
				t.Errorf("%s and %s: %d samples without a word, want %d", a, b, len(h.samples), len(want))
			}
			if !h.silent() {
				if filepath.Ext(a) == filepath.Ext(b) {
					t.Errorf("%s and %s: %v, %q", a, b, h.err, h.said())
				}
				t.Logf("%s and %s: %v, %q", a, b, h.err, h.said())
			}
		}
	}
}

// TestJoinedThree puts another file behind two of the same kind, which may be one container: what is
// looked ahead for lies behind the second.
func TestJoinedThree(t *testing.T) {
	for name := range reference(t) {
		for _, last := range []string{"damage/tiny.wav", "damage/frames.flac"} {
			first, third := readTestdata(t, name), readTestdata(t, last)
			h := hear(slices.Concat(first, first, third), Input{})
			if want := 2*len(hear(first, Input{}).samples) + len(hear(third, Input{}).samples); !h.silent() || len(h.samples) != want {
				t.Errorf("%s twice and %s: %d samples, want %d; %v, %q", name, last, len(h.samples), want, h.err, h.said())
			}
		}
	}
}

// TestJoinedMany: files that hold little or no sound are read up to a number, and what is said of them is
// bounded: 9 MB of chained streams without sound took minutes, WAVs of 46 bytes a filter each.
func TestJoinedMany(t *testing.T) {
	file := readTestdata(t, "damage/pages.opus")
	pages := strings.SplitAfterN(string(file), "OggS", 4) // two of headers
	wav := func(rate int) []byte {
		return riff(chunk("fmt ", fmtBody(1, 1, rate, 16)), chunk("data", []byte{1, 2}))
	}
	cut := bytes.Clone(wav(8000))
	cut[40] = 200
	for why, tt := range map[string]struct {
		many    []byte
		samples int // of each
	}{
		"streams without sound": {[]byte("OggS" + pages[1] + strings.TrimSuffix(pages[2], "OggS")), 0},
		"rates that alternate":  {slices.Concat(wav(8000), wav(44100)), 2},
		"files that are cut":    {cut, 1},
	} {
		each := max(tt.samples, 1)
		for n, want := range map[int]bool{maxFiles/each - 1: true, 4 * maxFiles / each: false} {
			h := hear(append(bytes.Repeat(tt.many, n), file...), Input{})
			said := strings.Join(h.said(), " ")
			if got := len(h.samples) > 2*maxFiles; h.err != nil || got != want || strings.Contains(said, "one behind the other") == want {
				t.Errorf("%s, %d: %d samples, %v, %.200q", why, n, len(h.samples), h.err, said)
			}
			if got := h.clip.whole.files; !want && got != maxFiles && got != maxFiles+1 {
				t.Errorf("%s: %d files were opened, want %d", why, got, maxFiles)
			}
			if len(h.said()) > maxPlaces+2 || (why == "rates that alternate") == strings.Contains(said, "more of this kind") {
				t.Errorf("%s, %d: %d sentences: %.200q", why, n, len(h.said()), said)
			}
		}
	}
	second := riff(chunk("fmt ", fmtBody(1, 1, 8000, 8)), chunk("data", bytes.Repeat([]byte{100}, 1000))) // an eighth of one
	if h := hear(bytes.Repeat(second, 2*maxFiles), Input{}); !h.silent() || len(h.samples) != 2*1000*maxFiles {
		t.Errorf("files of 0.13 s: %d samples, %q", len(h.samples), h.said())
	}
}

// TestManyElements: a file is read a few times in all, however many elements or tags of some bytes it holds.
func TestManyElements(t *testing.T) {
	const n = 1 << 20
	webm, mp3, tag := readTestdata(t, "damage/clusters.webm"), readTestdata(t, "sounds/stereo.mp3")[45:], "ID3\x04\x00\x00\x00\x00\x00\x00"
	at, frames := bytes.LastIndex(webm, []byte(mkvClusterID)), 0
	for range 3 {
		h, _, _ := parseMPEG(mp3[frames:])
		frames += h.size
	}
	put := func(b []byte, at int, what string) []byte {
		return slices.Concat(b[:at], bytes.Repeat([]byte(what), n/len(what)), b[at:])
	}
	noise := func(what string) []byte {
		return riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", bytes.Repeat([]byte(what), n/len(what))))
	}
	for why, tt := range map[string]struct {
		file    []byte
		samples int
	}{
		"Matroska, empty elements":        {put(webm, at, "\xec\x80"), len(hear(webm, Input{}).samples)},
		"MP3, tags between frames":        {put(mp3, frames, tag), len(hear(mp3, Input{}).samples)},
		"WAV of tags":                     {noise(tag), n / 10 * 10 / 2},
		"WAV of tags, each of 300 bytes":  {noise("ID3\x04\x00\x00\x00\x00\x02\x2c"), n / 10 * 10 / 2},
		"WAV of tags that seem to go on":  {noise(tag + "\xff\xfb\x90\x04"), n / 14 * 14 / 2},
		"WAV of what seems to be headers": {noise("\xff\xfb\x90\x04"), n / 2},
	} {
		r := &countedReader{bytes.NewReader(tt.file), 16 * len(tt.file)}
		c, err := Input{}.open("x", r, int64(len(tt.file)))
		frames := 0
		for err == nil {
			var block []float64
			block, err = c.whole.first.mix.src.read(1 << 16)
			frames += len(block)
		}
		if err != io.EOF || frames != tt.samples || r.left < 0 {
			t.Errorf("%s: %d samples, %v, %d of %d bytes left to read; want %d samples", why, frames, err, r.left, 16*len(tt.file), tt.samples)
		}
	}
}

// TestJoinedBehind puts a file of every format behind a file of every format that was cut,
// and behind what is no sound. The second is heard, and a line says that the first was cut.
func TestJoinedBehind(t *testing.T) {
	whole := map[string][]float64{}
	for name := range reference(t) {
		whole[name] = hear(readTestdata(t, name), Input{}).samples
	}
	names := slices.Sorted(maps.Keys(whole))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	for i, a := range names {
		first := readTestdata(t, a)
		firsts := map[string][]byte{
			"zeros": slices.Concat(first, make([]byte, 1000)), "noise": slices.Concat(first, noise),
			"text": slices.Concat(first, bytes.Repeat([]byte("what is no sound\n"), 50)),
		}
		for _, percent := range []int{30, 50, 70, 90, 99} {
			firsts[fmt.Sprintf("cut at %d %%", percent)] = first[:len(first)*percent/100]
		}
		for what, f := range firsts {
			alone := hear(f, Input{})
			for k, b := range names {
				if testing.Short() && (i+k)%9 > 0 {
					continue
				}
				want := whole[b]
				h := hear(slices.Concat(f, readTestdata(t, b)), Input{})
				heard := len(h.samples) >= len(want) && slices.Equal(h.samples[len(h.samples)-len(want):], want)
				if filepath.Ext(a) == ".mp3" && filepath.Ext(b) == ".mp3" { // frames go on
					heard = len(h.samples) > len(want)
				}
				switch {
				case h.err != nil && alone.err != nil: // a header was cut
				case h.err != nil:
					t.Errorf("%s, %s, and %s: %v", a, what, b, h.err)
				case h.silent() && !alone.silent():
					t.Errorf("%s, %s, and %s: without a word; without the second %q", a, what, b, alone.said())
				case !heard:
					t.Errorf("%s, %s, and %s: the second is not heard: %d samples, %q", a, what, b, len(h.samples), h.said())
				}
			}
		}
	}
}

// bareFrames returns files that are nothing but frames, by the name of their format.
func bareFrames() map[string][]byte {
	adts, ac3 := make([]byte, 20*200), make([]byte, 20*256)
	for i := range 20 {
		copy(adts[200*i:], "\xff\xf1\x60\x40\x19\x00\xfc") // 200 bytes: 13 bits from byte 3 on
		copy(ac3[256*i:], "\x0b\x77\x00\x00\x08")          // 64 kbit/s at 48 kHz
	}
	return map[string][]byte{"an AAC file": adts, "an AC-3 file": ac3}
}

// TestFramesBehind: frames of formats that only ffmpeg reads, which have no header, are told of
// where they follow.
func TestFramesBehind(t *testing.T) {
	for name := range reference(t) {
		file, bare := readTestdata(t, name), bareFrames()
		if filepath.Ext(name) != ".mp3" { // it ends as if cut there, which is said
			bare["got layer 2"] = bytes.Repeat(append([]byte("\xff\xfd\x84\x00"), make([]byte, 380)...), 20)     // 128 kbit/s at 48 kHz
			bare["got version 2.5"] = bytes.Repeat(append([]byte("\xff\xe3\x28\x00"), make([]byte, 140)...), 20) // 16 kbit/s at 8 kHz
		}
		for what, frames := range bare {
			for why, b := range map[string][]byte{"at once": file, "behind zeros": append(slices.Clip(file), make([]byte, 100)...), "cut": file[:len(file)*9/10]} {
				h := hear(slices.Concat(b, frames), Input{})
				if said := strings.Join(h.said(), " "); h.err == nil && !strings.Contains(said, what) {
					t.Errorf("%s, %s, %s: %q", name, what, why, said)
				}
			}
		}
	}
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clock reports whether a format says where its frames lie, so that what follows damage is
// at its place.
func clock(name string) bool {
	return slices.Contains([]string{".flac", ".oga", ".ogg", ".opus", ".webm", ".mka"}, filepath.Ext(name))
}

// TestDamageKeepsTime: where silence stands for lost sound, what follows is at its place.
func TestDamageKeepsTime(t *testing.T) {
	for name := range reference(t) {
		if !clock(name) {
			continue
		}
		file := readTestdata(t, name)
		whole := hear(file, Input{})
		for _, kind := range []string{"flip", "zero", "drop"} {
			for k := range damageKinds[kind].count {
				h := hear(damageKinds[kind].make(file, k), Input{})
				if h.err != nil || h.silent() || h.clip.Truncated() {
					continue
				}
				rate := h.clip.whole.first.mix.shape.rate
				if d := len(h.samples) - len(whole.samples); d < -rate/500 || d > rate/500 {
					t.Errorf("%s, %s %d: %d samples, the whole file %d; %q", name, kind, k, len(h.samples), len(whole.samples), h.clip.Warnings())
				}
			}
		}
	}
}

// TestStrictNamesTheFile: its errors are as others are.
func TestStrictNamesTheFile(t *testing.T) {
	file := bytes.Clone(readFLAC(t, "16"))
	file[len(file)/2] ^= 1
	h := hear(file, Input{Strict: true})
	if !errors.Is(h.err, ErrMalformed) || !strings.Contains(named("x", h.err).Error(), "x: damaged sound file: FLAC frame at byte") {
		t.Errorf("error = %v", h.err)
	}
}

// said returns the warnings about a file that was opened.
func (h heard) said() []string {
	if h.clip == nil {
		return nil
	}
	return h.clip.Warnings()
}
