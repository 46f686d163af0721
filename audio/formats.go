package audio

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"verity/internal/show"
)

// sniffLen is how many bytes of a file a signature may look at.
const sniffLen = 40

// A format is a kind of file, recognised by its first bytes.
type format struct {
	name  string // as in "got an MP3 file"
	reads string // as in "want WAV or FLAC"; empty if it is refused, or a variant of another
	magic string // the first bytes; "?" stands for any byte. Empty: see is
	is    func(head []byte) bool
	open  func(f *file) (container, codec, error) // nil: not read here; ffmpeg may
}

// formats lists what is recognised. The first match wins. A new format is a row here and a file with its
// container or codec.
var formats []format

func init() {
	formats = []format{
		{name: "a WAV file", reads: "WAV", magic: "RIFF????WAVE", open: openWAV},
		{name: "a WAV file (RF64)", magic: "RF64????WAVE", open: openWAV},
		{name: "a WAV file (BW64)", magic: "BW64????WAVE", open: openWAV},
		{name: "a FLAC file", reads: "FLAC", magic: "fLaC", open: openFLAC},
		{name: "an Ogg Opus file", reads: "Ogg Opus", magic: "OggS????????????????????????OpusHead", open: openOgg},
		{name: "an Ogg stream without its first page", is: isLaterPage},
		{name: "an Ogg file without Opus", magic: "OggS"},
		{name: "a Matroska or WebM file", reads: "WebM", magic: ebmlMagic, open: openMatroska},
		{name: "an AIFF file", magic: "FORM????AIF"},
		{name: "a Sun AU file", magic: ".snd"},
		{name: "a Core Audio file (caf)", magic: "caff"},
		{name: "an MP4 or M4A file", magic: "????ftyp"},
		{name: "a QuickTime file", is: isQuickTime},
		{name: "an AVI video", magic: "RIFF????AVI "},
		{name: "a Flash video", magic: "FLV\x01"},
		{name: "a Windows Media file (wma)", magic: "\x30\x26\xb2\x75\x8e\x66\xcf\x11"},
		{name: "a WavPack file", magic: "wvpk"},
		{name: "a Monkey's Audio file", magic: "MAC "},
		{name: "an AMR file", magic: "#!AMR"},
		{name: "a NIST SPHERE file", magic: "NIST_1A"}, // a header of text
		{name: "an AC-3 file", magic: "\x0b\x77"},
		{name: "an AAC file (ADTS)", is: isADTS},
		{name: "an MP3 file", reads: "MP3", is: isMPEG, open: openMP3},
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

// isLaterPage reports whether head is an Ogg page that does not begin a stream.
func isLaterPage(head []byte) bool {
	return hasAt(head, 0, "OggS") && len(head) > 5 && head[5]&oggFirst == 0
}

// isQuickTime reports whether head is one of the boxes that files older than MP4 begin with.
func isQuickTime(head []byte) bool {
	boxes := []string{"moov", "mdat", "wide", "free", "skip", "pnot", "styp"}
	return slices.ContainsFunc(boxes, func(box string) bool { return hasAt(head, 4, box) })
}

// isADTS and isMPEG recognise frames: eleven set bits, then a version, a layer, a bitrate and a sampling rate
// that are not the reserved ones. AAC has layer 0.
func isADTS(head []byte) bool {
	return len(head) >= 3 && head[0] == 0xff && head[1]&0xf6 == 0xf0
}

func isMPEG(head []byte) bool {
	return len(head) >= 3 && head[0] == 0xff && head[1]&0xe0 == 0xe0 &&
		head[1]&0x18 != 0x08 && head[1]&0x06 != 0 && head[2]&0xf0 != 0xf0 && head[2]&0x0c != 0x0c
}

// source opens f, which begins with head, as a file of format k; nil is an unknown one.
func (f *file) source(k *format, head []byte) (*source, error) {
	if k == nil || k.open == nil {
		return nil, refuse(head)
	}
	s, err := newSource(func() (container, codec, error) { return k.open(f) })
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
	return show.JoinOr(names)
}

// refuse returns an error that names the format that begins with head, if it is known.
func refuse(head []byte) error {
	switch f := formatOf(head); {
	case len(head) == 0:
		return final(ErrMalformed, "is empty; record or copy it again")
	case f != nil:
		return unsupported("", readable(), "%s", f.name)
	case hasAt(head, 0, "RIFF") && len(head) < 12:
		return malformed("RIFF header", "12 bytes", "%d bytes", len(head))
	case hasAt(head, 0, "\x89PNG"), hasAt(head, 0, "\xff\xd8\xff"), hasAt(head, 0, "GIF8"):
		return final(ErrNoSound, "is a picture, not a sound file")
	case hasAt(head, 0, "\x1f\x8b"):
		return final(ErrUnsupported, "is packed with gzip, not a sound file; unpack it first, as with gunzip")
	case hasAt(head, 6, "Whisper"), hasAt(head, 0, "lmgg"): // of CTranslate2, of whisper.cpp
		return final(ErrUnsupported, "is a model, not a sound file; name it with --model")
	case hasAt(head, 0, "PK\x03\x04"):
		return final(ErrUnsupported, "is a Word document or another ZIP archive, not a sound file")
	case hasAt(head, 0, "%PDF"):
		return final(ErrUnsupported, "is a PDF document, not a sound file")
	case isText(head):
		return final(ErrUnsupported, "is a text file, not a sound file")
	}
	return unsupported("", readable(), "a file of no known format, which begins with % x", head[:min(len(head), 12)])
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
