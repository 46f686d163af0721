package audio

import (
	"io"
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
	for _, seed := range pcmSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := openBytes(file)
		if err != nil {
			return
		}
		if p, ok := c.whole.now.mix.src.(*pcmSource); ok && p.layout.frames > int64(len(file)) {
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
