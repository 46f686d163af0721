package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
	"verity/internal/input"
	"verity/internal/show"
	"verity/model/hub"
	"verity/transcribe"
	"verity/transcript"
	"verity/wer"
)

// The options under the heading Input.
var inputRows = []*Option{
	{Name: "channel", Kind: Whole, Max: 65535, Scope: Configurable,
		Hint: "1 is the left channel, 2 the right",
		Help: "transcribe only channel NUMBER, counting from 1; 0 means the average of all channels"},
	{Name: "audio-track", Kind: Whole, Max: audio.MaxTracks, Scope: Configurable,
		Help: "transcribe only audio track NUMBER, counting from 1; 0 means the one that the file marks as default, or else the first"},
	speakersRow, speakerNamesRow,
	{Name: "ffmpeg", Kind: Text, Arg: "program", Default: "auto", Max: maxPath, Scope: Configurable | Server,
		Help: "program for formats that Verity does not read itself: auto (the installed ffmpeg), never, or a path"},
	{Name: "strict", Scope: Configurable,
		Help: "treat damaged or missing audio as an error; by default it becomes silence, and a warning says where"},
	{Name: "recursive", Common: true, Help: "also process audio files in subdirectories"},
	{Name: "files-from", Kind: Text, Arg: "list", Max: maxPath,
		Help: "also process the files that this file names, one per line or as find -print0 writes them, or - for " +
			"standard input; the names are relative to the current directory and are not patterns"},
	spansRow,
}

// SoundFlags say how sound files are opened.
type SoundFlags struct {
	audio.Input
	Live bool // standard input, unless it is a file, is transcribed as it arrives
}

func (s *SoundFlags) Register(f *pflag.FlagSet) {
	Bind(f, "channel", &s.Channel)
	Bind(f, "audio-track", &s.Track)
	Bind(f, "ffmpeg", &s.FFmpeg)
	Bind(f, "strict", &s.Strict)
}

// Check reports a program for --ffmpeg that does not exist.
func (s *SoundFlags) Check() error {
	if slices.Contains([]string{audio.FFmpegAuto, audio.FFmpegNever, ""}, s.FFmpeg) {
		return nil
	}
	if _, err := exec.LookPath(s.FFmpeg); err != nil {
		return Usagef("--ffmpeg %s: there is no such program; want auto, never or the path of one", s.FFmpeg)
	}
	return nil
}

// Stdin reports whether the name of a sound file stands for standard input: "-", or "raw:RATE"
// for samples without a header, at RATE Hz. An impossible rate is -1.
func Stdin(name string) (raw int, ok bool) {
	if name == "-" {
		return 0, true
	}
	rate, ok := strings.CutPrefix(name, "raw:")
	if _, err := os.Stat(name); !ok || err == nil {
		return 0, false
	}
	raw, err := strconv.Atoi(rate)
	if err == nil {
		_, err = audio.NewFeed(raw)
	}
	if err != nil {
		raw = -1
	}
	return raw, true
}

// BadRate is the error of a name with an impossible rate.
func BadRate(name string) error {
	return Usagef("%s: want a rate from 1000 to 1000000 Hz, as raw:16000: samples of 16 bits, little-endian, "+
		"one channel, on standard input", show.Name(name))
}

