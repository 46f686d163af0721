package scribe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"verity/audio"
)

// A recorder is a program that writes what the microphone hears, as samples of 16 bits at
// audio.SampleRate.
type recorder []string

const rawOut = "-ac 1 -ar 16000 -f s16le -"

// recorders are those to try on a system, in order. DEVICE is the name of a microphone.
func recorders(system string) (list []recorder) {
	lines := []string{
		"arecord -q -t raw -f S16_LE -c 1 -r 16000",
		"parec --raw --format=s16le --channels=1 --rate=16000 --latency-msec=100",
		"ffmpeg -v error -nostdin -f pulse -i default " + rawOut,
		"ffmpeg -v error -nostdin -f alsa -i default " + rawOut,
	}
	switch system {
	case "darwin":
		lines = []string{"ffmpeg -v error -nostdin -f avfoundation -i :default " + rawOut, "rec -q -t raw -r 16000 -e signed -b 16 -c 1 -"}
	case "windows":
		lines = []string{"ffmpeg -v error -nostdin -f dshow -i DEVICE " + rawOut}
	}
	for _, l := range lines {
		list = append(list, strings.Fields(l))
	}
	return list
}

// install says which program is missing.
var install = map[string]string{"darwin": "ffmpeg or sox", "windows": "ffmpeg"}

// patientFor is how long a recorder may be silent before another is tried.
const patientFor = 5 * time.Second

// A recording is a recorder at work. It ends with its context.
type recording struct {
	name string
	*bufio.Reader
	cmd  *exec.Cmd
	said *bytes.Buffer
}

// record starts the first recorder that gives sound.
func record(ctx context.Context) (*recording, error) {
	var failed []string
	for _, r := range recorders(runtime.GOOS) {
		program, err := exec.LookPath(r[0])
		if err != nil {
			continue
		}
		rec, err := r.start(ctx, program)
		if err == nil {
			return rec, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed = append(failed, fmt.Sprintf("%s: %v", r[0], err))
	}
	const orPipe = "; or pipe sound in: verity listen -"
	if failed != nil {
		return nil, fmt.Errorf("no microphone gives sound: %s%s", strings.Join(failed, "; "), orPipe)
	}
	what := install[runtime.GOOS]
	if what == "" {
		what = "arecord (in alsa-utils), parec (in pulseaudio-utils) or ffmpeg"
	}
	return nil, fmt.Errorf("no program that records is installed: install %s%s", what, orPipe)
}

func (r recorder) start(ctx context.Context, program string) (*recording, error) {
	args := append([]string(nil), r[1:]...)
	for i, a := range args {
		if a == "DEVICE" {
			name, err := microphone(ctx, program)
			if err != nil {
				return nil, err
			}
			args[i] = "audio=" + name
		}
	}
	ctx, stop := context.WithCancel(ctx)
	rec := &recording{name: r[0], cmd: exec.CommandContext(ctx, program, args...), said: new(bytes.Buffer)}
	rec.cmd.Stderr, rec.cmd.WaitDelay = rec.said, time.Second
	out, err := rec.cmd.StdoutPipe()
	if err == nil {
		err = rec.cmd.Start()
	}
	if err != nil {
		stop()
		return nil, err
	}
	rec.Reader = bufio.NewReader(out)
	silent := time.AfterFunc(patientFor, stop)
	_, err = rec.Peek(2)
	if err == nil && silent.Stop() {
		context.AfterFunc(ctx, stop)
		return rec, nil
	}
	stop()
	return nil, rec.end()
}

// end waits for the end of the program, and says why it ended.
func (r *recording) end() error {
	err := r.cmd.Wait()
	if text, _, _ := strings.Cut(strings.TrimSpace(r.said.String()), "\n"); text != "" {
		return errors.New(text)
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

// dshowName matches a microphone in ffmpeg's list of devices.
var dshowName = regexp.MustCompile(`"([^"]+)" \(audio\)`)

// microphone returns the name of the first one of Windows.
func microphone(ctx context.Context, ffmpeg string) (string, error) {
	said, _ := exec.CommandContext(ctx, ffmpeg, "-hide_banner", "-list_devices", "true", "-f", "dshow", "-i", "dummy").CombinedOutput() // it always fails
	name := dshowName.FindSubmatch(said)
	if name == nil {
		return "", errors.New("it lists no microphone")
	}
	return string(name[1]), nil
}

// An untilStopped is a clip that ends when its context does, though a read still waits.
type untilStopped struct {
	ctx    context.Context
	pieces chan []float32
	rest   []float32
	err    error // once pieces is closed
}

func newUntilStopped(ctx context.Context, clip *audio.Clip) *untilStopped {
	u := &untilStopped{ctx: ctx, pieces: make(chan []float32)}
	go func() {
		defer close(u.pieces)
		for u.err == nil {
			b := make([]float32, audio.SampleRate/10)
			n, err := clip.Read(b)
			select {
			case u.pieces <- b[:n]:
				u.err = err
			case <-ctx.Done():
				u.err = io.EOF
			}
		}
	}()
	return u
}

func (u *untilStopped) Read(dst []float32) (int, error) {
	for len(u.rest) == 0 {
		select {
		case piece, open := <-u.pieces:
			if !open {
				return 0, u.err
			}
			u.rest = piece
		case <-u.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(dst, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}
