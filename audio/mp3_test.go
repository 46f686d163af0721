package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"verity/internal/testing/needs"
)

// eachMP3 calls f with MP3 files up to a size, of the repository and of ../shared; those of 300 kB
// not with -short.
func eachMP3(t *testing.T, most int, f func(t *testing.T, name string, file []byte)) {
	t.Helper()
	if testing.Short() {
		most = min(most, 300_000)
	}
	all := func(t *testing.T, names []string) {
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) <= most {
				f(t, filepath.Base(name), b)
			}
		}
	}
	names, err := filepath.Glob("testdata/sounds/*.mp3")
	if err != nil || len(names) < 4 {
		t.Fatalf("got %q of testdata, want four files; %v", names, err)
	}
	all(t, names)
	t.Run("../shared", func(t *testing.T) { all(t, needs.Shared(t, "speech/*/*.mp3")) })
}

// TestMP3Runs: runs that are decoded side by side give what one decoder gives that goes
// through the whole file.
func TestMP3Runs(t *testing.T) {
	eachMP3(t, math.MaxInt, func(t *testing.T, name string, b []byte) {
		c, err := openBytes(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		src := c.whole.now.mix.src
		m := src.in.(*mp3Reader)
		var got, want []mp3Frame
		for m.decodeMore() == nil {
			got = append(got, m.ready...)
		}
		if err := src.rewind(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for m = src.in.(*mp3Reader); m.end == nil; {
			want = append(want, m.nextRun()...)
		}
		m.first.decodeRun(nil, want)
		if len(got) != len(want) {
			t.Fatalf("%s: %d frames, want %d", name, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i].data, want[i].data) || (got[i].err == nil) != (want[i].err == nil) {
				t.Errorf("%s: frame %d of %d differs (errors %v, %v)", name, i, len(want), got[i].err, want[i].err)
				break
			}
		}
	})
}

// TestNoPadding: with less padding than the delay of decoders, as by libshine, nothing is missing but what
// no decoder returns. A missing frame is a warning.
func TestNoPadding(t *testing.T) {
	file := readSound(t, "stereo.mp3")
	tag := bytes.Index(file, []byte("Xing"))
	frames := int(binary.BigEndian.Uint32(file[tag+8:]))
	clear(file[tag+4+4+4+4+100+4+21:][:3]) // delay and padding
	for why, b := range map[string][]byte{"": file, "cut": file[:len(file)-200]} {
		if h := decodeAll(b, Input{}); h.err != nil || h.clean() == (why == "cut") || why == "" && len(h.samples) != 2*(frames*1152-decoderDelay) {
			t.Errorf("%s: %d samples of %d frames, %v, %q", why, len(h.samples), frames, h.err, h.warnings())
		}
	}
}

// TestIntensity: of intensity stereo of MPEG-1 the left channel has the sum of both, and the mean of both is right. That
// of MPEG-2 is refused, so that ffmpeg reads it, unless it comes late.
func TestIntensity(t *testing.T) {
	file := readSound(t, "stereo.mp3")
	want := decodeAll(file, Input{})
	frames := &mpegFrames{file: newFile(bytes.NewReader(bytes.Clone(file)), 0, int64(len(file)))}
	for frames.in = frames.file.readerAt(0); ; {
		_, at, _, err := frames.next()
		if err == io.EOF {
			break
		}
		if file[at+3]>>6 != 1 { // was not joint
			file[at+3] = 1 << 6
		}
		file[at+3] |= intensity
	}
	if got := decodeAll(file, Input{}); got.err != nil || len(got.samples) == 0 || !slices.Equal(got.samples, want.samples) {
		t.Errorf("MPEG-1: %d samples, %v; want the same %d as without", len(got.samples), got.err, len(want.samples))
	}
	for from, refused := range map[int]bool{0: true, 10: true, 30: false} {
		var low []byte
		for i := range 40 {
			head := []byte{0xff, 0xf3, 0x80, 1 << 6}
			if i >= from {
				head[3] |= intensity
			}
			h, _, err := parseMPEG(head)
			if err != nil {
				t.Fatal(err)
			}
			low = append(low, append(head, make([]byte, h.size-len(head))...)...)
		}
		if _, err := openBytes(low); errors.Is(err, ErrUnsupported) != refused {
			t.Errorf("MPEG-2, from frame %d: %v, want a refusal: %t", from, err, refused)
		}
	}
}
