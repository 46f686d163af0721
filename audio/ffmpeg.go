package audio

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Values of Input.FFmpeg besides the path of a program.
const (
	FFmpegAuto  = "auto"  // the program of that name, if it is installed
	FFmpegNever = "never" // none
)

// ffmpegFormats are the demuxers that ffmpeg may use: containers of sound. Others could
// open further files (playlists, lists of segments) or hold no sound (pictures, text).
const ffmpegFormats = "aa,aac,aax,ac3,ac4,act,adp,adx,aea,aiff,alp,amr,amrnb,amrwb,ape,apm,asf,ast,au,avi,avr,bfstm,binka,bit," +
	"boa,brstm,caf,codec2,daud,dsf,dss,dts,dtshd,eac3,ea,epaf,flac,flv,fsb,fwse,g722,g723_1,g726,g729,gsm,hca,hcom,iff,ilbc,ircam,iss," +
	"iv8,kvag,libgme,libopenmpt,live_flv,loas,matroska,webm,mlp,mmf,mov,mp4,m4a,3gp,mp3,mpc,mpc8,mpeg,mpegts,msf,mtaf,mtv,musx,mxf," +
	"nistsphere,nsv,nut,oma,ogg,paf,pvf,qcp,qoa,r3d,rm,rso,sds,sdx,shn,sln,smjpeg,sox,spdif,svag,swf,tak,tta,vag,voc,vpk,vqf,w64," +
	"wav,wsaud,wsvqa,wtv,wv,wve,xa,xmv,xvag,xwma"

// telephoneFormats are the demuxers for Input.Telephones.
const telephoneFormats = "mov,mp4,m4a,3gp,aac,amr,amrnb,amrwb"

// program returns the path of ffmpeg, or an empty one if it must not be used or is not
// installed.
func (in Input) program() (string, error) {
	switch in.FFmpeg {
	case FFmpegNever:
		return "", nil
	case "", FFmpegAuto:
		p, err := exec.LookPath("ffmpeg")
		if err != nil {
			return "", nil
		}
		return p, nil
	}
	p, err := exec.LookPath(in.FFmpeg)
	if err != nil {
		return "", fmt.Errorf("ffmpeg: %w; want %s, %s or the path of the program", err, FFmpegAuto, FFmpegNever)
	}
	return p, nil
}

// An ffmpeg lets a program decode a file to a stream in AU format, of 32-bit floats.
type ffmpeg struct {
	*pcmReader // of what the program writes
	ctx        context.Context
	program    string
	formats    string // that it may read
	sound      *os.File
	stop       context.CancelFunc // of the run
	cmd        *exec.Cmd
	said       tail
	cut        bool // the file ends amid its sound
}

// start runs the program, anew after the first time, and reads the header.
func (f *ffmpeg) start() error {
	out, err := f.run("-map", "0:a:0", "-vn", "-sn", "-dn", "-c:a", "pcm_f32be", "-f", "au", "-protocol_whitelist", "pipe", "pipe:1")
	if err != nil {
		return err
	}
	pipe := &stream{r: out}
	layout, err := auLayout(newFile(pipe, 0, unknownSize))
	least := int64(auHeader - 1)
	if err == nil {
		least = layout.offset
	}
	if pipe.there(least) <= 0 { // it has ended
		return cmp.Or(f.wait(), unsupported("what ffmpeg wrote", "sound", "none"))
	}
	layout.promised = statedSamples(f.sound)
	f.pcmReader = newPCM(newFile(pipe, 0, unknownSize), layout)
	return err
}

// run lets the program write an output.
func (f *ffmpeg) run(output ...string) (io.Reader, error) {
	f.close()
	ctx, stop := context.WithCancel(f.ctx)
	f.stop, f.said = stop, tail{}
	name := "file:" + f.sound.Name()
	var inherited []*os.File
	if runtime.GOOS != "windows" {
		// The program inherits the open file, since the name may point elsewhere by now
		// and a temporary file has none. On some systems both share one offset, so it
		// is set back to the start.
		if _, err := f.sound.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		name, inherited = "file:/dev/fd/3", []*os.File{f.sound}
	}
	f.cmd = exec.CommandContext(ctx, f.program, append([]string{"-nostdin", "-v", "level+info", "-nostats", "-progress", "pipe:2", "-err_detect", "crccheck",
		"-protocol_whitelist", "file", "-format_whitelist", f.formats, "-i", name}, output...)...)
	f.cmd.Stderr, f.cmd.ExtraFiles = &f.said, inherited
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		f.cmd = nil
		return nil, fmt.Errorf("ffmpeg: %w", err)
	}
	return out, nil
}

