package text

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
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
	ctx    context.Context
	stop   context.CancelFunc
	stderr beginning
}

// A beginning keeps the first 4000 bytes of a text, which may be endless.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 4000-len(*b))]...)
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
		if err == nil || ctx.Err() != nil {
			return rec, err
		}
		failed = append(failed, err.Error())
	}
	const orPipe = ", or pipe sound in: verity listen -"
	if failed != nil {
		return nil, fmt.Errorf("no microphone gives sound (%s): connect one, choose it in the settings of the system%s",
			show.Short(strings.Join(failed, "; ")), orPipe)
	}
	return nil, fmt.Errorf("no program that records is installed: install %s%s", what, orPipe)
}

// start starts a recorder and waits for its first sample.
func start(ctx context.Context, args []string) (*recorder, error) {
	if i := slices.Index(args, "DEVICE"); i > 0 {
		args[i] = "audio=" + microphone(ctx, args[0])
	}
	r := &recorder{name: args[0]}
	if i := slices.Index(args, "-f"); args[0] == "ffmpeg" && i > 0 {
		r.name += " with " + args[i+1]
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	r.cmd = exec.CommandContext(r.ctx, args[0], args[1:]...)
	r.cmd.Stderr, r.cmd.WaitDelay = &r.stderr, recorderTimeout
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	r.Reader = bufio.NewReader(out)
	timer := time.AfterFunc(recorderTimeout, r.stop)
	if _, err = r.Peek(2); err == nil && timer.Stop() {
		return r, nil
	}
	return nil, cmp.Or(r.end(), fmt.Errorf("%s: it gave no sound", r.name))
}

// end waits for the end of the program and returns why it failed, by its first message if there is one. Those of the
// library under it speak of its own code.
func (r *recorder) end() error {
	defer r.stop()
	err := r.cmd.Wait()
	for line := range strings.Lines(string(r.stderr)) {
		if _, text, ok := strings.Cut(line, " @ 0x"); ok { // [alsa @ 0x55ca934d7880] cannot open audio device
			_, line, _ = strings.Cut(text, "] ")
		}
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "ALSA lib ") {
			return fmt.Errorf("%s: %s", r.name, line)
		}
	}
	if err == nil || r.ctx.Err() != nil { // it was stopped
		return nil
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

// dshowName matches a microphone in ffmpeg's list of devices.
var dshowName = regexp.MustCompile(`"([^"]+)" \(audio\)`)

// microphone returns the name of the first microphone that ffmpeg finds on Windows; empty if there is none.
func microphone(ctx context.Context, ffmpeg string) string {
	args := strings.Fields("-hide_banner -list_devices true -f dshow -i dummy")
	list, _ := exec.CommandContext(ctx, ffmpeg, args...).CombinedOutput() // it always fails
	if name := dshowName.FindSubmatch(list); name != nil {
		return string(name[1])
	}
	return ""
}
