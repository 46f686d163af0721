package audio

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A hollow is a file of zeros between a head and a tail.
type hollow struct {
	head, tail []byte
	size       int64
}

func (h hollow) ReadAt(b []byte, at int64) (n int, err error) {
	for ; n < len(b) && at < h.size; n, at = n+1, at+1 {
		switch tail := at - (h.size - int64(len(h.tail))); {
		case at < int64(len(h.head)):
			b[n] = h.head[at]
		case tail >= 0:
			b[n] = h.tail[tail]
		default:
			b[n] = 0
		}
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// TestWrappedSizes: sound of more than 4 GiB is read whole if its stated size is the real one modulo 2³², also where
// chunks follow it. A size that is wrong otherwise is still one that is stale.
func TestWrappedSizes(t *testing.T) {
	const wrap = 1 << 32
	le, be := binary.LittleEndian, binary.BigEndian
	wav := func(real int64) []byte {
		fmt := chunk("fmt ", fmtBody(tagFloat, 32, 192000, 32))
		head := append(le.AppendUint32([]byte("RIFF"), uint32(real+36)), "WAVE"...)
		return slices.Concat(head, fmt, le.AppendUint32([]byte("data"), uint32(real)))
	}
	aiff := func(real int64) []byte {
		frames := be.AppendUint32([]byte{0, 2}, uint32(real/4))
		comm := slices.Concat([]byte("COMM\x00\x00\x00\x12"), frames, []byte("\x00\x10\x40\x0e\xbb\x80\x00\x00\x00\x00\x00\x00"))
		head := append(be.AppendUint32([]byte("FORM"), uint32(real+46)), "AIFF"...)
		return slices.Concat(head, comm, be.AppendUint32([]byte("SSND"), uint32(real+8)), make([]byte, 8))
	}
	au := func(real int64) []byte {
		return slices.Concat([]byte(".snd\x00\x00\x00\x18"), be.AppendUint32(nil, uint32(real)), []byte("\x00\x00\x00\x03\x00\x00\xbb\x80\x00\x00\x00\x02"))
	}
	list := chunk("LIST", []byte("INFOISFT\x02\x00\x00\x00ab"))
	for why, tt := range map[string]struct {
		head  func(int64) []byte
		tail  []byte
		align int64 // bytes of a frame
		more  int64 // bytes between the sound and the tail
		whole bool
	}{
		"WAV": {wav, nil, 128, 0, true}, "WAV, LIST after it": {wav, list, 128, 0, true}, "AIFF": {aiff, nil, 4, 0, true}, "AU": {au, nil, 4, 0, true},
		"WAV, stale": {wav, nil, 128, 1000, false}, "AU, stale": {au, nil, 4, 1000, false}, "AIFF, stale": {aiff, nil, 4, 1000, false},
	} {
		for _, real := range []int64{wrap + 18_000_000*tt.align/4, 3*wrap + 8*tt.align} {
			head := tt.head(real)
			r := hollow{head, tt.tail, int64(len(head)) + real + tt.more + int64(len(tt.tail))}
			c, err := Input{}.open("x", r, r.size)
			if err != nil {
				t.Errorf("%s: %v", why, err)
				continue
			}
			want := real / tt.align
			if !tt.whole {
				want = real % wrap / tt.align
			}
			if got := pcmOf(c).layout.frames; got != want {
				t.Errorf("%s, %d bytes: %d frames, want %d", why, real, got, want)
			}
		}
	}
}

// TestAdviceTried: advice to try ffmpeg is given only where ffmpeg can read the file.
func TestAdviceTried(t *testing.T) {
	file := noiseWAV()
	file = slices.Concat(file[:12], []byte("LIST\x05\x00\x00\x00INFOx"), file[12:]) // without the byte that pads it
	name := filepath.Join(t.TempDir(), "odd.wav")
	if err := os.WriteFile(name, file, 0o666); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"echo no data >&2; exit 1":      "; copy or export it again, since ffmpeg cannot read it either: no data",
		written(t, 8000, 0.5, 0.5, 0.5): "; copy or export it again, or try: ffmpeg -i ",
	} {
		_, err := Input{FFmpeg: fakeFFmpeg(t, script)}.Open(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