// reach returns the seconds at which the last packet of any stream ends: pictures may go on where there is no more
// sound.
func (f *ffmpeg) reach() float64 {
	out, err := f.run("-map", "0:v?", "-map", "0:a", "-map", "0:s?", "-c", "copy", "-f", "null", "-")
	if err == nil {
		_, _ = io.Copy(io.Discard, out)
		_ = f.wait()
	}
	return f.said.reached
}

// statedSamples returns how many samples a header states that ffmpeg does not look at; 0 of other files. That of
// Sega's ADX counts less a block, since some count the one that ends the file: ffmpeg calls it a corrupt packet.
func statedSamples(file *os.File) (n int64) {
	b := make([]byte, 1024)
	got, _ := file.ReadAt(b, 0)
	b, le, be := b[:got], binary.LittleEndian, binary.BigEndian
	switch {
	case got < 32:
	case hasAt(b, 0, "\x80\x00") && hasAt(b, 4, "\x03\x12\x04"):
		return max(0, int64(be.Uint32(b[12:]))-32)
	case hasAt(b, 0, ".SoX"): // of all channels
		return max(0, int64(le.Uint64(b[8:]))/max(1, int64(le.Uint32(b[24:]))))
	case hasAt(b, 0, "XoS."):
		return max(0, int64(be.Uint64(b[8:]))/max(1, int64(be.Uint32(b[24:]))))
	case hasAt(b, 0, wave64Magic): // of which ffmpeg also reads what fills it up to eight bytes
		format, data := indexOr(b, "fmt \xf3\xac\xd3\x11"), indexOr(b, "data\xf3\xac\xd3\x11")
		if format+40 > data || data+24 > got {
			return 0
		}
		tag := le.Uint16(b[format+24:])
		if tag == tagExtensible {
			tag = le.Uint16(b[min(format+24+24, data):])
		}
		if tag == tagPCM || tag == tagFloat {
			return max(0, int64(le.Uint64(b[data+16:]))-24) / max(1, int64(le.Uint16(b[format+36:])))
		}
	case hasAt(b, 0, "2BIT") && be.Uint16(b[12:]) == 0: // of one channel
		return int64(be.Uint32(b[26:]))
	}
	if _, count, ok := bytes.Cut(b, []byte("sample_count -i ")); ok && hasAt(b, 0, "NIST_1A\n") {
		_, _ = fmt.Sscan(string(count), &n)
	}
	return max(n, 0)
}

// maxFFmpeg is the most samples of each channel that are read of one stream: two days
// at 192 kHz.
const maxFFmpeg = 48 * 3600 * 192000

func (f *ffmpeg) next() (packet, error) {
	if f.pos > maxFFmpeg {
		return packet{}, malformed("what ffmpeg writes", fmt.Sprintf("at most %d samples", int64(maxFFmpeg)), "more")
	}
	p, err := f.pcmReader.next()
	if err == nil || f.cmd == nil {
		return p, err
	}
	broken := f.file.stream.err != io.EOF
	if broken {
		f.stop() // or wait could last
	}
	failed := f.wait()
	if failed != nil && (broken || f.pos == 0 || f.ctx.Err() != nil) {
		return p, failed
	}
	p = newPacket(nil)
	why := f.fault()
	p.lost.why = cmp.Or(f.complaint(failed), why)
	if stated := f.said.stated; f.layout.promised == 0 && f.short(stated) {
		f.layout.promised = int64(stated * float64(f.layout.rate))
	}
	return p, nil
}

// short reports whether the sound ends before the seconds that a header states, and no other stream goes on until
// then: the last of its pictures has no length, and may come before others. CAF counts whole packets, of up to
// 4,096 samples.
func (f *ffmpeg) short(stated float64) bool {
	end, slack := f.shape().seconds(f.pos), 0.1
	if head := newFile(f.sound, 0, sniffLen).head(0); hasAt(head, 0, "caff") {
		slack = max(slack, f.shape().seconds(4096))
	}
	if stated-end <= slack {
		return false
	}
	reach := f.reach()
	if reach-end > slack {
		slack = 1
	}
	return stated-reach > slack
}

func (f *ffmpeg) ended() (whole bool, end int64) { return !f.cut, 0 }

// fault returns what is wrong with the container where ffmpeg says nothing, and notes whether the file ends amid it.
func (f *ffmpeg) fault() (why error) {
	st, err := f.sound.Stat()
	if err != nil {
		return nil
	}
	all := newFile(interruptible{f.ctx, f.sound}, 0, st.Size())
	all.seen = all.size // it is one file
	if hasAt(all.head(0), 0, "OggS") {
		why, f.cut = oggFault(all)
	} else {
		f.cut = endsAmid(all)
	}
	return why
}

