package audio

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sniffLen is how many bytes of a file a signature may look at.
const sniffLen = 40

// A format is a kind of file, recognised by its first bytes.
type format struct {
	name  string // as in "got an MP3 file"
	reads string // as in "want WAV or FLAC"; empty if it is refused, or a variant of another
	magic string // the first bytes; "?" stands for any byte. Empty: see is
	is    func(head []byte) bool
	open  func(f *file) (packets, codec, error) // nil: refused by name

	// sure reports whether a head that matches is no chance, in any data: then a file may
	// begin amid another. nil: never.
	sure func(head []byte) bool
	kind string // of sources that find the next file of their kind themselves

	own    func(f *file) []stretch // of the file, in order, that hold no sound, such as pictures: what begins there is no file
	end    func(f *file) int64     // where the content of a container ends, in which frames and streams are no files
	within bool                    // containers may hold it too
}

// formats is the one list of what is recognised; the first match wins. A new
// format is a line here and a file with its source.
var formats []format

func init() {
	long := func([]byte) bool { return true } // the magic is
	none := func(*file) int64 { return 0 }    // what it holds are no frames
	first := func(head []byte) bool { return hasAt(head, 4, "\x00\x02") }
	ogg := func(name, reads, packet string, open func(*file) (packets, codec, error)) format { // its first page
		return format{name: name, reads: reads, magic: "OggS????????????????????????" + packet, open: open, sure: first, kind: "ogg", own: oggHeaders, end: oggHeads, within: true}
	}
	formats = []format{
		{name: "a WAV file", reads: "WAV", magic: "RIFF????WAVE", open: inPCM(wavLayout), sure: long, own: besides(12, binary.LittleEndian, 4, "data"), end: riffEnd},
		{name: "a WAV file (RF64)", magic: "RF64????WAVE", open: inPCM(wavLayout), sure: long},
		{name: "a WAV file (BW64)", magic: "BW64????WAVE", open: inPCM(wavLayout), sure: long},
		{name: "a big-endian WAV file (RIFX)", magic: "RIFX????WAVE", open: inPCM(wavLayout), sure: long},
		{name: "a FLAC file", reads: "FLAC", magic: "fLaC", open: newFLAC, sure: isFLAC, own: flacHeader, within: true},
		{name: "a Sony Wave64 file (w64)", magic: wave64Magic, sure: long, end: framesEnd},
		{name: "an AVI video", magic: "RIFF????AVI ", sure: long, end: riffEnd},
		{name: "an AIFF file", reads: "AIFF", magic: "FORM????AIF", open: inPCM(aiffLayout), sure: long, own: besides(12, binary.BigEndian, 4, "SSND"), end: framesEnd},
		{name: "a Sun AU file", reads: "AU", magic: ".snd", open: inPCM(auLayout), sure: isAU, own: auNote},
		{name: "a Core Audio file (caf)", reads: "CAF", magic: "caff", open: inPCM(cafLayout), sure: isCAF, own: besides(8, binary.BigEndian, 8, "data"), end: cafEnd},
		ogg("an Ogg Opus file", "Ogg Opus", "OpusHead", inOgg(1, newOpus)),
		ogg("an Ogg Vorbis file", "Ogg Vorbis", "\x01vorbis", inOgg(3, newVorbis)),
		ogg("FLAC in an Ogg container", "", "\x7fFLAC", inOgg(1, newPackedFLAC)),
		{name: "an Ogg file", magic: "OggS", end: oggHeads},
		{name: "an MP4 or M4A file", magic: "????ftyp", sure: func(head []byte) bool { return allZero(head[:3]) }, own: besidesMdat, end: framesEnd},
		{name: "a Matroska or WebM file", reads: "WebM", magic: mkvMagic, open: newMatroska, sure: isMatroska, own: mkvAttached, end: mkvEnd},
		{name: "a WavPack file", magic: "wvpk", own: wavPackHeader, end: none},
		{name: "a Monkey's Audio file", magic: "MAC ", own: apeHeader, end: none},
		{name: "a True Audio file", magic: "TTA1", sure: isTrueAudio, end: none},
		{name: "an AMR file", magic: "#!AMR", sure: long, end: none},
		{name: "a Windows Media file (wma)", magic: asfMagic, sure: long, own: asfHeader, end: asfEnd},
		{name: "a MIDI file", magic: "MThd"},
		{name: "a SoX file", magic: ".SoX", sure: func(head []byte) bool { return len(head) >= 8 && allZero(head[6:8]) }, end: none},
		{name: "a DTS file", magic: "\x7f\xfe\x80\x01", end: none},
		{name: "a Psion file (wve)", magic: "ALawSoundFile**", sure: long, end: none},
		{name: "a mobile phone's file (mmf)", magic: "MMMD", end: framesEnd},
		{name: "a file of Sega's ADX", magic: "\x80\x00??\x03\x12\x04", sure: isADX, end: none},
		{name: "a NIST SPHERE file", magic: "NIST_1A\n", sure: long, end: none},
		{name: "a Flash video", magic: "FLV\x01", sure: func(head []byte) bool { return hasAt(head, 5, "\x00\x00\x00\x09") }, end: framesEnd},
		{name: "a RealMedia file", magic: ".RMF\x00\x00", sure: long, end: framesEnd},
		{name: "a Creative Voice file (voc)", magic: "Creative Voice File", sure: long, end: framesEnd},
		{name: "an AC-3 file", magic: "\x0b\x77", kind: "ac3"},
		{name: "an AAC file (ADTS)", is: isADTS, kind: "adts"},
		{name: "an MP3 file", reads: "MP3", is: isMPEG, open: newMP3, kind: "mpeg"},
	}
}

