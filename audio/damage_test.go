package audio

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decoded is what is read of a file: samples of all channels at the file's own rates.
type decoded struct {
	samples []float64
	clip    *Clip
	err     error
}

// decodeAll reads a file without resampling.
func decodeAll(file []byte, in Input) decoded {
	in.FFmpeg = FFmpegNever
	c, err := in.open("x", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return decoded{err: err}
	}
	h := decoded{clip: c}
	for j := c.whole; !j.over; {
		m := j.now.mix
		block, err := m.src.read(1 << 12)
		h.samples = append(h.samples, block...)
		frames := int64(len(block) / m.shape.channels)
		m.frame += frames
		j.delivered += frames * SampleRate / int64(m.shape.rate)
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
	c.reachEnd()
	return h
}

// clean reports whether there is neither an error nor a warning.
func (h decoded) clean() bool { return h.err == nil && len(h.clip.Warnings()) == 0 }

// sum returns what ffmpeg.json holds of samples. That has no silence before sound that starts late.
func (h decoded) sum() [2]any {
	var b []byte
	sound := h.samples
	if h.clip != nil {
		m := h.clip.whole.first.mix
		sound = sound[min(len(sound), int(m.src.late)*m.shape.channels):]
	}
	for _, v := range sound {
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(v*(1<<31))))
	}
	s := sha256.Sum256(b)
	return [2]any{len(sound), hex.EncodeToString(s[:])[:8]}
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

// reference returns what ffmpeg decoded, by file and kind of damage.
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
	return !slices.Contains([]string{".mp3", ".opus", ".webm"}, filepath.Ext(name))
}

// TestDamage damages a file of every format in many ways. Either what is decoded equals what
// ffmpeg hears (its samples, or how many there are where the format is lossy), or there is an
// error, or a warning together with Truncated or Damaged. With Strict, warnings are errors.
func TestDamage(t *testing.T) {
	for name, want := range reference(t) {
		file := readTestdata(t, name)
		whole := decodeAll(file, Input{})
		check := func(what string, h decoded, golden json.RawMessage) {
			var g [2]any
			if err := json.Unmarshal(golden, &g); err != nil {
				t.Fatal(err)
			}
			got := h.sum()
			off := math.Abs(float64(got[0].(int)) - g[0].(float64))
			if h.clean() && (off > 0 || exact(name) && got[1] != g[1]) && !slices.Equal(h.samples, whole.samples) {
				t.Errorf("%s, %s: %v without a warning, ffmpeg has %v, the whole file %v", name, what, got, g, whole.sum())
			}
		}
		check("whole", whole, want["whole"])
		if !whole.clean() {
			t.Errorf("%s: %v, %q", name, whole.err, whole.warnings())
		}
		for kind, d := range damageKinds {
			var golden []json.RawMessage
			if err := json.Unmarshal(want[kind], &golden); err != nil || len(golden) != d.count {
				t.Fatalf("%s: %d of %s, %v", name, len(golden), kind, err)
			}
			counts := map[string]int{}
			for k := range d.count {
				if testing.Short() && k%3 > 0 {
					continue
				}
				bad := d.make(file, k)
				h := decodeAll(bad, Input{})
				what := kind + " " + string(rune('0'+k/10)) + string(rune('0'+k%10))
				check(what, h, golden[k])
				switch {
				case h.clean():
					counts["nothing"]++
				case h.err != nil:
					counts["an error"]++
				default:
					counts["a warning"]++
					if !h.clip.Truncated() && h.clip.Damaged() == nil {
						t.Errorf("%s, %s: only %q", name, what, h.clip.Warnings())
					}
				}
				if s := decodeAll(bad, Input{Strict: true}); h.clean() != (s.err == nil) {
					t.Errorf("%s, %s: strict: %v; otherwise %v", name, what, s.err, h.clip.Warnings())
				}
			}
			t.Logf("%s: %s: %v", name, kind, counts)
		}
	}
}

// chained reports whether a file may hold several streams one after another.
func chained(name string) bool {
	return slices.Contains([]string{".mp3", ".opus"}, filepath.Ext(name))
}

// TestJoined joins files of the formats that may be chained, two and three of a kind. All are
// decoded without a warning, each at its own place.
func TestJoined(t *testing.T) {
	var names []string
	for name := range reference(t) {
		if chained(name) {
			names = append(names, name)
		}
	}
	for _, a := range names {
		for _, b := range names {
			mp3 := filepath.Ext(a) == ".mp3"
			if mp3 != (filepath.Ext(b) == ".mp3") {
				continue
			}
			first, second := readTestdata(t, a), readTestdata(t, b)
			for n, file := range map[int][]byte{1: slices.Concat(first, second), 2: slices.Concat(first, first, second)} {
				want := slices.Concat(slices.Repeat(decodeAll(first, Input{}).samples, n), decodeAll(second, Input{}).samples)
				d := decodeAll(file, Input{})
				same := slices.Equal(d.samples, want) || mp3 && len(d.samples) == len(want) // frames may refer to those before
				if !d.clean() || !same {
					t.Errorf("%d of %s, then %s: %d samples, %v, %q; want %d", n, a, b, len(d.samples), d.err, d.warnings(), len(want))
				}
			}
		}
	}
}

// TestJoinedMany: streams without sound are read up to a limit. 9 MB of such streams took minutes.
func TestJoinedMany(t *testing.T) {
	file := readTestdata(t, "damage/pages.opus")
	pages := strings.SplitAfterN(string(file), "OggS", 4) // two of headers
	empty := []byte("OggS" + pages[1] + strings.TrimSuffix(pages[2], "OggS"))
	for n, want := range map[int]bool{maxStreams - 1: true, 4 * maxStreams: false} {
		d := decodeAll(append(bytes.Repeat(empty, n), file...), Input{})
		text := strings.Join(d.warnings(), " ")
		if got := len(d.samples) > 2*maxStreams; d.err != nil || got != want || strings.Contains(text, "streams of a chained file") == want {
			t.Errorf("%d: %d samples, %v, %.200q", n, len(d.samples), d.err, text)
		}
		if got := d.clip.whole.opened; !want && got != maxStreams || len(d.warnings()) > maxListed+2 {
			t.Errorf("%d: %d streams were opened, want %d; %d warnings", n, got, maxStreams, len(d.warnings()))
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
	return slices.Contains([]string{".flac", ".opus", ".webm"}, filepath.Ext(name))
}

// TestDamageKeepsTime: where silence stands for lost sound, what follows is at its place.
func TestDamageKeepsTime(t *testing.T) {
	for name := range reference(t) {
		if !clock(name) {
			continue
		}
		file := readTestdata(t, name)
		whole := decodeAll(file, Input{})
		for _, kind := range []string{"flip", "zero", "drop"} {
			for k := range damageKinds[kind].count {
				h := decodeAll(damageKinds[kind].make(file, k), Input{})
				if h.err != nil || h.clean() || h.clip.Truncated() {
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

// warnings returns those about a file that was opened.
func (h decoded) warnings() []string {
	if h.clip == nil {
		return nil
	}
	return h.clip.Warnings()
}
