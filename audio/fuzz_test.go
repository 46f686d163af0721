package audio

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"
)

// FuzzOpen opens anything: samples or an error, never a panic, and never more
// samples than the bytes can hold.
func FuzzOpen(f *testing.F) {
	data := chunk("data", make([]byte, 96))
	for _, seed := range [][]byte{
		nil,
		[]byte("RIFF"),
		[]byte("ID3\x04\x00\x00\x00\x00\x00\x02xxfLaC"),
		riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), data),
		riff(chunk("fmt ", fmtBody(1, 3, 44101, 24)), data),
		riff(chunk("fmt ", fmtBody(3, 2, 8000, 32)), chunkOf("data", 0xffffffff, make([]byte, 96))),
		riff(chunk("fmt ", fmtBody(3, 1, 999999, 64)), data),
		riff(chunk("fmt ", fmtBody(7, 1, 1000, 8)), chunkOf("LIST", 0xffffffff, nil), data),
		riff(data, chunk("fmt ", extensible(3, 1, 48000, 32, 32))),
		append([]byte("RF64\xff\xff\xff\xff"), riff(chunk("ds64", make([]byte, 28)), chunk("fmt ", fmtBody(1, 1, 16000, 8)), chunkOf("data", 0xffffffff, make([]byte, 9)))[8:]...),
		readFLAC(f, "16")[:4000],
		append(unknownLength(readFLAC(f, "16")), "TAG tail"...),
	} {
		f.Add(seed)
	}
	for _, s := range soundFiles {
		f.Add(readSound(f, s.name))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := openBytes(file)
		if err != nil {
			return
		}
		if p := pcmOf(c); p != nil && p.layout.frames > int64(len(file)) {
			t.Fatalf("%d frames in %d bytes", p.layout.frames, len(file))
		}
		buf := make([]float32, 4096)
		for n := 0; ; {
			m, err := c.Read(buf)
			n += m
			if err == io.EOF || err != nil {
				return
			}
			if m == 0 {
				t.Fatal("Read gave nothing and no error")
			}
			if n > 1<<22 { // a FLAC frame of 16 bytes may be 65535 equal samples
				return
			}
		}
	})
}

// A fuzzedFormat is a file that is damaged from a place on.
type fuzzedFormat struct {
	file string
	from int // what lies before says what the sound is: nothing contradicts another rate, or fewer samples
	off  int // samples that may be lost: a bit of a packet without a checksum may change its length, for ffmpeg too
}

var fuzzedFormats = map[string]fuzzedFormat{
	"flac": {"damage/frames.flac", 42, 0}, "opus": {"damage/pages.opus", 0, 0},
	"webm": {"damage/clusters.webm", 600, 4 * 960}, "mp3": {"damage/vbr.mp3", 300, 0}, "wav": {"damage/tiny.wav", 100, 0},
}

// fuzzDamage damages a file in up to four places: a bit flipped, bytes zeroed or left out,
// or all cut off. Either no sample is lost (and none differs, where a checksum would tell),
// or there is a warning or an error.
func fuzzDamage(f *testing.F, name string) {
	format := fuzzedFormats[name]
	file, err := os.ReadFile("testdata/" + format.file)
	if err != nil {
		f.Fatal(err)
	}
	whole := decodeAll(file, Input{})
	for at := byte(0); at < 250; at += 10 {
		f.Add([]byte{0, at, 0, 1, at % 8})
		f.Add([]byte{1, at, 7, 255, 0, 2, 255 - at, 7, 99, 0})
		f.Add([]byte{3, at, 3, 0, 0})
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		b := bytes.Clone(file)
		for n := 0; len(script) >= 5 && n < 4 && len(b) > format.from; n++ {
			at := format.from + (int(script[1])<<8|int(script[2]))*(len(b)-format.from)>>16
			end := min(at+int(script[3])*3+1, len(b))
			switch script[0] % 4 {
			case 0:
				b[at] ^= 1 << (script[4] % 8)
			case 1:
				clear(b[at:end])
			case 2:
				b = slices.Delete(b, at, end)
			case 3:
				b = b[:at]
			}
			script = script[5:]
		}
		h := decodeAll(b, Input{})
		if !h.clean() {
			return
		}
		less := len(whole.samples) - len(h.samples)
		checked := name == "flac" || name == "opus"
		if less > format.off || checked && !slices.Equal(h.samples, whole.samples) {
			t.Fatalf("%d samples of %d, without a warning", len(h.samples), len(whole.samples))
		}
	})
}

func FuzzDamageFLAC(f *testing.F) { fuzzDamage(f, "flac") }
