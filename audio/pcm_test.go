package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// big joins chunks of AIFF: ids, sizes most significant byte first, even lengths.
func big(form string, chunks ...string) []byte {
	body := form
	for i := 0; i < len(chunks); i += 2 {
		body += chunks[i] + string(binary.BigEndian.AppendUint32(nil, uint32(len(chunks[i+1])))) + chunks[i+1]
		if len(chunks[i+1])%2 == 1 {
			body += "\x00"
		}
	}
	return []byte("FORM" + string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body)
}

// rate16k is 16,000 as an 80-bit float.
const rate16k = "\x40\x0c\xfa\x00\x00\x00\x00\x00\x00\x00"

func comm(channels, frames, bits int, code string) string {
	return fmt.Sprintf("\x00%c\x00\x00\x00%c\x00%c%s%s", channels, frames, bits, rate16k, code)
}

// ssnd is the body of an SSND chunk.
func ssnd(samples string) string { return strings.Repeat("\x00", 8) + samples }

// caf returns a Core Audio file.
func caf(format string, flags, bits, size int, samples string) []byte {
	b := []byte("caff\x00\x01\x00\x00desc\x00\x00\x00\x00\x00\x00\x00\x20")
	be := binary.BigEndian
	b = be.AppendUint64(b, math.Float64bits(SampleRate))
	b = append(b, format...)
	for _, v := range []int{flags, bits / 8, 1, 1, bits} {
		b = be.AppendUint32(b, uint32(v))
	}
	b = append(b, "free\x00\x00\x00\x00\x00\x00\x00\x02xxdata"...)
	b = be.AppendUint64(b, uint64(int64(size)))
	return append(b, "\x00\x00\x00\x00"+samples...)
}

// au returns a Sun AU file.
func au(code, size uint32, samples string) []byte {
	b := []byte(".snd")
	for _, v := range []uint32{28, size, code, SampleRate, 1, 0} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, samples...)
}

// pcmSeeds are small files of each container of uncompressed samples.
func pcmSeeds() [][]byte {
	return [][]byte{
		big("AIFF", "COMM", comm(1, 2, 16, ""), "SSND", ssnd("\x40\x00\x80\x00")),
		big("AIFC", "FVER", "xxxx", "COMM", comm(2, 2, 16, "sowt"), "SSND", ssnd("\x00\x40\x00\x20")),
		caf("lpcm", 3, 32, 4, "\x00\x00\x00\x3f"), au(27, 2, "\xd5\x2a"),
		riff(chunk("fmt ", fmtBody(6, 1, 8000, 8)), chunk("data", []byte("\xd5\x2a"))),
	}
}

// TestContainers reads a few samples out of every container of uncompressed sound.
func TestContainers(t *testing.T) {
	half := []float32{0.5, -1}
	const be16, le16 = "\x40\x00\x80\x00", "\x00\x40\x00\x80"
	unsized := big("AIFF", "COMM", comm(1, 2, 16, ""), "SSND", ssnd(be16))
	clear(unsized[42:46])
	for _, tt := range []struct {
		why  string
		file []byte
		want []float32
	}{
		{"AIFF of 16 bits", big("AIFF", "COMM", comm(1, 2, 16, ""), "SSND", ssnd(be16)), half},
		{"AIFF of 8 bits", big("AIFF", "COMM", comm(1, 2, 8, ""), "SSND", ssnd("\x40\x80")), half},
		{"AIFF of 12 bits: the upper ones", big("AIFF", "COMM", comm(1, 1, 12, ""), "SSND", ssnd("\x40\x00")), half[:1]},
		{"AIFF of 24 bits", big("AIFF", "COMM", comm(1, 1, 24, ""), "SSND", ssnd("\x80\x00\x00")), half[1:]},
		{"AIFF, SSND first", big("AIFF", "SSND", ssnd(be16), "COMM", comm(1, 2, 16, "")), half},
		{"AIFF, SSND with an offset", big("AIFF", "COMM", comm(1, 2, 16, ""), "SSND", "\x00\x00\x00\x03\x00\x00\x00\x00xxx"+be16), half},
		{"AIFF without sound", big("AIFF", "COMM", comm(1, 0, 16, "")), nil},
		{"AIFF from a pipe", unsized, half},
		{"AIFC NONE", big("AIFC", "COMM", comm(1, 2, 16, "NONE"), "SSND", ssnd(be16)), half},
		{"AIFC sowt", big("AIFC", "COMM", comm(1, 2, 16, "sowt"), "SSND", ssnd(le16)), half},
		{"AIFC raw", big("AIFC", "COMM", comm(1, 2, 8, "raw "), "SSND", ssnd("\xc0\x00")), half},
		{"AIFC fl32", big("AIFC", "COMM", comm(1, 1, 32, "fl32"), "SSND", ssnd("\x3f\x00\x00\x00")), half[:1]},
		{"AIFC fl64", big("AIFC", "COMM", comm(1, 1, 64, "FL64"), "SSND", ssnd("\xbf\xf0\x00\x00\x00\x00\x00\x00")), half[1:]},
		{"AIFC ulaw, 16 bits stated", big("AIFC", "COMM", comm(1, 2, 16, "ulaw"), "SSND", ssnd("\xff\x00")), []float32{0, -32124.0 / 32768}},
		{"CAF of 16 bits", caf("lpcm", 0, 16, 8, be16), half},
		{"CAF of 16 bits, little", caf("lpcm", 2, 16, 8, le16), half},
		{"CAF float, little", caf("lpcm", 3, 32, 8, "\x00\x00\x00\x3f"), half[:1]},
		{"CAF float of 64 bits", caf("lpcm", 1, 64, 12, "\xbf\xf0\x00\x00\x00\x00\x00\x00"), half[1:]},
		{"CAF of no stated size", caf("lpcm", 0, 16, -1, be16), half},
		{"CAF A-law", caf("alaw", 0, 8, 6, "\xd5\x2a"), []float32{8.0 / 32768, -32256.0 / 32768}},
		{"AU of 16 bits", au(3, 4, be16), half},
		{"AU of 8 bits", au(2, 2, "\x40\x80"), half},
		{"AU of no stated size", au(3, 0xffffffff, be16), half},
		{"AU float", au(6, 4, "\x3f\x00\x00\x00"), half[:1]},
		{"AU mu-law", au(1, 2, "\xff\x00"), []float32{0, -32124.0 / 32768}},
	} {
		c, err := openBytes(tt.file)
		if err != nil {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		got, err := readAll(t, c)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) || c.Warnings() != nil {
			t.Errorf("%s: samples = %v, %v, %q; want %v", tt.why, got, err, c.Warnings(), tt.want)
		}
	}
}

