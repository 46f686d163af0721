package audio

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
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
}

// start runs the program, anew after the first time, and reads the header.
func (f *ffmpeg) start() error {
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
			return err
		}
		name, inherited = "file:/dev/fd/3", []*os.File{f.sound}
	}
	f.cmd = exec.CommandContext(ctx, f.program, "-nostdin", "-v", "level+warning", "-nostats", "-progress", "pipe:2", "-err_detect", "crccheck",
		"-protocol_whitelist", "file", "-format_whitelist", f.formats, "-i", name,
		"-map", "0:a:0", "-vn", "-sn", "-dn", "-c:a", "pcm_f32be", "-f", "au", "-protocol_whitelist", "pipe", "pipe:1")
	f.cmd.Stderr, f.cmd.ExtraFiles = &f.said, inherited
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		f.cmd = nil
		return fmt.Errorf("ffmpeg: %w", err)
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

// statedSamples returns how many samples a header states that ffmpeg does not look at; 0 of other files. That of
// Sega's ADX counts less a block, since some count the one that ends the file: ffmpeg calls it a corrupt packet.
func statedSamples(file *os.File) (n int64) {
	b := make([]byte, 1024)
	got, _ := file.ReadAt(b, 0)
	if b = b[:got]; hasAt(b, 0, "\x80\x00") && hasAt(b, 4, "\x03\x12\x04") && got >= 16 {
		return max(0, int64(binary.BigEndian.Uint32(b[12:]))-32)
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
	p.lost.why = f.complaint(failed)
	return p, nil
}

func (f *ffmpeg) ended() (whole bool, end int64) { return !endsAmid(f.sound), 0 }

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
// of an MPEG transport stream, before the last page of Ogg, or before the size that RIFF or Windows Media state.
//
// Source: ISO/IEC 13818-1, 2.4.3.2; of cameras, with four bytes of time before each packet. RFC 3533.
// Microsoft, Advanced Systems Format, 3.2.
func endsAmid(file *os.File) bool {
	st, err := file.Stat()
	if err != nil {
		return false
	}
	b := make([]byte, 1<<13)
	n, _ := file.ReadAt(b, 0)
	b = b[:n]
	const properties = "\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\x00\xc0\x0c\x20\x53\x65"
	if at := bytes.Index(b, []byte(properties)); at >= 0 && hasAt(b, 0, asfMagic) && at+48 <= n {
		return binary.LittleEndian.Uint64(b[at+40:]) > uint64(st.Size())
	}
	if hasAt(b, 0, "RIFF") && n > 8 {
		size := 8 + int64(binary.LittleEndian.Uint32(b[4:]))
		return size < unknownRIFF && size > st.Size()
	}
	if hasAt(b, 0, "OggS") {
		end := make([]byte, min(2*maxOggPage, st.Size()))
		_, _ = file.ReadAt(end, st.Size()-int64(len(end)))
		last := end[max(0, bytes.LastIndex(end, []byte("OggS"))):]
		return len(last) < 27 || last[5]&oggLast == 0 || len(last) < oggSize(last)
	}
	for _, k := range [][2]int{{188, 0}, {192, 4}} {
		size, sync := k[0], k[1]
		for sync < n && b[sync] == 0x47 {
			sync += size
		}
		if sync > 8*size {
			return st.Size()%int64(size) != 0
		}
	}
	return false
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

// mp4End returns where the boxes of an MP4 file end.
func mp4End(f *file) (at int64) {
	for b := f.head(0); len(b) >= 16 && isText(b[4:8]) && (at == 0 || !hasAt(b, 4, "ftyp")); b = f.head(at) {
		size := int64(binary.BigEndian.Uint32(b))
		if size == 1 {
			size = int64(binary.BigEndian.Uint64(b[8:]) & math.MaxInt64)
		}
		if size < 8 || size > f.size-at {
			return f.size
		}
		at += size
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
		case key == "out_time_us" && t.size > 2*auHeader:
			t.last.time, t.last.size = v/1e6, t.size
			if t.first.size == 0 {
				t.first = t.last
			}
		}
		return
	}
	if strings.Contains(line, "[warning]") && !strings.Contains(line, "corrupt") {
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