// complaint says that ffmpeg did not read the whole sound, if it tells: in words, such as
// "File ended prematurely", by its status, or by times that go on where samples are missing.
func (f *ffmpeg) complaint(failed error) error {
	said := f.said.String()
	if failed != nil {
		said = cause(failed)
	}
	if missing := f.said.missing(f.layout); said == "" && missing > 0.1 {
		said = fmt.Sprintf("%.2f s less than its times tell", missing)
	}
	if said == "" || f.layout.promised > 0 && f.pos >= f.layout.promised {
		return nil
	}
	why := malformed("what ffmpeg read", "the whole sound", "%s", said).(*FormatError)
	why.never = true // what would be advised is ffmpeg
	return why
}

// endsAmid reports whether a file ends amid its sound by what frames it, where ffmpeg says nothing: in a packet
// of an MPEG transport stream, amid a piece, before the size that Windows Media states, or with more behind the end
// that Matroska states.
//
// Source: ISO/IEC 13818-1, 2.4.3.2; of cameras, with four bytes of time before each packet.
// Microsoft, Advanced Systems Format, 3.2.
func endsAmid(f *file) bool {
	b := make([]byte, 1<<13)
	n, _ := f.read(b, 0)
	b = b[:n]
	const properties = "\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\x00\xc0\x0c\x20\x53\x65"
	if at := bytes.Index(b, []byte(properties)); at >= 0 && hasAt(b, 0, asfMagic) && at+48 <= n {
		return binary.LittleEndian.Uint64(b[at+40:]) > uint64(f.size)
	}
	for _, k := range [][2]int{{188, 0}, {192, 4}} {
		size, sync := k[0], k[1]
		for sync < n && b[sync] == 0x47 {
			sync += size
		}
		if sync > 8*size {
			return f.size%int64(size) != 0
		}
	}
	if hasAt(b, 0, mkvMagic) { // of which ffmpeg reads nothing behind the end that is stated
		end := mkvEnd(f)
		id, _ := mkvID(f.head(end))
		return !f.padding(end) && (mkvOthers[id] == 0 || f.find(end, mkvClusterID) >= 0)
	}
	end := int64(0)
	for s := range boxes(f) {
		end = s.to
	}
	switch {
	case hasAt(b, 0, "Creative Voice File"): // has a zero behind the last, of which sox counts eight bytes too few
		return end >= f.size || f.size-end > 1+8 && !f.padding(end)
	case isMP4(b): // of fragments with a wrong size, others lie where none begins
		return end > f.size || f.find(end, "moof") >= 0
	}
	return end > f.size
}

// boxes gives the pieces of a file that state their sizes: boxes, chunks, or all of it. The last one may reach
// beyond the file.
func boxes(f *file) iter.Seq2[stretch, []byte] {
	return func(yield func(stretch, []byte) bool) {
		head := make([]byte, 256)
		n, _ := f.read(head, 0)
		at := firstPiece(head[:n])
		for first := at; at <= f.size; {
			b := f.head(at)
			if at > first && (formatOf(b) != nil || tagSize(b) > 0) {
				return
			}
			size := pieceSize(head, append(b, make([]byte, sniffLen)...)[:sniffLen])
			if size < 0 {
				size = f.size - at
			}
			if size <= 0 || size > math.MaxInt64-at || !yield(stretch{at, at + size}, b) {
				return
			}
			at += size
		}
	}
}

// firstPiece returns where the first piece lies of a file that begins with head.
func firstPiece(head []byte) int64 {
	switch {
	case hasAt(head, 0, "caff"):
		return 8
	case hasAt(head, 0, "FLV"):
		return 13
	case hasAt(head, 0, "Creative Voice File"):
		return 26
	}
	return 0
}

