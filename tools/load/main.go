// Load starts verity serve and sends it many requests at once:
//
//	go run ./tools/load -program bin/verity -for 5m talk.wav…    clients that send, hang up and cut off, then a shutdown
//
// Every answer must equal, to the bit, what verity transcribe writes for the file alone. The
// exit status is 1 if one does not, or if the server loses a request.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	program = flag.String("program", "bin/verity", "the `program`")
	model   = flag.String("model", "model/digits/target", "`directory` of the checkpoint, loaded as int8")
	during  = flag.Duration("for", 0, "how long the load lasts")
)

const clients = 64 // at the same time

func main() {
	flag.Parse()
	if err := run(context.Background(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// An answer is the part of the JSON that is compared.
type answer struct {
	Duration float64
	Segments []any
}

// A job is a request and the answer it must get.
type job struct {
	name string
	form []byte
	kind string
	want answer
}

func run(ctx context.Context, names []string) error {
	var jobs []job
	for _, name := range names {
		j, err := jobOf(ctx, name)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return errors.New("no recordings are named")
	}
	s, err := start()
	if err != nil {
		return err
	}
	defer s.process.Process.Kill()
	if _, _, err := s.ask(ctx, jobs[0]); err != nil { // warms up
		return err
	}
	return s.load(ctx, jobs)
}

// jobOf transcribes a recording by the command line for the answer to expect.
func jobOf(ctx context.Context, name string) (j job, err error) {
	out, err := exec.CommandContext(ctx, *program, "transcribe", "--model", *model, "--precision", "int8", "--output-format", "json", name).Output()
	if err != nil {
		return j, fmt.Errorf("%s: %w", name, err)
	}
	sound, err := os.ReadFile(name)
	if err != nil {
		return j, err
	}
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	form.WriteField("response_format", "verbose_json") // writes to b cannot fail
	part, _ := form.CreateFormFile("file", filepath.Base(name))
	part.Write(sound)
	form.Close()
	j = job{name: name, form: b.Bytes(), kind: form.FormDataContentType()}
	return j, json.Unmarshal(out, &j.want)
}

// A server is a process.
type server struct {
	process *exec.Cmd
	address string
	http    http.Client
	ended   chan error
}

var listens = regexp.MustCompile(` on http://(\S+)`)

func start() (*server, error) {
	s := &server{ended: make(chan error, 1), http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	s.process = exec.Command(*program, "serve", "--model", *model, "--precision", "int8", "--listen", "127.0.0.1:0", "--batch", "8", "--queue", "256")
	lines, err := s.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	scan := bufio.NewScanner(lines)
	for s.address == "" && scan.Scan() {
		if m := listens.FindStringSubmatch(scan.Text()); m != nil {
			s.address = m[1]
		}
	}
	if s.address == "" {
		return nil, errors.New("the server printed no address")
	}
	go func() {
		for scan.Scan() {
			fmt.Println("server:", scan.Text())
		}
		s.ended <- errors.Join(scan.Err(), s.process.Wait())
	}()
	for {
		r, err := s.http.Get("http://" + s.address + "/readyz")
		if err != nil {
			return nil, err
		}
		if r.Body.Close(); r.StatusCode == 200 {
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stop ends the server, which must lose nothing.
func (s *server) stop() error {
	s.process.Process.Signal(syscall.SIGTERM)
	if err := <-s.ended; err != nil {
		return fmt.Errorf("the server ended with %w", err)
	}
	return nil
}

var errOther = errors.New("the answer is not that of the command line")

// ask sends a request and checks the answer.
func (s *server) ask(ctx context.Context, w job) (got answer, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.address+"/v1/audio/transcriptions", bytes.NewReader(w.form))
	if err != nil {
		return got, 0, err
	}
	r.Header.Set("Content-Type", w.kind)
	a, err := s.http.Do(r)
	if err != nil {
		return got, 0, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", a.Status, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err == nil && !reflect.DeepEqual(got.Segments, w.want.Segments) {
		err = fmt.Errorf("%w: %s: got %+v, want %+v", errOther, w.name, got.Segments, w.want.Segments)
	}
	return got, a.StatusCode, err
}

// A tally counts what happened.
type tally struct {
	done, killed, cut atomic.Int64

	mu    sync.Mutex
	took  []time.Duration
	audio float64
	wrong []error
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = append(t.wrong, err)
}

// load runs many clients at once, some of which hang up or send half a form, and then ends the
// server while they still send.
func (s *server) load(ctx context.Context, jobs []job) error {
	var t tally
	until := time.Now().Add(*during)
	began := time.Now()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { s.client(ctx, &t, jobs, until, rand.New(rand.NewPCG(7, uint64(i)))) })
	}
	all.Go(func() {
		for time.Now().Before(until) {
			s.cutOff(jobs[0])
			t.cut.Add(1)
			time.Sleep(50 * time.Millisecond)
		}
	})
	time.Sleep(time.Until(until))
	peak := peakOf(s.process.Process.Pid)
	err := s.stop()
	all.Wait()
	took := time.Since(began)
	if len(t.took) == 0 {
		return errors.Join(err, errors.New("no request was answered"))
	}
	slices.Sort(t.took)
	at := func(q float64) time.Duration { return t.took[int(q*float64(len(t.took)-1))].Round(time.Millisecond) }
	fmt.Printf("%v: %d requests answered like the command line, %d wrong; %d clients hung up, %d forms cut off\n"+
		"%.1f seconds of sound a second; a request took %v in the median, %v at most in 95 %%; peak memory %s\n",
		took.Round(time.Second), t.done.Load(), len(t.wrong), t.killed.Load(), t.cut.Load(), t.audio/took.Seconds(), at(0.5), at(0.95), peak)
	return errors.Join(append(t.wrong, err)...)
}

// client sends one recording after the other.
func (s *server) client(ctx context.Context, t *tally, jobs []job, until time.Time, r *rand.Rand) {
	for time.Now().Before(until) {
		w := jobs[r.IntN(len(jobs))]
		ctx, cancel := context.WithCancel(ctx)
		kill := r.IntN(20) == 0 // during the request
		if kill {
			time.AfterFunc(time.Duration(r.IntN(2000))*time.Millisecond, cancel)
		}
		began := time.Now()
		got, status, err := s.ask(ctx, w)
		cancel()
		switch {
		case kill && errors.Is(err, context.Canceled):
			t.killed.Add(1)
		case err != nil && (status == 0 || status == 503) && time.Now().After(until):
			return // the server is shutting down and did not accept the request
		case err != nil:
			t.fail(err)
		default:
			t.done.Add(1)
			t.mu.Lock()
			t.took = append(t.took, time.Since(began))
			t.audio += got.Duration
			t.mu.Unlock()
		}
	}
}

// cutOff sends half a form.
func (s *server) cutOff(w job) {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		w.kind, len(w.form), w.form[:len(w.form)/2])
}

func peakOf(pid int) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}
