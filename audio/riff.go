package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Sample codes of a WAV file (wFormatTag) that we read.
const (
	tagPCM        = 0x0001
	tagFloat      = 0x0003
	tagALaw       = 0x0006
	tagMuLaw      = 0x0007
	tagExtensible = 0xfffe
)

// codecNames are the codes we refuse by name; ffmpeg reads all of them.
var codecNames = map[uint16]string{
	0x0002: "Microsoft ADPCM", 0x0011: "IMA ADPCM", 0x0022: "TrueSpeech", 0x0031: "GSM 6.10",
	0x0040: "G.721 ADPCM", 0x0045: "G.726 ADPCM", 0x0050: "MPEG audio", 0x0055: "MP3",
	0x0064: "G.726 ADPCM", 0x0092: "AC-3 (S/PDIF)", 0x00ff: "AAC", 0x0161: "Windows Media Audio 2",
	0x0162: "Windows Media Audio Pro", 0x2000: "AC-3", 0x674f: "Vorbis", 0x704f: "Opus", 0xf1ac: "FLAC",
}

// Rates outside these are taken for damage: below, a few bytes would be hours of
// audio; above, one output sample would take thousands of products.
const (
	minRate = 1000
	maxRate = 1_000_000
)

// maxChunks bounds the walk over a file made of empty chunks.
const maxChunks = 1 << 16

// A wavFormat is what a WAV header says, checked against the file: all of the
// sample data lies inside it.
type wavFormat struct {
	tag       uint16 // tagPCM, tagFloat, tagALaw or tagMuLaw
	channels  int
	rate      int
	container int   // bytes of one sample of one channel
	offset    int64 // of the sample data
	frames    int64 // samples per channel
}

func (f wavFormat) blockAlign() int { return f.channels * f.container }

// A riffWalk visits the chunks of a file and remembers what they say. Sizes are
// clipped to the file, so that no header can make us read or allocate more.
type riffWalk struct {
	r        io.ReaderAt
	size     int64 // of the file
	form     int64 // what the RIFF header claims to cover
	ds64     int64 // sample data as an RF64 file states it, or -1
	fmt      []byte
	dataAt   int64 // -1 until the data chunk is found
	dataSize int64
}

// parseWAV reads the header of a RIFF, RF64 or BW64 file. The fmt chunk may come
// after the data, which some writers do and a seekable file allows.
func parseWAV(r io.ReaderAt, size int64) (wavFormat, error) {
	w := riffWalk{r: r, size: size, ds64: -1, dataAt: -1}
	if err := w.walk(); err != nil {
		return wavFormat{}, err
	}
	switch {
	case w.fmt == nil:
		return wavFormat{}, malformed("fmt chunk", "one", "none")
	case w.dataAt < 0:
		return wavFormat{}, malformed("data chunk", "one", "none")
	}
	f, err := parseFmt(w.fmt)
	if err != nil {
		return wavFormat{}, err
	}
	f.offset = w.dataAt
	f.frames = w.dataSize / int64(f.blockAlign()) // a cut-off last frame is dropped
	return f, nil
}

func (w *riffWalk) walk() error {
	var head [12]byte
	if _, err := w.r.ReadAt(head[:], 0); err != nil {
		return malformed("RIFF header", "12 bytes", "%d bytes", w.size)
	}
	w.form = 8 + int64(binary.LittleEndian.Uint32(head[4:]))
	at := int64(len(head))
	for range maxChunks {
		if w.fmt != nil && w.dataAt >= 0 || at+8 > w.size {
			return nil
		}
		next, err := w.chunk(at)
		if err != nil {
			return err
		}
		at = next
	}
	return malformed("chunks", fmt.Sprintf("at most %d before the sound", maxChunks), "more")
}

// chunk takes in the chunk at offset at and returns the offset of the next one.
func (w *riffWalk) chunk(at int64) (next int64, err error) {
	var head [8]byte
	if _, err := w.r.ReadAt(head[:], at); err != nil {
		return 0, fmt.Errorf("reading the chunk header at byte %d: %w", at, err)
	}
	id, claimed := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
	body := at + 8
	size := min(claimed, w.size-body)
	next = body + size + size&1 // chunks begin at even offsets
	switch {
	case id == "ds64":
		b, err := w.read(body, min(size, 16))
		if err != nil {
			return 0, err
		}
		if len(b) == 16 {
			w.ds64 = int64(min(binary.LittleEndian.Uint64(b[8:]), 1<<62))
		}
	case id == "fmt " && w.fmt == nil:
		if size < claimed {
			return 0, malformed("fmt chunk", fmt.Sprintf("the %d bytes its header states", claimed), "%d bytes", size)
		}
		w.fmt, err = w.read(body, min(size, 40))
		return next, err
	case id == "data" && w.dataAt < 0:
		w.dataAt = body
		w.dataSize = w.dataBytes(claimed)
		next = body + w.dataSize + w.dataSize&1
	}
	return next, nil
}

