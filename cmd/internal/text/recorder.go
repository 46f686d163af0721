package text

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"verity/internal/show"
)

const rawOut = "-ac 1 -ar 16000 -f s16le -"

// recorders are programs that write the sound of the microphone as samples of 16 bits at
// audio.SampleRate: for each system those to try, in order. "" stands for all other systems,
// and DEVICE for the name of a microphone.
var recorders = map[string][]string{
	"darwin":  {"ffmpeg -v error -nostdin -f avfoundation -i :default " + rawOut},
	"windows": {"ffmpeg -v error -nostdin -f dshow -i DEVICE " + rawOut},
	"": {
		"arecord -q -t raw -f S16_LE -c 1 -r 16000",
		"parec --raw --format=s16le --channels=1 --rate=16000 --latency-msec=100",
		"ffmpeg -v error -nostdin -f pulse -i default " + rawOut,
		"ffmpeg -v error -nostdin -f alsa -i default " + rawOut,
	},
}

// recorderTimeout is how long a recorder may take to give sound, and to end. Tests change it.
var recorderTimeout = 5 * time.Second

// A recorder is a program that records. It ends with its context.
type recorder struct {
	name string
	*bufio.Reader
	cmd    *exec.Cmd
	stop   context.CancelFunc
	stderr *beginning
}

// A beginning keeps the first 1000 bytes of a text, which may be endless.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 1000-len(*b))]...)
	return len(p), nil
}

// record starts the first recorder that gives sound.
func record(ctx context.Context) (*recorder, error) {
	list, what := recorders[runtime.GOOS], "ffmpeg"
	if list == nil {
		list, what = recorders[""], "arecord (in alsa-utils), parec (in pulseaudio-utils) or ffmpeg"
	}
	var failed []string
	for _, line := range list {
		args := strings.Fields(line)
		if _, err := exec.LookPath(args[0]); err != nil {
			continue
		}
		rec, err := start(ctx, args)
		if err == nil {
			return rec, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		name := args[0]
		if i := slices.Index(args, "-f"); name == "ffmpeg" {
			name += " " + args[i+1] // several devices are tried
		}
		failed = append(failed, fmt.Sprintf("%s: %v", name, err))
	}
	const orPipe = "; or pipe sound in: verity listen -"
	if failed != nil {
		return nil, fmt.Errorf("no microphone can be recorded; connect one, or choose it in the system%s (%s)", orPipe,
			show.Short(strings.Join(failed, "; ")))
	}
	return nil, fmt.Errorf("no program that records is installed: install %s%s", what, orPipe)
}

// start starts a recorder and waits for its first sample.
func start(ctx context.Context, args []string) (*recorder, error) {
	if i := slices.Index(args, "DEVICE"); i > 0 {
		name, err := microphone(ctx, args[0])
		if err != nil {
			return nil, err
		}
		args[i] = "audio=" + name
	}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	rec := &recorder{name: args[0], cmd: cmd, stop: stop, stderr: new(beginning)}
	rec.cmd.Stderr, rec.cmd.WaitDelay = rec.stderr, recorderTimeout
	out, err := rec.cmd.StdoutPipe()
	if err == nil {
		err = rec.cmd.Start()
	}
	if err != nil {
		stop()
		return nil, err
	}
	rec.Reader = bufio.NewReader(out)
	timer := time.AfterFunc(recorderTimeout, stop)
	_, err = rec.Peek(2)
	inTime := timer.Stop()
	if err == nil && inTime {
		return rec, nil
	}
	if inTime { // it has closed its output: it may now end by itself and report why
		defer time.AfterFunc(rec.cmd.WaitDelay, stop).Stop()
	}
	err = rec.end()
	switch {
	case !inTime && len(*rec.stderr) == 0:
		err = fmt.Errorf("it gave no sound for %v", recorderTimeout)
	case err == nil:
		err = errors.New("it gave no sound")
	}
	return nil, err
}

// end waits for the end of the program and returns why it failed, by its first message if there is one.
func (r *recorder) end() error {
	defer r.stop()
	err := r.cmd.Wait()
	if text, _, _ := strings.Cut(strings.TrimSpace(string(*r.stderr)), "\n"); text != "" {
		return errors.New(text)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// dshowName matches a microphone in ffmpeg's list of devices.
var dshowName = regexp.MustCompile(`"([^"]+)" \(audio\)`)

// microphone returns the name of the first microphone that ffmpeg finds on Windows.
func microphone(ctx context.Context, ffmpeg string) (string, error) {
	args := strings.Fields("-hide_banner -list_devices true -f dshow -i dummy")
	list, _ := exec.CommandContext(ctx, ffmpeg, args...).CombinedOutput() // it always fails
	name := dshowName.FindSubmatch(list)
	if name == nil {
		return "", errors.New("it lists no microphone")
	}
	return string(name[1]), nil
}

// A liveClip ends when its context does, even while a read waits.
type liveClip struct {
	ctx  context.Context
	next func(context.Context, []float32) (int, error) // from Clip.Arrivals
}

func (l *liveClip) Read(dst []float32) (n int, err error) {
	if n, err = l.next(l.ctx, dst); l.ctx.Err() != nil {
		err = io.EOF
	}
	return n, err
}
