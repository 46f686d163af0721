package audio

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// mp3Files returns the MP3 files of the tests, with those of ../shared if it is there; the
// long ones not with -short.
func mp3Files(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"testdata/sounds/*.mp3", "../../shared/data/speech/*/*.mp3"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) < 300_000 || !testing.Short() {
				files[filepath.Base(name)] = b
			}
		}
	}
	if len(files) < 4 {
		t.Fatalf("got %d files, want those of testdata at least", len(files))
	}
	return files
}

// TestMP3Runs: runs that are decoded side by side give what one decoder gives that goes
// through the whole file.
func TestMP3Runs(t *testing.T) {
	for name, b := range mp3Files(t) {
		src, err := newFile(bytes.NewReader(b), 0, int64(len(b))).sniff()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := src.(*codedSource).in.(*mp3Reader)
		var got, want []mp3Frame
		for m.decodeMore() == nil {
			got = append(got, m.ready...)
		}
		if err := src.rewind(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for m = src.(*codedSource).in.(*mp3Reader); m.end == nil; {
			want = append(want, m.take()...)
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
	}
}

// TestMP3Damage: a file with bytes overwritten here and there gives as many samples as
// before, the same each time, and what lies apart from the damage is not changed.
func TestMP3Damage(t *testing.T) {
	for name, file := range mp3Files(t) {
		if len(file) > 100_000 {
			continue
		}
		whole := mp3Samples(t, name, file)
		bad := slices.Clone(file)
		for at := len(bad) / 2; at < len(bad)/2+4; at++ {
			bad[at] ^= 0x5a
		}
		got := mp3Samples(t, name, bad)
		if again := mp3Samples(t, name, bad); !slices.Equal(got, again) {
			t.Errorf("%s: the same file gives two results", name)
		}
		if n := len(whole) / 3; !slices.Equal(got[:n], whole[:n]) {
			t.Errorf("%s: damage in the middle changes the first third", name)
		}
		if n := len(got) - len(whole); n < -4*1152 || n > 0 { // frames whose headers are gone, or do not follow each other
			t.Errorf("%s: got %d samples with damage, %d without", name, len(got), len(whole))
		}
	}
}

// TestMP3Scattered: frames that cannot be decoded are silence however many there are, as long as
// others lie between; only so many in a row are too many.
func TestMP3Scattered(t *testing.T) {
	b := readSound(t, "stereo.mp3")
	f := newFile(bytes.NewReader(b), 0, int64(len(b)))
	f.kind = "mpeg"
	frames, bad := &mpegFrames{file: f, in: f.cursor(0)}, []byte{}
	var sound [][]byte
	for {
		frame, _, _, err := frames.next()
		if err != nil {
			break
		}
		sound = append(sound, frame)
	}
	sound = slices.Repeat(sound[1:], 5) // without the table
	for i, frame := range sound {
		frame = bytes.Clone(frame)
		if i%3 == 2 {
			copy(frame[4:], bytes.Repeat([]byte{0xff}, frames.header.side))
		}
		bad = append(bad, frame...)
	}
	if h := hear(bad, Input{}); h.err != nil || len(h.clip.Damaged()) < maxBadPackets+1 {
		t.Errorf("%d frames: %d places are damaged, %v", len(sound), len(h.clip.Damaged()), h.err)
	}
}

func mp3Samples(t *testing.T, name string, b []byte) (all []float64) {
	t.Helper()
	src, err := newFile(bytes.NewReader(b), 0, int64(len(b))).sniff()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	buf := make([]float64, 4096)
	for {
		n, err := src.read(buf)
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