// dataBytes returns how many bytes of sound there are, given the size in the
// header of the data chunk. Programs that write to a pipe cannot know it and
// leave 0 or 0xFFFFFFFF there; what they wrote then reaches to the end of file.
// A size of 0 is believed when the RIFF header, too, ends the file there or
// accounts for what follows.
func (w *riffWalk) dataBytes(claimed int64) int64 {
	rest := w.size - w.dataAt
	const unknown = 0xffffffff
	if claimed == unknown && w.ds64 > 0 {
		return min(w.ds64, rest)
	}
	if claimed == 0 && w.form > w.dataAt && w.form != 8+unknown {
		return 0
	}
	if claimed == 0 {
		return rest
	}
	return min(claimed, rest)
}

func (w *riffWalk) read(at, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(w.r, at, n), b); err != nil {
		return nil, fmt.Errorf("reading %d bytes at byte %d: %w", n, at, err)
	}
	return b, nil
}

// parseFmt reads the body of a fmt chunk: PCMWAVEFORMAT (16 bytes), WAVEFORMATEX
// (18) or WAVEFORMATEXTENSIBLE (40).
func parseFmt(b []byte) (wavFormat, error) {
	if len(b) < 16 {
		return wavFormat{}, malformed("fmt chunk", "at least 16 bytes", "%d", len(b))
	}
	le := binary.LittleEndian
	f := wavFormat{
		tag:      le.Uint16(b),
		channels: int(le.Uint16(b[2:])),
		rate:     int(le.Uint32(b[4:])),
	}
	align, bits := int(le.Uint16(b[12:])), int(le.Uint16(b[14:]))
	extensible := f.tag == tagExtensible
	if extensible {
		var err error
		if f.tag, err = subFormat(b); err != nil {
			return wavFormat{}, err
		}
	}
	switch {
	case f.channels == 0:
		return wavFormat{}, malformed("channels", "1 or more", "0")
	case f.rate < minRate || f.rate > maxRate:
		return wavFormat{}, unsupported("sample rate", fmt.Sprintf("%d to %d Hz", minRate, maxRate), "%d Hz", f.rate)
	}
	f.container = (bits + 7) / 8
	if err := checkCode(f, bits); err != nil {
		return wavFormat{}, err
	}
	// An absent block size (0) follows from the rest; any other must agree. 24 bits
	// in 4 bytes are well defined only in the extensible form, which states 32 here.
	if align != 0 && align != f.blockAlign()&0xffff {
		return wavFormat{}, malformed("block size", fmt.Sprintf("%d bytes for %d channels of %d bits", f.blockAlign(), f.channels, bits), "%d", align)
	}
	return f, nil
}

// subFormat returns the code inside a WAVE_FORMAT_EXTENSIBLE header. Fewer valid
// bits than the container holds need no care: they are the upper ones.
func subFormat(b []byte) (uint16, error) {
	if len(b) < 40 {
		return 0, malformed("WAVE_FORMAT_EXTENSIBLE header", "40 bytes", "%d", len(b))
	}
	if cb := binary.LittleEndian.Uint16(b[16:]); cb < 22 {
		return 0, malformed("WAVE_FORMAT_EXTENSIBLE header", "an extension of 22 bytes", "%d", cb)
	}
	// KSDATAFORMAT_SUBTYPE_*: the old code, then a fixed tail.
	const tail = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
	if !bytes.Equal(b[26:40], []byte(tail)) {
		return 0, unsupported("sub-format", "PCM or float", "GUID % x", b[24:40])
	}
	return binary.LittleEndian.Uint16(b[24:]), nil
}

// checkCode refuses codes and sample sizes nothing here can read.
func checkCode(f wavFormat, bits int) error {
	ok, want := false, ""
	switch f.tag {
	case tagPCM:
		ok, want = bits >= 1 && bits <= 32, "8, 16, 24 or 32"
	case tagFloat:
		ok, want = bits == 32 || bits == 64, "32 or 64"
	case tagALaw, tagMuLaw:
		ok, want = bits == 8, "8"
	default:
		name := codecNames[f.tag]
		if name == "" {
			name = "an unknown code"
		}
		return unsupported("WAV sample code", "PCM, float, A-law or mu-law", "%s (0x%04x)", name, f.tag)
	}
	if !ok {
		return unsupported("bits per sample", want, "%d", bits)
	}
	return nil
}
