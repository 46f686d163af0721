package audio

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

// ffmpegFormats are the demuxers that ffmpeg may use: containers of sound. Others could open further files
// (playlists, lists of segments) or hold no sound (pictures, text).
const ffmpegFormats = "" +
	"aa,aac,aax,ac3,ac4,act,adp,adx,aea,aiff,alp,amr,amrnb,amrwb,apc,ape,apm,argo_asf,asf,ast,au,avi,avr," +
	"bfstm,binka,bit,boa,brstm,caf,codec2,daud,dhav,dsf,dss,dts,dtshd,dv,ea,eac3,epaf,flac,flv," +
	"fsb,fwse,g722,g723_1,g726,g729,gsm,gxf,hca,hcom,iff,ilbc,ircam,iss,iv8,ivr,kux,kvag,libgme," +
	"libopenmpt,live_flv,loas,matroska,webm,mlp,mmf,mov,mp4,m4a,3gp,mp3,mpc,mpc8,mpeg,mpegts,msf," +
	"mtaf,mtv,musx,mxf,nistsphere,nsp,nsv,nut,ogg,oma,paf,pp_bnk,pva,pvf,qcp,qoa,r3d,redspark,rm,rsd,rso,sds,sdx," +
	"shn,sln,smjpeg,sox,spdif,svag,swf,tak,truehd,tta,ty,vag,vivo,voc,vpk,vqf,w64,wav,wsaud,wsd," +
	"wsvqa,wtv,wv,wve,xa,xmv,xvag,xwma"

// phoneFormats are the demuxers for Input.PhoneFormatsOnly.
const phoneFormats = "mov,mp4,m4a,3gp,aac,amr,amrnb,amrwb"

// program returns the path of ffmpeg, or an empty one if it must not be used or is not installed.
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

// An ffmpeg is a run of the program, which decodes one track of a file to Matroska with 32-bit floats. Matroska
// has the times of the packets, and so shows a late start and holes.
type ffmpeg struct {
	*mkvReader // of what the program writes
	codec
	ctx     context.Context
	program string
	formats string // that it may read
	sound   *os.File
	media   media
	chosen  int                // index of the track
	samples int64              // read so far, of each channel
	until   int64              // where the last of them ends
	stop    context.CancelFunc // of the run
	cmd     *exec.Cmd
	log     ffmpegLog
}

// maxFFmpegPacket bounds a packet of ffmpeg, in bytes: a second of 64 channels at 192 kHz.
const maxFFmpegPacket = 64 * 192000 * 4

// start starts the program, or restarts it, and reads the header.
func (f *ffmpeg) start() error {
	out, err := f.run()
	if err != nil {
		return err
	}
	file := newFile(&stream{r: out}, 0, unknownSize)
	head := file.head(0)
	if len(head) > 0 && formatOf(head) != formatOf([]byte(ebmlMagic)) {
		return malformed("what ffmpeg wrote", "Matroska", "% x", head)
	}
	m, err := newMKV(file)
	if err != nil {
		return err
	}
	if !m.inCluster { // it has ended
		return cmp.Or(f.wait(), unsupported("what ffmpeg wrote", "sound", "none"))
	}
	m.largest, m.started = maxFFmpegPacket, true
	f.mkvReader, f.samples, f.until = m, 0, 0
	f.codec, err = m.choose()
	return err
}

// command returns a run of the program on the file, which logs from a level on.
func (f *ffmpeg) command(ctx context.Context, level string, args ...string) (*exec.Cmd, error) {
	name := "file:" + f.sound.Name()
	var inherited []*os.File
	if runtime.GOOS != "windows" {
		// The program inherits the open file, since the name may point elsewhere by now and a temporary file
		// has none. On some systems both share one offset, so it is set back to the start.
		if _, err := f.sound.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		name, inherited = "file:/dev/fd/3", []*os.File{f.sound}
	}
	cmd := exec.CommandContext(ctx, f.program, append([]string{"-nostdin", "-hide_banner", "-v", level,
		"-err_detect", "crccheck", "-protocol_whitelist", "file", "-format_whitelist", f.formats, "-copyts",
		"-i", name}, args...)...)
	cmd.ExtraFiles = inherited
	return cmd, nil
}

// run starts the program and returns its output.
func (f *ffmpeg) run() (io.Reader, error) {
	f.close()
	ctx, stop := context.WithCancel(f.ctx)
	f.stop, f.log = stop, ffmpegLog{}
	cmd, err := f.command(ctx, "error", "-map", f.media.stream(f.chosen), "-vn", "-sn", "-dn",
		"-c:a", "pcm_f32le", "-output_ts_offset", strconv.FormatFloat(-f.media.begin(), 'f', 6, 64),
		"-f", "matroska", "-protocol_whitelist", "pipe", "pipe:1")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &f.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("ffmpeg: %w", err)
	}
	f.cmd = cmd
	return out, nil
}

