package audio

import (
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

// commonFormats are the demuxers for Input.CommonFormatsOnly.
const commonFormats = "mov,mp4,m4a,3gp,aac,amr,amrnb,amrwb,aiff,au,caf,ogg,matroska,webm"

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

// An ffmpeg is a run of the program, which decodes one track of a file to WAV with 32-bit floats: all channels,
// at the file's own rate. A filter puts sound where the clock of its container does, with silence before a late
// start and in gaps.
type ffmpeg struct {
	*pcmReader // of what the program writes
	ctx        context.Context
	program    string
	formats    string // that it may read
	sound      *os.File
	media      media
	chosen     int                // index of the track
	stop       context.CancelFunc // of the run
	cmd        *exec.Cmd
	log        ffmpegLog
	zeros      zeroRuns
}

// start starts the program, or restarts it, and reads the header.
func (f *ffmpeg) start() error {
	out, err := f.startProgram()
	if err != nil {
		return err
	}
	file := newFile(&pipe{r: out}, 0, unknownSize)
	if head := file.head(0); len(head) == 0 { // it has ended
		return cmp.Or(f.wait(), unsupported("what ffmpeg wrote", "sound", "none"))
	} else if formatOf(head) != formatOf([]byte("RIFF....WAVE")) {
		return malformed("what ffmpeg wrote", "WAV", "% x", head)
	}
	l, err := wavLayout(file)
	f.pcmReader, f.zeros = newPCM(file, l), zeroRuns{least: int64(l.rate) / clockTolerance}
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

// startProgram starts the program and returns its output.
func (f *ffmpeg) startProgram() (io.Reader, error) {
	f.close()
	ctx, stop := context.WithCancel(f.ctx)
	f.stop, f.log = stop, ffmpegLog{}
	cmd, err := f.command(ctx, "level+verbose", "-map", fmt.Sprintf("0:a:%d", f.chosen), "-vn", "-sn", "-dn",
		"-af", f.media.clockFilter(), "-c:a", "pcm_f32le", "-map_metadata", "-1",
		"-f", "wav", "-protocol_whitelist", "pipe", "pipe:1")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &lineWriter{add: f.log.add}
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

// clockFilter returns the filter that applies the container's clock. Times count from the beginning of the file.
// Where a clock goes back, or jumps by more than maxSilence, the sound continues without a gap. aresample ignores
// differences below 0.1 s.
func (m media) clockFilter() string {
	return fmt.Sprintf("asetpts='st(0,PTS-%.6f/TB);st(1,if(isnan(PREV_OUTPTS),0,PREV_OUTPTS+NB_SAMPLES/SR/TB));"+
		"if(between(ld(0),ld(1),ld(1)+%d/TB),ld(0),ld(1))',aresample=async=1:first_pts=0", m.begin(), maxSilence)
}

func (f *ffmpeg) next() (packet, error) {
	p, err := f.pcmReader.next()
	if err == nil || f.cmd == nil {
		return p, err
	}
	broken := f.file.pipe.err != io.EOF
	if broken {
		f.stop() // or wait could last
	}
	failed := f.wait()
	if failed != nil && (broken || f.pos == 0 || f.ctx.Err() != nil) {
		return p, failed
	}
	p = newPacket(nil)
	p.lossCause = f.complaint(failed)
	return p, nil
}

func (f *ffmpeg) decode(p packet) ([]float64, error) {
	pcm, err := f.pcmReader.decode(p)
	f.zeros.add(pcm, f.layout.channels)
	return pcm, err
}

// maxShort is by how many seconds sound may be shorter than its file states. Encoders add some.
const maxShort = 0.5

// countedFormats are the demuxers whose length comes from the header, and is that of the sound. Other formats state
// when the last of several parts ends, or ffmpeg guesses.
var countedFormats = []string{"aiff", "flv", "mxf", "rm"}

// ending compares the length with what the file states, which ffmpeg does not do, and returns where ffmpeg put
// silence.
func (f *ffmpeg) ending() ending {
	m := f.media
	counted := slices.Contains(countedFormats, m.format) && !m.more && len(m.tracks) == 1
	e := ending{cut: counted && m.start+f.shape().seconds(f.pos) < m.length-maxShort}
	e.leadingSilence, e.filled = f.zeros.silence(f.log.silence)
	return e
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
	return malformed("ffmpeg", "the whole sound", "damaged data (%s)", text)
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

// An ffmpegLog holds what the program reports.
type ffmpegLog struct {
	errors  []string
	silence int64 // samples of each channel that its filter has added
}

// maxErrors is the most messages that are kept.
const maxErrors = 5

var (
	logSilence = regexp.MustCompile(`\[verbose\] adding (\d+) audio samples of silence`)
	logError   = regexp.MustCompile(`\[(?:error|fatal|panic)\] (.*)`)
)

// add reads a line.
func (l *ffmpegLog) add(line string) {
	if s := logSilence.FindStringSubmatch(line); s != nil {
		n, _ := strconv.ParseInt(s[1], 10, 64)
		l.silence += n
	} else if s := logError.FindStringSubmatch(line); s != nil && len(l.errors) < maxErrors {
		if text := strings.TrimRight(strings.ReplaceAll(s[1], "file:/dev/fd/3: ", ""), "!. "); !slices.Contains(l.errors, text) {
			l.errors = append(l.errors, text)
		}
	}
}

// String returns the errors as one line without control characters.
func (l *ffmpegLog) String() string {
	text := strings.ToValidUTF8(strings.Join(l.errors, "; "), "?")
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	return strings.Join(words, " ")
}

// zeroRuns are the stretches of samples that are exactly 0 in all channels, as silence of ffmpeg is: the one at
// the beginning, and those that are at least as long as the filter adds.
type zeroRuns struct {
	least int64 // frames
	runs  []gap // at most maxGaps
	at    int64 // the next frame
	now   int64 // frames of the run that ends there
}

// add reads interleaved samples.
func (z *zeroRuns) add(pcm []float64, channels int) {
	for ; len(pcm) > 0; pcm = pcm[channels:] {
		if slices.ContainsFunc(pcm[:channels], func(v float64) bool { return v != 0 }) {
			z.end()
		} else {
			z.now++
		}
		z.at++
	}
}

func (z *zeroRuns) end() {
	if begin := z.at - z.now; z.now >= z.least || z.now > 0 && begin == 0 {
		if why := malformed("the container's clock", "sound", "none"); len(z.runs) < maxGaps {
			z.runs = append(z.runs, gap{begin, z.at, why})
		}
	}
	z.now = 0
}

// silence returns the length of the silence before the sound, and the later gaps, in sound to which silence of
// some length was added. A quiet file may have other runs of zeros.
func (z *zeroRuns) silence(added int64) (leading int64, gaps []gap) {
	z.end()
	for _, r := range z.runs {
		if added <= 0 {
			break
		}
		if added -= r.to - r.from; r.from == 0 {
			leading = r.to
		} else {
			gaps = append(gaps, r)
		}
	}
	return leading, gaps
}

// convert opens a file with ffmpeg that this package cannot read. refused is the error without it.
func (in Input) convert(ctx context.Context, name string, f *os.File, size int64, refused error) (*Clip, error) {
	var why *FormatError
	if !errors.As(refused, &why) || why.Err != ErrUnsupported || why.final {
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
	if in.CommonFormatsOnly {
		formats = commonFormats
	}
	run := &ffmpeg{ctx: ctx, program: program, formats: formats, sound: f}
	if err := run.inspect(); err != nil {
		return nil, err
	}
	if run.chosen, err = chooseTrack(run.media.tracks, in.Track); err != nil {
		return nil, err
	}
	src, err := newSource(func() (container, codec, error) { return run, run, run.start() })
	if failed := new(FormatError); errors.As(err, &failed) {
		if why.ffmpeg, err = failed.Got, refused; failed.Thing != "ffmpeg" {
			why.ffmpeg = "it writes no sound"
		}
		if strings.Contains(why.ffmpeg, "whitelist") { // ffmpeg's words for formats other than ours
			why.ffmpeg = ""
		}
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
