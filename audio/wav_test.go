package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// chunk returns a RIFF chunk with the size it has, padded to an even length.
func chunk(id string, body []byte) []byte {
	return chunkOf(id, uint32(len(body)), body)
}

// chunkOf returns a RIFF chunk with any size in its header.
func chunkOf(id string, size uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(id), size)
	b = append(b, body...)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// fmtBody returns a plain fmt chunk's body.
func fmtBody(tag, channels, rate, bits int) []byte {
	le := binary.LittleEndian
	align := channels * ((bits + 7) / 8)
	b := le.AppendUint16(nil, uint16(tag))
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, uint32(rate*align))
	b = le.AppendUint16(b, uint16(align))
	return le.AppendUint16(b, uint16(bits))
}

// extensible returns a WAVE_FORMAT_EXTENSIBLE fmt chunk's body.
func extensible(sub, channels, rate, bits, valid int) []byte {
	le := binary.LittleEndian
	b := fmtBody(tagExtensible, channels, rate, bits)
	b = le.AppendUint16(b, 22)
	b = le.AppendUint16(b, uint16(valid))
	b = le.AppendUint32(b, 0)
	b = le.AppendUint16(b, uint16(sub))
	return append(b, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"...)
}

func riff(chunks ...[]byte) []byte {
	body := append([]byte("WAVE"), bytes.Join(chunks, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// openBytes opens a file in memory.
func openBytes(b []byte) (*Clip, error) {
	return Input{}.open("x.wav", bytes.NewReader(b), int64(len(b)))
}

func TestWAVSamples(t *testing.T) {
	f32 := func(v ...float32) (b []byte) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	f64 := func(v ...float64) (b []byte) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	format := func(tag, channels, bits int) []byte {
		return chunk("fmt ", fmtBody(tag, channels, SampleRate, bits))
	}
	s16 := []byte{0x00, 0x40, 0x00, 0x80, 0xff, 0x7f} // 1/2, -1, 1-2^-15
	want16 := []float32{0.5, -1, 32767.0 / 32768}
	data := func(b ...byte) []byte { return chunk("data", b) }
	tests := []struct {
		why  string
		file []byte
		want []float32
	}{
		{"8 bits are unsigned", riff(format(1, 1, 8), data(0, 128, 192)), []float32{-1, 0, 0.5}},
		{"16 bits", riff(format(1, 1, 16), data(s16...)), want16},
		{"24 bits, odd size", riff(format(1, 1, 24), data(0, 0, 0x40, 0, 0, 0x80, 1, 0, 0)), []float32{0.5, -1, 1.0 / (1 << 23)}},
		{"32 bits", riff(format(1, 1, 32), data(0, 0, 0, 0x40, 0, 0, 0, 0x80)), []float32{0.5, -1}},
		{"12 bits are the upper ones of 16", riff(format(1, 1, 12), data(0x00, 0x40)), []float32{0.5}},
		{"float 32", riff(format(3, 1, 32), chunk("data", f32(0.25, -2, 1e-30))), []float32{0.25, -2, 1e-30}},
		{"float 64", riff(format(3, 1, 64), chunk("data", f64(0.25, -2))), []float32{0.25, -2}},
		{"mu-law", riff(format(7, 1, 8), data(0xff, 0x00, 0x80)), []float32{0, -32124.0 / 32768, 32124.0 / 32768}},
		{"A-law", riff(format(6, 1, 8), data(0xd5, 0x2a, 0xaa)), []float32{8.0 / 32768, -32256.0 / 32768, 32256.0 / 32768}},
		{"mean of two channels", riff(format(1, 2, 16), data(0, 0x40, 0, 0x20)), []float32{0.375}},
		{"mean of three channels", riff(format(3, 3, 32), chunk("data", f32(1, 0, 0.5))), []float32{0.5}},
		{"extensible PCM", riff(chunk("fmt ", extensible(1, 1, SampleRate, 16, 16)), data(s16...)), want16},
		{"extensible, 24 bits in 32", riff(chunk("fmt ", extensible(1, 1, SampleRate, 32, 24)), data(0, 0, 0, 0x40)), []float32{0.5}},
		{"extensible float", riff(chunk("fmt ", extensible(3, 1, SampleRate, 32, 32)), chunk("data", f32(0.25))), []float32{0.25}},
		{"a chunk of odd size first", riff(chunk("junk", []byte{1}), format(1, 1, 16), data(s16...)), want16},
		{"fmt after the data", riff(data(s16...), format(1, 1, 16)), want16},
		{"LIST after the data", riff(format(1, 1, 16), data(s16...), chunk("LIST", []byte("INFOICMT\xff\xff\xff\xff"))), want16},
		{"LIST with a huge size after the data", riff(format(1, 1, 16), data(s16...), chunkOf("LIST", 0xffffffff, []byte("INFO"))), want16},
		{"a size from a pipe: all ones", riff(format(1, 1, 16), chunkOf("data", 0xffffffff, s16)), want16},
		{"a size from a pipe: sox", riff(format(1, 1, 16), chunkOf("data", 0x7ffff000, s16)), want16},
		{"a size from a pipe: 0", append([]byte("RIFF\x00\x00\x00\x00"), riff(format(1, 1, 16), chunkOf("data", 0, s16))[8:]...), want16},
		{"RIFF size all ones, data size 0", append([]byte("RIFF\xff\xff\xff\xff"), riff(format(1, 1, 16), chunkOf("data", 0, s16))[8:]...), want16},
		{"ds64 counts, not a wrong size", append([]byte("RF64"), riff(chunk("ds64", append(make([]byte, 8), 6, 0, 0, 0, 0, 0, 0, 0)),
			format(1, 1, 16), chunkOf("data", 0x00ffffff, s16))[4:]...), want16},
		{"really no sound", riff(format(1, 1, 16), data(), chunk("LIST", []byte("INFO"))), nil},
		{"cut off inside a sample", riff(format(1, 1, 16), data(s16...))[:49], want16[:2]},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			c, err := openBytes(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, c)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("samples = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWAVErrors(t *testing.T) {
	data := chunk("data", make([]byte, 64))
	misaligned := fmtBody(1, 2, SampleRate, 16)
	misaligned[12] = 3
	tests := []struct {
		file []byte
		want string
		err  error
	}{
		{riff(chunk("fmt ", fmtBody(2, 1, 8000, 4)), data), "fmt chunk at byte 12: WAV sample code: got 0x0002", ErrUnsupported},
		{riff(chunk("fmt ", fmtBody(0x1234, 1, 8000, 4)), data), "got 0x1234", ErrUnsupported},
		{riff(chunk("fmt ", fmtBody(1, 1, 8000, 64)), data), "fmt chunk at byte 12: bits per sample: got 64", ErrUnsupported},
		{riff(chunk("fmt ", fmtBody(1, 1, 8000, 0)), data), "fmt chunk at byte 12: bits per sample: got 0", ErrUnsupported},
		{riff(chunk("fmt ", fmtBody(1, 1, 999, 16)), data), "fmt chunk at byte 12: sample rate: got 999 Hz", ErrUnsupported},
		{riff(chunk("fmt ", fmtBody(1, 0, 8000, 16)), data), "fmt chunk at byte 12: channels: got 0", ErrMalformed},
		{riff(chunk("fmt ", misaligned), data), "fmt chunk at byte 12: block size: got 3, want 4 bytes", ErrMalformed},
		{riff(chunk("fmt ", fmtBody(1, 1, 8000, 16)[:14]), data), "fmt chunk at byte 12: size: got 14, want at least 16 bytes", ErrMalformed},
		{riff(chunkOf("fmt ", 0xfffffff0, fmtBody(1, 1, 8000, 16))), "want the 4294967280 bytes", ErrMalformed},
		{riff(chunk("fmt ", fmtBody(1, 1, 8000, 16))), "data chunk: got none", ErrMalformed},
		{riff(data), "fmt chunk: got none", ErrMalformed},
		{riff(bytes.Repeat(chunk("junk", nil), maxChunks+1)), "chunks: got more", ErrMalformed},
	}
	for _, tt := range tests {
		c, err := openBytes(tt.file)
		if err == nil {
			_, err = readAll(t, c)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("error = %v\nwant %v with %q", err, tt.err, tt.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "x.wav: ") {
			t.Errorf("error %q does not begin with the file", err)
		}
	}
}

// TestHugeClaims opens small files that claim to be huge. go-audio/wav alone is
// killed by the second of them.
func TestHugeClaims(t *testing.T) {
	format := chunk("fmt ", fmtBody(1, 1, SampleRate, 16))
	for i, file := range [][]byte{
		riff(format, chunkOf("data", 0xfffffffe, []byte{1, 2})),
		riff(chunkOf("LIST", 0x10, []byte("INFOICMT\xff\xff\xff\xff\x00\x00\x00\x00")), format, chunk("data", []byte{1, 2})),
		riff(chunkOf("fmt ", 0xfffffff0, fmtBody(1, 1, SampleRate, 16)), chunk("data", []byte{1, 2})),
		riff(chunk("fmt ", fmtBody(1, 0x7fff, SampleRate, 16)), chunkOf("data", 0xfffffffe, []byte{1, 2})),
		[]byte("fLaC\x04\xff\xff\xff"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := openBytes(file)
		if err == nil {
			_, err = readAll(t, c)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("file %d of %d bytes: %d bytes allocated (%v)", i, len(file), n, err)
		}
	}
}

// TestLongWAVInBoundedMemory reads 20 minutes through a file that is not there.
func TestLongWAVInBoundedMemory(t *testing.T) {
	head := riff(chunk("fmt ", fmtBody(1, 1, SampleRate, 16)), chunkOf("data", 0xffffffff, nil))
	const seconds = 1200
	f := &endless{head: head}
	c, err := Input{}.open("long.wav", f, int64(len(head))+2*seconds*SampleRate)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSpectrogram(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Seconds() != seconds || s.Frames() != 100*seconds {
		t.Errorf("%v s, %d frames, want %d s", s.Seconds(), s.Frames(), seconds)
	}
	if _, err := s.Window(t.Context(), 100*seconds-500); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB in use, want less than 64", m.HeapAlloc>>20)
	}
	runtime.KeepAlive(s)
}

// endless is a header followed by zeros.
type endless struct{ head []byte }

func (e *endless) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at < int64(len(e.head)) {
		copy(p, e.head[at:])
	}
	return len(p), nil
}

// TestWrappedSizes: sound of more than 4 GiB is read whole if its stated size is the real one modulo 2³².
func TestWrappedSizes(t *testing.T) {
	for _, real := range []int64{1<<32 + 1000, 3<<32 + 8} {
		head := riff(chunk("fmt ", fmtBody(1, 1, SampleRate, 16)), chunkOf("data", uint32(real), nil))
		c, err := Input{}.open("x", &endless{head}, int64(len(head))+real)
		if err != nil {
			t.Fatal(err)
		}
		if got := pcmOf(c).layout.frames; got != real/2 {
			t.Errorf("%d bytes: %d frames, want %d", real, got, real/2)
		}
	}
}

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
	whole := riff(pcm, chunk("data", sound))
	for why, tt := range map[string]struct {
		file    []byte
		samples int
		want    string // warning; empty: none
	}{
		"size 0, RIFF's is right":  {riff(pcm, chunkOf("data", 0, sound)), 8000, ""},
		"an empty chunk before it": {riff(pcm, empty, chunk("data", sound)), 8004, ""}, // with a header
		"two chunks":               {riff(pcm, chunk("data", sound), list, chunk("data", sound)), 8000, "what follows 0.50 s cannot be read: a second data chunk at byte "},
		"a second chunk appended":  {slices.Concat(whole, chunk("data", sound)), 8000, "what follows 0.50 s cannot be read: a second data chunk at byte "},
		"a stale size":             {riff(pcm, chunkOf("data", 1000, sound)), 500, "bytes that no header accounts for"},
		"both sizes stale":         {stale(slices.Concat(whole, sound), 4, 1036, binary.LittleEndian), 8000, "bytes that no header"},
		"samples after":            {slices.Concat(whole, sound), 8000, "bytes that no header"},
		"chunks after":             {riff(pcm, chunk("data", sound), list, chunk("JUNK", sound)), 8000, ""},
		"a chunk after the end":    {slices.Concat(whole, chunk("id3 ", sound)), 8000, ""},
		"zeros after":              {slices.Concat(whole, make([]byte, 9000)), 8000, ""},
		"little after":             {slices.Concat(whole, sound[:1000]), 8000, ""},
		"an empty one is one":      {riff(pcm, empty, list), 0, ""},
	} {
		h := decodeAll(tt.file, Input{})
		got := strings.Join(h.warnings(), " ")
		if h.err != nil || len(h.samples) != tt.samples || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d samples, %v, %q; want %d, %q", why, len(h.samples), h.err, got, tt.samples, tt.want)
		}
		if s := decodeAll(tt.file, Input{Strict: true}); (s.err == nil) != (got == "") {
			t.Errorf("%s: strict: %v", why, s.err)
		}
	}
}