// TestContainersTruncated wants a warning where less is there than is stated.
func TestContainersTruncated(t *testing.T) {
	for why, file := range map[string][]byte{
		"AIFF":                      big("AIFF", "COMM", comm(1, 2, 16, ""), "SSND", ssnd(strings.Repeat("x", 100)))[:80],
		"AIFF, more frames in COMM": big("AIFF", "COMM", comm(1, 9, 16, ""), "SSND", ssnd("xxxx")),
		"AIFF, other channels":      big("AIFF", "COMM", comm(9, 50, 16, ""), "SSND", ssnd(strings.Repeat("x", 100))),
		"CAF":                       caf("lpcm", 0, 16, 104, "xxxx"), "AU": au(3, 100, "xxxx"),
	} {
		c, err := openBytes(file)
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		if got, err := readAll(t, c); err != nil || len(got) == 0 || !c.Truncated() {
			t.Errorf("%s: %d samples, %v, truncated %t", why, len(got), err, c.Truncated())
		}
	}
}

// TestContainerErrors wants the thing that is wrong by name.
func TestContainerErrors(t *testing.T) {
	for _, tt := range []struct {
		file []byte
		want string
		err  error
	}{
		{big("AIFF", "SSND", ssnd("xx")), "COMM chunk: got none", ErrMalformed},
		{big("AIFF", "COMM", comm(1, 2, 16, "")), "SSND chunk: got none", ErrMalformed},
		{big("AIFF", "COMM", comm(1, 2, 16, "")[:10], "SSND", ssnd("xx")), "COMM chunk: got 10", ErrMalformed},
		{big("AIFF", "COMM", comm(0, 2, 16, ""), "SSND", ssnd("xx")), "channels: got 0", ErrMalformed},
		{big("AIFF", "COMM", comm(1, 2, 64, ""), "SSND", ssnd("xx")), "bits per sample: got 64", ErrUnsupported},
		{big("AIFF", "COMM", comm(1, 2, 16, ""), "SSND", "\x00\x00\x00\x05\x00\x00\x00\x00xxxx"), "SSND chunk at byte 38: got some at offset 5", ErrMalformed},
		{big("AIFF", "COMM", comm(1, 2, 16, ""), "SSND", "\xff\xff\xff\xff\x00\x00\x00\x00xxxx"), "SSND chunk at byte 38: got some at offset 4294967295", ErrMalformed},
		{big("AIFC", "COMM", comm(1, 2, 16, "ima4"), "SSND", ssnd("xx")), `AIFC compression: got "ima4"`, ErrUnsupported},
		{caf("alac", 0, 0, 4, ""), `Core Audio format: got "alac"`, ErrUnsupported},
		{caf("lpcm", 0, 16, 4, "")[:60], "data chunk: got none", ErrMalformed},
		{au(23, 4, "xxxx"), "AU encoding: got 23", ErrUnsupported},
		{au(3, 4, "")[:20], "AU header: got 20", ErrMalformed},
	} {
		_, err := openBytes(tt.file)
		if !errors.Is(err, tt.err) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("error = %v\nwant %v with %q", err, tt.err, tt.want)
		}
	}
}