// pieceSize returns the size of the piece that begins with b, of a file that begins with head; 0 if none does, and
// less if it goes on to the end of the file.
//
// Source: ISO/IEC 14496-12, 4.2, and Apple, QuickTime; the headers of the others as ffmpeg@n5.1 libavformat has them.
func pieceSize(head, b []byte) int64 {
	be, le := binary.BigEndian, binary.LittleEndian
	riff := func(size uint32) int64 {
		if size == 0 || size >= unknownRIFF {
			return -1
		}
		return 8 + int64(size)
	}
	switch {
	case hasAt(head, 0, "RIFF") && hasAt(b, 0, "RIFF"):
		return riff(le.Uint32(b[4:]))
	case (hasAt(head, 0, "FORM") || hasAt(head, 0, "MMMD")) && hasAt(b, 0, string(head[:4])):
		return riff(be.Uint32(b[4:]))
	case hasAt(head, 0, wave64Magic) && hasAt(b, 0, "riff"):
		return cmp.Or(int64(le.Uint64(b[16:])), -1)
	case hasAt(head, 128, "HCOM") && hasAt(b, 0, string(head[:sniffLen])): // in MacBinary
		return 128 + int64(be.Uint32(head[83:]))
	case hasAt(head, 0, "caff") && isText(b[:4]) && b[0] != 0:
		return 12 + max(-13, int64(be.Uint64(b[4:])))
	case hasAt(head, 0, "FLV") && (b[0] == 8 || b[0] == 9 || b[0] == 18):
		return 15 + int64(be.Uint32(b)&0xffffff)
	case hasAt(head, 0, "Creative Voice File") && b[0] > 0 && b[0] < 10:
		return 4 + int64(le.Uint32(b)>>8)
	case hasAt(head, 0, ".RMF") && hasAt(b, 0, "DATA"): // of which ffmpeg counts ten bytes too many
		return max(0, int64(be.Uint32(b[4:]))-10)
	case hasAt(head, 0, ".RMF") && isText(b[:4]) && b[0] != 0:
		return int64(be.Uint32(b[4:]))
	case isMP4(head) && isText(b[4:8]) && b[4] != 0:
		switch size := int64(be.Uint32(b)); size {
		case 0:
			return -1
		case 1:
			return max(0, int64(be.Uint64(b[8:])))
		default:
			return max(size, 0)
		}
	}
	return 0
}

// besidesMdat finds the boxes of MP4 that hold no sound, but perhaps a picture that begins as other MP4 does.
func besidesMdat(f *file) (list []stretch) {
	for s, b := range boxes(f) {
		if !hasAt(b, 4, "mdat") {
			list = append(list, s)
		}
	}
	return list
}

// asfHeader, wavPackHeader and apeHeader find where pictures and the header of the WAV file lie that was packed.
//
// Source: Microsoft, Advanced Systems Format, 3.1; WavPack 5, wavpack.h; Monkey's Audio 3.98, MACLib.h.
func asfHeader(f *file) []stretch {
	return headerOf(f, 24, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b[16:])) })
}

func wavPackHeader(f *file) []stretch {
	return headerOf(f, 8, func(b []byte) int64 { return 8 + int64(binary.LittleEndian.Uint32(b[4:])) })
}

func apeHeader(f *file) []stretch {
	return headerOf(f, 24, func(b []byte) (n int64) {
		for at := 8; at < 24; at += 4 {
			n += int64(binary.LittleEndian.Uint32(b[at:]))
		}
		return n
	})
}

func headerOf(f *file, least int, size func([]byte) int64) []stretch {
	b := f.head(0)
	if len(b) < least {
		return nil
	}
	return []stretch{{0, size(b)}}
}

// isMP4 reports whether a file begins like one of MP4 or QuickTime.
func isMP4(head []byte) bool {
	return len(head) >= 8 && slices.Contains([]string{"ftyp", "styp", "moov", "mdat", "wide", "free", "skip", "pnot"}, string(head[4:8]))
}

// framesEnd returns where the pieces of a file end.
func framesEnd(f *file) (end int64) {
	for s := range boxes(f) {
		end = s.to
	}
	return min(end, f.size)
}

// asfEnd returns where the sound of a Windows Media file ends: the second of its objects, behind the header.
func asfEnd(f *file) (at int64) {
	for range 2 {
		b := f.head(at)
		if len(b) < 24 || binary.LittleEndian.Uint64(b[16:]) > uint64(f.size-at) {
			return f.size
		}
		at += int64(binary.LittleEndian.Uint64(b[16:]))
	}
	return at
}

// wait waits for the end of the run and says why it failed, if it did: with the program's
// message, which could change until then, or the cause that ended the context.
func (f *ffmpeg) wait() error {
	if f.cmd == nil {
		return nil
	}
	err := f.cmd.Wait()
	f.cmd = nil
	f.stop()
	switch {
	case err == nil:
		return nil
	case f.ctx.Err() != nil:
		return f.ctx.Err()
	}
	return unsupported("ffmpeg", "sound", "%s", cmp.Or(f.said.String(), err.Error()))
}

// close ends the run, if there is one.
func (f *ffmpeg) close() {
	if f.stop != nil {
		f.stop()
		_ = f.wait()
	}
}