// matches reports whether head begins like a file of the format.
func (f *format) matches(head []byte) bool {
	if f.is != nil {
		return f.is(head)
	}
	if len(head) < len(f.magic) {
		return false
	}
	for i := range len(f.magic) {
		if f.magic[i] != '?' && f.magic[i] != head[i] {
			return false
		}
	}
	return true
}

// formatOf returns the format of a file that begins with head, or nil.
func formatOf(head []byte) *format {
	for i := range formats {
		if formats[i].matches(head) {
			return &formats[i]
		}
	}
	return nil
}

// asfMagic begins the id of the first object of a file.
const asfMagic = "\x30\x26\xb2\x75\x8e\x66\xcf\x11"

// wave64Magic begins the id of a file, and mkvMagic is that of its header.
const (
	wave64Magic = "riff\x2e\x91\xcf\x11"
	mkvMagic    = "\x1a\x45\xdf\xa3"
)

// isADX looks at the channels, up to 8, and at the rate, below 65,536.
func isADX(head []byte) bool {
	return len(head) >= 10 && head[7]-1 < 8 && allZero(head[8:10])
}

// isTrueAudio looks at the format, below 256, and at the channels, up to 8, behind the magic.
func isTrueAudio(head []byte) bool {
	return len(head) >= 8 && head[5] == 0 && head[6] < 9 && head[7] == 0
}

// MPEG audio has eleven set bits, then a version, a layer, a bitrate and a
// sampling rate that are not the reserved ones. AAC has layer 0.
func isADTS(head []byte) bool {
	return len(head) >= 3 && head[0] == 0xff && head[1]&0xf6 == 0xf0
}

func isMPEG(head []byte) bool {
	return len(head) >= 3 && head[0] == 0xff && head[1]&0xe0 == 0xe0 &&
		head[1]&0x18 != 0x08 && head[1]&0x06 != 0 && head[2]&0xf0 != 0xf0 && head[2]&0x0c != 0x0c
}

// isADTSRun and isAC3Run report whether frames of these formats follow each other in b.
//
// Source: ISO/IEC 13818-7:2006, 6.2; ATSC A/52:2018, 5.3 and table 5.18.
func isADTSRun(b []byte) bool {
	return isRun(b, func(b []byte) int {
		if !isADTS(b) || len(b) < 6 {
			return 0
		}
		return int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
	})
}

// isForeignRun reports whether frames of MPEG audio that is not read follow each other: of layer II, whose
// sizes are those of layer III but for one table, or of version 2.5, of half the rates of version 2.
func isForeignRun(b []byte) bool {
	return isRun(b, func(b []byte) int {
		if _, ok, err := parseMPEG(b); !ok || err == nil || b[1]>>1&3 == 3 {
			return 0
		}
		third, version, index := b[1]>>1&3 == 1, b[1]>>3&3, b[2]>>4
		kilobits, rate, scale := mpeg2Rates[index], [3]int{44100, 48000, 32000}[b[2]>>2&3], 144000
		switch {
		case version == 3 && index > 1: // 32, 48, 56, 64, 80 … 384, of layer II: the only one here
			kilobits = [16]int{2: 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384}[index]
		case version == 3:
			kilobits = 32 * int(index)
		case version == 2:
			rate /= 2
		default:
			rate /= 4
		}
		if third {
			scale = 72000
		}
		if kilobits == 0 {
			return 0
		}
		return scale*kilobits/rate + int(b[2]>>1&1)
	})
}

func isAC3Run(b []byte) bool {
	return isRun(b, func(b []byte) int {
		if !hasAt(b, 0, "\x0b\x77") || len(b) < 5 || b[4]&0x3f > 37 || b[4]>>6 == 3 {
			return 0
		}
		kilobits := [19]int{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640}[b[4]&0x3f>>1]
		rate := [3]int{48000, 44100, 32000}[b[4]>>6]
		words := kilobits * 1000 * 1536 / 16 / rate
		if rate == 44100 {
			words += int(b[4] & 1)
		}
		return 2 * words
	})
}

// isRun reports whether b begins with mpegRun frames, each of a
// size that is not 0.
func isRun(b []byte, size func([]byte) int) bool {
	for range mpegRun {
		n := size(b)
		if n == 0 {
			return false
		}
		b = b[min(n, len(b)):]
	}
	return true
}

// source opens f, which begins with head, as a file of a format; nil is none that is known.
func (f *file) source(k *format, head []byte) (*source, error) {
	if k == nil || k.open == nil {
		return nil, refuse(head)
	}
	f.kind, f.own, f.owned = k.kind, k.own, nil
	s, err := newSource(func() (packets, codec, error) { return k.open(f) })
	return s, f.failed(err)
}

// readable lists the formats that are read.
func readable() string {
	var names []string
	for _, f := range formats {
		if f.reads != "" {
			names = append(names, f.reads)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// refuse returns an error that names the format that begins with head, if it is known.
func refuse(head []byte) error {
	want := readable()
	if len(head) == 0 {
		return malformed("", want, emptyFile)
	}
	if f := formatOf(head); f != nil {
		return unsupported("", want, "%s", f.name)
	}
	if hasAt(head, 0, "RIFF") {
		if len(head) < 12 {
			return malformed("RIFF header", "12 bytes", "%d bytes", len(head))
		}
		return malformed("RIFF header", `the form "WAVE"`, "%q", head[8:12])
	}
	if isText(head) {
		return unsupported("", want, textFile)
	}
	return unsupported("", want, "a file that begins with % x", head[:min(len(head), 12)])
}

// isText reports whether head is text in UTF-8, apart from a character that its end cuts.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 {
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		}
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return false
		}
		head = head[n:]
	}
	return true
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

func hasAt(b []byte, offset int, magic string) bool {
	return len(b) >= offset && bytes.HasPrefix(b[offset:], []byte(magic))
}