// maxFFmpeg is the most samples of each channel that are read of one stream: two days at 192 kHz.
const maxFFmpeg = 48 * 3600 * 192000

func (f *ffmpeg) next() (packet, error) {
	if f.samples > maxFFmpeg {
		return packet{}, malformed("what ffmpeg writes", fmt.Sprintf("at most %d samples", int64(maxFFmpeg)), "more")
	}
	p, err := f.mkvReader.next()
	n := int64(len(p.data) / 4 / f.shape().channels)
	f.samples, f.until = f.samples+n, max(f.until, p.start)+n
	if err == nil || f.cmd == nil {
		return p, err
	}
	broken := f.file.stream.err != io.EOF
	if broken {
		f.stop() // or wait could last
	}
	failed := f.wait()
	if failed != nil && (broken || f.samples == 0 || f.ctx.Err() != nil) {
		return p, failed
	}
	p = newPacket(nil)
	p.lost.why = f.complaint(failed)
	return p, nil
}

// maxShort is by how many seconds sound may be shorter than its file states. Encoders add some.
const maxShort = 0.5

// countedFormats are the demuxers whose length comes from the header, and is that of the sound. Other formats state
// when the last of several parts ends, or ffmpeg guesses.
var countedFormats = []string{"aiff", "flv", "mxf", "rm"}

// ending compares the length with what the file states, which ffmpeg does not do.
func (f *ffmpeg) ending() ending {
	m := f.media
	counted := slices.Contains(countedFormats, m.format) && !m.more && len(m.tracks) == 1
	return ending{cut: counted && m.start+f.shape().seconds(f.until) < m.length-maxShort}
}

// tracks returns the audio tracks of the file, and the index of the one that is decoded.
func (f *ffmpeg) tracks() ([]Track, int) { return f.media.tracks, f.chosen }

// complaint returns an error if ffmpeg reported that it did not read the whole file: by its exit status, or by
// a message such as "File ended prematurely".
func (f *ffmpeg) complaint(failed error) error {
	text := f.log.String()
	if failed != nil {
		text = cause(failed)
	}
	if text == "" {
		return nil
	}
	why := malformed("what ffmpeg read", "the whole sound", "%s", text).(*FormatError)
	why.never = true // the advice would be to use ffmpeg
	return why
}

// wait waits for the end of the run. It returns why the run failed: the program's message, which may change
// until then, or the cause that ended the context.
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
	return unsupported("ffmpeg", "sound", "%s", cmp.Or(f.log.String(), err.Error()))
}

// close ends the run, if there is one.
func (f *ffmpeg) close() {
	if f.stop != nil {
		f.stop()
		_ = f.wait()
	}
}

// An ffmpegLog holds the first messages of the program.
type ffmpegLog struct{ text []byte }

// maxLog is the most bytes of messages that are kept.
const maxLog = 400

func (l *ffmpegLog) Write(p []byte) (int, error) {
	l.text = append(l.text, p[:min(len(p), maxLog-len(l.text))]...)
	return len(p), nil
}

// logNoise is what messages hold besides words: addresses inside the program, and our name for the file.
var logNoise = regexp.MustCompile(`\[[^\[\]]* @ 0x[0-9a-f]+\] |file:/dev/fd/3: `)

// String returns the messages as one line without control characters.
func (l *ffmpegLog) String() string {
	text := logNoise.ReplaceAll(bytes.ToValidUTF8(l.text, []byte("?")), nil)
	words := strings.FieldsFunc(string(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	return strings.Join(words, " ")
}

// convert opens a file with ffmpeg that this package cannot read. refused is the error without it.
func (in Input) convert(ctx context.Context, name string, f *os.File, size int64, refused error) (*Clip, error) {
	var why *FormatError
	if !errors.As(refused, &why) || why.never || why.Got == emptyFile || why.Err != ErrUnsupported && in.PhoneFormatsOnly {
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
	if in.PhoneFormatsOnly {
		formats = phoneFormats
	}
	run := &ffmpeg{ctx: ctx, program: program, formats: formats, sound: f}
	if why.Err == ErrMalformed { // try the advice before it is given
		if failed := new(FormatError); errors.As(run.start(), &failed) {
			why.ffmpeg = failed.words()
		}
		run.close()
		return nil, refused
	}
	if err := run.inspect(); err != nil {
		return nil, err
	}
	if run.chosen, err = chooseTrack(run.media.tracks, in.Track); err != nil {
		return nil, err
	}
	src, err := newSource(func() (container, codec, error) { return run, run, run.start() })
	if failed := new(FormatError); errors.As(err, &failed) {
		why.ffmpeg, err = failed.words(), refused
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