// A tail keeps what a program tells: the first of its messages, and how far it has come.
type tail struct {
	line        []byte // that is not yet whole
	said        []byte
	stated      float64 // seconds, by the header; 0 if it does not say
	reached     float64 // seconds
	size        float64
	first, last struct{ time, size float64 } // seconds and bytes of what it wrote, by its reports
}

// maxSaid is the most bytes that a tail keeps of a line, and of all messages.
const maxSaid = 400

func (t *tail) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		t.line = append(t.line, line[:min(len(line), maxSaid-min(len(t.line), maxSaid))]...)
		if bytes.HasSuffix(line, []byte("\n")) {
			t.take(string(t.line))
			t.line = nil
		}
	}
	return len(p), nil
}

// take takes in a line: a key and a value of a report, or a message with its level.
func (t *tail) take(line string) {
	if key, value, ok := strings.Cut(line, "="); ok && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch {
		case err != nil:
		case key == "total_size":
			t.size = v
		case key == "out_time_us":
			if t.reached = v / 1e6; t.size > 2*auHeader {
				t.last.time, t.last.size = t.reached, t.size
				t.first = cmp.Or(t.first, t.last)
			}
		}
		return
	}
	if rest, ok := strings.CutPrefix(line, "[info]   Duration: "); ok && t.stated == 0 {
		var h, m, s, start float64
		_, _ = fmt.Sscanf(rest, "%f:%f:%f, start: %f", &h, &m, &s, &start)
		if t.stated = h*3600 + m*60 + s; start > 0 && start < t.stated { // before it is nothing, or what encoders put there
			t.stated -= start
		}
	}
	if strings.Contains(line, "Estimating duration") {
		t.stated = -1 // by the size
	}
	if strings.Contains(line, "[warning]") && !strings.Contains(line, "corrupt") && !strings.Contains(line, "check failed") ||
		strings.Contains(line, "[info]") && !strings.Contains(line, "overread") && !strings.Contains(line, "bytes of junk") {
		return
	}
	line = address.ReplaceAllString(line, "")
	line = strings.NewReplacer("file:/dev/fd/3: ", "", "[error] ", "", "[fatal] ", "", "[warning] ", "").Replace(line)
	t.said = append(t.said, line[:min(len(line), maxSaid-len(t.said))]...)
}

// address is that of a part of the program, in its messages.
var address = regexp.MustCompile(` @ 0x[0-9a-f]+`)

// missing returns the seconds by which the times of what was written went on beyond it.
func (t *tail) missing(l pcmLayout) float64 {
	return t.last.time - t.first.time - (t.last.size-t.first.size)/float64(l.rate*l.blockAlign())
}

// String returns the messages as one line without control characters.
func (t *tail) String() string {
	t.take(string(t.line))
	t.line = nil
	words := strings.FieldsFunc(strings.ToValidUTF8(string(t.said), "?"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	})
	return strings.Join(words, " ")
}

// convert opens a file with ffmpeg that this package cannot read. refused is the error without
// it.
func (in Input) convert(ctx context.Context, name string, f *os.File, size int64, refused error) (*Clip, error) {
	var why *FormatError
	if !errors.As(refused, &why) || why.Err != ErrUnsupported {
		return nil, refused
	}
	program, err := in.program()
	if err != nil {
		return nil, err
	}
	if program == "" {
		return nil, refused
	}
	formats := ffmpegFormats
	if in.Telephones {
		formats = telephoneFormats
	}
	run := &ffmpeg{ctx: ctx, program: program, formats: formats, sound: f}
	src, err := newSource(func() (packets, codec, error) { return run, run, run.start() })
	if failed := new(FormatError); errors.As(err, &failed) {
		why.ffmpeg, err = failed.Got, refused
	}
	var c *Clip
	if err == nil {
		c, err = in.clip(name, src, newFile(f, 0, size))
	}
	if err != nil {
		run.close()
		return nil, err
	}
	c.closers = append(c.closers, func() error { run.close(); return nil })
	return c, nil
}

// maxUnknown is how many bytes of no known format are kept before ffmpeg must find sound in them: more than it
// looks at itself to find out what they are.
const maxUnknown = 16 << 20

// unheard returns why ffmpeg finds no sound in the first bytes of a stream, unless it knows what they are: then what
// it misses may come at the end, as in QuickTime.
func (in Input) unheard(ctx context.Context, name string, f *os.File, size int64, refused error) error {
	c, err := in.convert(ctx, name, f, size, refused)
	if err == nil {
		return c.Close()
	}
	if why := new(FormatError); errors.As(err, &why) && strings.HasPrefix(why.ffmpeg, "[") && !strings.Contains(why.ffmpeg, "not on whitelist") {
		return nil
	}
	return err
}