// Clip opens a sound file; "-" and "raw:RATE" are standard input, and an address is downloaded. A
// pipe may never send anything, so Clip abandons the goroutine that reads it when ctx ends.
func (s *SoundFlags) Clip(ctx context.Context, e Env, name string) (*audio.Clip, error) {
	var clip *audio.Clip
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, piped := Stdin(name)
		in := s.Input
		in.Raw = raw
		switch {
		case raw < 0:
			err = BadRate(name)
		case piped && s.Live && isPipe(e.In):
			clip, err = in.OpenStream(ctx, "standard input", e.In)
		case piped:
			clip, err = in.OpenReader(ctx, "standard input", e.In)
		case IsAddress(name):
			clip, err = s.download(ctx, name)
		default:
			clip, err = s.Open(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				hint, ending := DidYouMean(soundsLike(name)), strings.TrimPrefix(filepath.Ext(name), ".")
				if _, is := hub.Repo(name); is && !strings.ContainsAny(name, `./`) {
					hint = "; a model is named with --model " + name
				} else if slices.Contains(transcript.Formats(), transcript.Format(ending)) {
					hint = "; to write one, use -o DIRECTORY -f " + ending
				} else if strings.HasPrefix(name, "~/") {
					hint = "; leave out the quotes: the shell replaces ~ only without them"
				}
				if _, dangling := os.Readlink(name); dangling != nil {
					err = fmt.Errorf("%w%s", err, cmp.Or(hint, "; check the name and the directory"))
				}
			}
		}
		if format, ok := errors.AsType[*audio.FormatError](err); ok && strings.HasPrefix(format.Got, "a file of no known format") {
			err = fmt.Errorf("%w; samples without a header are read with verity raw:RATE < FILE", err)
		} else if ok && s.FFmpeg == audio.FFmpegNever && strings.HasSuffix(err.Error(), "WAV or FLAC first") {
			err = fmt.Errorf("%w, or leave out --ffmpeg never", err)
		}
	}()
	select {
	case <-done:
		return clip, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// soundsLike returns the sound files whose names are like that of a file that does not exist.
func soundsLike(name string) []string {
	dir, base := filepath.Split(name)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil
	}
	stem := func(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
	base = strings.ToLower(base)
	var names, lower, same []string
	for _, e := range entries[:min(len(entries), 1000)] {
		if low := strings.ToLower(e.Name()); audio.HasEnding(low) {
			names, lower = append(names, e.Name()), append(lower, low)
			if stem(low) == stem(base) { // its ending may be any
				same = append(same, low)
			}
		}
	}
	near := wer.Nearest(base, lower)
	for _, low := range same {
		if !slices.Contains(near, low) {
			near = append(near, low)
		}
	}
	for i, low := range near {
		near[i] = names[slices.Index(lower, low)]
	}
	return near[:min(len(near), 3)]
}

// isPipe reports whether r is neither a file nor a directory.
func isPipe(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

const (
	largestDownload = 4 << 30          // bytes of a sound file from the network
	downloadStall   = 30 * time.Second // without a byte until a download is given up
)

// IsAddress reports whether the name of a sound file is an address, of which only those on the web can be read.
func IsAddress(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && scheme != "" && !strings.ContainsAny(scheme, `./\`)
}

// download reads the sound file at an address into a temporary file.
func (s *SoundFlags) download(ctx context.Context, address string) (*audio.Clip, error) {
	loading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(downloadStall, func() { cancel(fmt.Errorf("no byte came in %v", downloadStall)) })
	defer stall.Stop()
	request, err := http.NewRequestWithContext(loading, http.MethodGet, address, nil)
	if path, ok := strings.CutPrefix(address, "file://"); ok {
		return nil, Usagef("%s: leave out file://, want the path %s", show.Name(address), show.Name(path))
	}
	if err != nil || !slices.Contains([]string{"http", "https"}, request.URL.Scheme) || request.URL.Host == "" {
		return nil, Usagef("%s: want the path of a file, or an address that begins with http:// or https:// and a host", show.Name(address))
	}
	name := request.URL.Redacted()
	failed := func(err error) error {
		return fmt.Errorf("%s: %w", show.Name(name), input.NetworkCause(cmp.Or(context.Cause(loading), err)))
	}
	// Package net/http follows ten redirects, and only to http and https.
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; check the address and the network", failed(errors.Unwrap(err))) // *url.Error repeats the address
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		hint := map[bool]string{true: "check the address", false: "try again later"}[answer.StatusCode < 500]
		return nil, failed(fmt.Errorf("the server answers %s; %s", show.Text(answer.Status), hint))
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind == "text/html" {
		return nil, failed(errors.New("is a web page, want the address of the sound file itself"))
	}
	clip, err := s.OpenReader(ctx, name, &download{answer.Body, largestDownload, stall})
	if err != nil && context.Cause(loading) != nil {
		err = failed(err)
	}
	return clip, err
}

// A download is a body of bounded size. Every read restarts its timer.
type download struct {
	body  io.Reader
	left  int64 // bytes that may still come
	stall *time.Timer
}

func (d *download) Read(b []byte) (int, error) {
	n, err := d.body.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w; try again", input.NetworkCause(err))
	}
	d.stall.Reset(downloadStall)
	if d.left -= int64(n); d.left < 0 {
		return 0, fmt.Errorf("more than %d GiB: download it with another program, and name the file", largestDownload>>30)
	}
	return n, err
}

// Spans reads start,end,start,end,… in seconds; the last end may be missing.
func Spans(text string) (list []transcribe.Span, err error) {
	if text == "" || text == "0" {
		return nil, nil
	}
	var times []float64
	for field := range strings.SplitSeq(text, ",") {
		v, err := clock(strings.TrimSpace(field))
		if err != nil || !(v >= 0 && v <= maxSeconds) {
			return nil, fmt.Errorf("want start,end,… as seconds, 1:30 or 1:02:30%s", gotPart(field, text))
		}
		times = append(times, v)
	}
	if len(times)%2 == 1 {
		times = append(times, math.Inf(1))
	}
	for i := 0; i < len(times); i += 2 {
		if times[i+1] < times[i] {
			return nil, fmt.Errorf("want parts that end after they begin, not from %v to %v s", times[i], times[i+1])
		}
		if i > 0 && times[i] < times[i-1] {
			return nil, fmt.Errorf("want parts in their order, not one from %v s after one to %v s", times[i], times[i-1])
		}
		list = append(list, transcribe.Span{Start: times[i], End: times[i+1]})
	}
	return list, nil
}

// clock reads seconds, or minutes:seconds, or hours:minutes:seconds.
func clock(text string) (seconds float64, err error) {
	for part := range strings.SplitSeq(text, ":") {
		v, wrong := strconv.ParseFloat(part, 64)
		seconds, err = 60*seconds+v, cmp.Or(err, wrong)
	}
	return seconds, err
}

// CompleteSound completes arguments with sound files.
func CompleteSound(c *cobra.Command) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return audio.Endings(), cobra.ShellCompDirectiveFilterFileExt
	}
}
