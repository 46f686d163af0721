package setup

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/internal/input"
	"verity/internal/show"
	"verity/wer"
)

// SoundFlags say how sound files are opened.
type SoundFlags struct {
	audio.Input
	Live bool // standard input, unless it is a file, is transcribed as it arrives
}

func (s *SoundFlags) Register(f *pflag.FlagSet) {
	cli.Bind(f, "channel", &s.Channel)
	cli.Bind(f, "audio-track", &s.Track)
	cli.Bind(f, "ffmpeg", &s.FFmpeg)
	cli.Bind(f, "strict", &s.Strict)
}

// Check reports a program for --ffmpeg that does not exist.
func (s *SoundFlags) Check() error {
	if slices.Contains([]string{audio.FFmpegAuto, audio.FFmpegNever, ""}, s.FFmpeg) {
		return nil
	}
	if _, err := exec.LookPath(s.FFmpeg); err != nil {
		return cli.Usagef("--ffmpeg %s: there is no such program; want auto, never or the path of one", s.FFmpeg)
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
	return cli.Usagef("%s: want a rate from 1000 to 1000000 Hz, as raw:16000: samples of 16 bits, little-endian, "+
		"one channel, on standard input", show.Name(name))
}

// Clip opens a sound file; "-" and "raw:RATE" are standard input, and an address is downloaded. A
// pipe may never send anything, so Clip abandons the goroutine that reads it when ctx ends.
func (s *SoundFlags) Clip(ctx context.Context, e cli.Env, name string) (*audio.Clip, error) {
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
				err = fmt.Errorf("%w%s", err, betterName(name))
			}
		}
	}()
	select {
	case <-done:
		return clip, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// betterName ends the error of a file that does not exist with what the user may have meant.
func betterName(name string) string {
	near := cli.DidYouMean(soundsLike(name))
	if near == "" && !strings.ContainsAny(name, `./\`) { // off, True
		return "; the value of a switch follows an equals sign, as in --vad=" + show.Name(name)
	}
	return near
}

// soundsLike returns the sound files whose names are like that of a file that does not exist.
func soundsLike(name string) []string {
	dir, base := filepath.Split(name)
	//verity:reads a directory ends
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries[:min(len(entries), 1000)] {
		if audio.HasEnding(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return wer.Nearest(base, names)
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

// IsAddress reports whether the name of a sound file is an address on the web.
func IsAddress(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// download reads the sound file at an address into a temporary file.
func (s *SoundFlags) download(ctx context.Context, address string) (*audio.Clip, error) {
	loading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(downloadStall, func() { cancel(fmt.Errorf("no byte came in %v", downloadStall)) })
	defer stall.Stop()
	request, err := http.NewRequestWithContext(loading, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: no address: %w", show.Name(address), err)
	}
	name := request.URL.Redacted()
	failed := func(err error) error {
		if cause := context.Cause(loading); cause != nil {
			err = cause
		}
		return fmt.Errorf("%s: %w", show.Name(name), err)
	}
	// Package net/http follows ten redirects, and only to http and https.
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, failed(noHost(errors.Unwrap(err))) // without the address, which a *url.Error repeats
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, failed(fmt.Errorf("the server answers %s; check the address", show.Text(answer.Status)))
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

// noHost replaces the error of a host that cannot be found, which names system calls and servers.
func noHost(err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return fmt.Errorf("there is no host %s; check the address and the network", show.Text(dns.Name))
	} else if ok {
		return fmt.Errorf("the host %s cannot be looked up (%s); check the network", show.Text(dns.Name), dns.Err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return fmt.Errorf("cannot be reached (%w); check the address and the network", input.Cause(op.Err))
	}
	if errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, new(tls.RecordHeaderError)) {
		return errors.New("the server does not speak https; try http://")
	}
	return err
}

// A download is a body of bounded size. Every read restarts its timer.
type download struct {
	body  io.Reader
	left  int64 // bytes that may still come
	stall *time.Timer
}

func (d *download) Read(b []byte) (int, error) {
	n, err := d.body.Read(b)
	d.stall.Reset(downloadStall)
	if d.left -= int64(n); d.left < 0 {
		return 0, fmt.Errorf("more than %d GiB", largestDownload>>30)
	}
	return n, err
}
