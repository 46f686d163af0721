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

	"verity/audio"
)

const rawOut = "-ac 1 -ar 16000 -f s16le -"

// recorders are programs that write what the microphone hears, as samples of 16 bits at
// audio.SampleRate: those to try on a system, in order, and others'. DEVICE is the name of a
// microphone.
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

// patientFor is how long a recorder may give nothing before another is tried, and how long it
// may take to end. Tests have another.
var patientFor = 5 * time.Second

// A recorder is a program that records. It ends with its context.
type recorder struct {
	name string
	*bufio.Reader
	cmd  *exec.Cmd
	stop context.CancelFunc
	said *beginning
}

// A beginning is what a program says first: it may complain for days.
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
		failed = append(failed, fmt.Sprintf("%s: %v", args[0], err))
	}
	const orPipe = "; or pipe sound in: verity listen -"
	if failed != nil {
		return nil, fmt.Errorf("no microphone gives sound: %s%s", strings.Join(failed, "; "), orPipe)
	}
	return nil, fmt.Errorf("no program that records is installed: install %s%s", what, orPipe)
}

func start(ctx context.Context, args []string) (*recorder, error) {
	if i := slices.Index(args, "DEVICE"); i > 0 {
		name, err := microphone(ctx, args[0])
		if err != nil {
			return nil, err
		}
		args[i] = "audio=" + name
	}
	ctx, stop := context.WithCancel(ctx)
	rec := &recorder{name: args[0], cmd: exec.CommandContext(ctx, args[0], args[1:]...), stop: stop, said: new(beginning)}
	rec.cmd.Stderr, rec.cmd.WaitDelay = rec.said, patientFor
	out, err := rec.cmd.StdoutPipe()
	if err == nil {
		err = rec.cmd.Start()
	}
	if err != nil {
		stop()
		return nil, err
	}
	rec.Reader = bufio.NewReader(out)
	patience := time.AfterFunc(patientFor, stop)
	_, err = rec.Peek(2)
	inTime := patience.Stop()
	if err == nil && inTime {
		return rec, nil
	}
	if inTime { // its output is closed: it has a moment to end by itself and say why
		defer time.AfterFunc(rec.cmd.WaitDelay, stop).Stop()
	}
	err = rec.end()
	if !inTime && len(*rec.said) == 0 {
		err = fmt.Errorf("it gave no sound for %v", patientFor)
	}
	return nil, err
}

// end waits for the end of the program, and says why it ended.
func (r *recorder) end() error {
	defer r.stop()
	err := r.cmd.Wait()
	if text, _, _ := strings.Cut(strings.TrimSpace(string(*r.said)), "\n"); text != "" {
		return errors.New(text)
	}
	if err == nil || errors.Is(err, context.Canceled) {
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

// A liveClip is a clip that ends when its context does, though a read still waits.
type liveClip struct {
	ctx  context.Context
	next func(context.Context, []float32) (int, error)
}

func newLiveClip(ctx context.Context, clip *audio.Clip) *liveClip {
	return &liveClip{ctx, clip.Arrivals(ctx, 0)}
}

func (l *liveClip) Read(dst []float32) (n int, err error) {
	if n, err = l.next(l.ctx, dst); l.ctx.Err() != nil {
		err = io.EOF
	}
	return n, err
}
