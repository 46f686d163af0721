package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"verity/audio"
	"verity/model"
	"verity/models/digits"
	"verity/precision"
	"verity/transcribe"
	"verity/transcript"
)

// TestLoad has many clients at once for VERITY_LOAD, such as 5m, with recordings of 1 to
// 60 s, while others misbehave; and shuts down under load at the end. make load runs it.
// Every answer must be what the model says without a server, to the bit.
// VERITY_LOAD_PROGRAM names the program
// whose verity transcribe says what is right. VERITY_LOAD_MODEL names a checkpoint; without, it is the small model of the tests.
func TestLoad(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("VERITY_LOAD"))
	if err != nil {
		t.Skip("VERITY_LOAD is not set: make load runs this")
	}
	const clients = 64
	m := loadModel(t)
	works := recordings(t, m)
	s, err := New(m, Options{Turns: 8, Waiting: clients, Spool: t.TempDir(), Sessions: 8})
	if err != nil {
		t.Fatal(err)
	}
	var entered, left atomic.Int64 // requests that the server has begun, and has answered whole
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered.Add(1)
		s.ServeHTTP(w, r)
		left.Add(1)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	before := resources()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, s, func(h *http.Server) error { h.Handler = counted; return h.Serve(l) }, 10*time.Minute)
	}()
	url := "http://" + l.Addr().String()

	run := &load{url: url + transcriptions, works: works, until: time.Now().Add(span)}
	began := time.Now()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { run.client(t, rand.New(rand.NewPCG(7, uint64(i)))) })
	}
	all.Go(func() { // among them those that misbehave
		for time.Now().Before(run.until) {
			for name, abuse := range abuses(t, url) {
				if name == "too many bytes" || time.Now().After(run.until) {
					continue // the limit is 512 MiB here
				}
				if why := abuse(l.Addr().String()); why != "" {
					t.Errorf("%s: %s", name, why)
				}
				run.abuses.Add(1)
			}
		}
	})
	time.Sleep(time.Until(run.until))
	stop() // under load: what was begun must come to its end
	inFlight := entered.Load() - left.Load()
	err = <-ended
	took := time.Since(began)
	all.Wait()
	run.transport.CloseIdleConnections()
	if err != nil || entered.Load() != left.Load() {
		t.Errorf("shutdown: %v, %d requests begun, %d answered", err, entered.Load(), left.Load())
	}
	settled(t, before)
	run.report(t, took, inFlight)
}

// loadModel loads the model of the load test.
func loadModel(t *testing.T) *transcribe.Model {
	t.Helper()
	fsys, name := digits.Target(), "digits"
	if dir := os.Getenv("VERITY_LOAD_MODEL"); dir != "" {
		fsys, name = os.DirFS(dir), dir
	}
	c, err := model.OpenFS(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Precision: precision.Precision{Weights: precision.Int8}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		c.Close()
	})
	return m
}

// A work is a recording and what is said of it without a server.
type work struct {
	seconds float64
	form    []byte
	kind    string
	answer  verbose
}

// recordings are of 1 to 60 s, cut from real ones.
func recordings(t *testing.T, m *transcribe.Model) (list []work) {
	t.Helper()
	names, err := filepath.Glob("../models/whisper/librispeech/*.flac")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no recordings", err)
	}
	var all []float32
	for _, name := range append(names, "../models/whisper/jfk.flac", sound) {
		all = append(all, soundOf(t, name)...)
	}
	tr, err := transcribe.New(m, transcribe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, seconds := range []int{1, 2, 3, 5, 8, 12, 20, 30, 45, 60} {
		n := seconds * audio.SampleRate
		if at+n > len(all) {
			at = 0
		}
		wave := wavOf(all[at : at+min(n, len(all))])
		at += n
		body, kind := form(t, field{"response_format", "verbose_json"}, field{"file", string(wave)})
		clip, err := audio.OpenReader("x.wav", bytes.NewReader(wave))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := tr.Transcribe(t.Context(), clip, transcribe.Watch{})
		clip.Close()
		if err != nil {
			t.Fatal(err)
		}
		if program := os.Getenv("VERITY_LOAD_PROGRAM"); program != "" {
			plain = byProgram(t, program, wave)
		}
		a := answer{model: m, q: &request{decoding: transcribe.Options{Task: transcribe.Transcribe}}}
		w := work{seconds: plain.Duration, form: body.Bytes(), kind: kind}
		w.answer = a.verbose(plain, strings.TrimSpace(plain.Text), usage{"duration", audioSeconds(plain)})
		list = append(list, w)
	}
	return list
}

// byProgram returns what verity transcribe writes for a recording.
func byProgram(t *testing.T, program string, wave []byte) *transcript.Transcript {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.wav")
	if err := os.WriteFile(name, wave, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := cmp.Or(os.Getenv("VERITY_LOAD_MODEL"), "../models/digits/target")
	out, err := exec.Command(program, "transcribe", "--model", dir, "--precision", "int8", "--output-format", "json", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	tr := new(transcript.Transcript)
	if err := json.Unmarshal(out, tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// A load is a run of the load test.
type load struct {
	url       string
	works     []work
	until     time.Time
	transport http.Transport
	done      atomic.Int64
	killed    atomic.Int64
	abuses    atomic.Int64
	audio     atomic.Int64 // ms

	mu   sync.Mutex
	took []time.Duration
}

// client sends one recording after the other.
func (l *load) client(t *testing.T, r *rand.Rand) {
	for time.Now().Before(l.until) {
		w := l.works[r.IntN(len(l.works))]
		ctx, cancel := context.WithCancel(context.Background())
		kill := r.IntN(20) == 0 // amid the request
		if kill {
			time.AfterFunc(time.Duration(r.IntN(2000))*time.Millisecond, cancel)
		}
		began := time.Now()
		answer, status, err := l.ask(ctx, w)
		cancel()
		switch {
		case kill && err != nil:
			l.killed.Add(1)
		case err != nil && time.Now().After(l.until):
			return // the server had closed: the request was never begun
		case err != nil || status != 200:
			t.Errorf("%v s: status %d, %v", w.seconds, status, err)
		case !reflect.DeepEqual(answer, w.answer):
			t.Errorf("%v s: got %+v\nwant %+v", w.seconds, answer, w.answer)
		default:
			l.done.Add(1)
			l.audio.Add(int64(w.seconds * 1000))
			l.mu.Lock()
			l.took = append(l.took, time.Since(began))
			l.mu.Unlock()
		}
	}
}

func (l *load) ask(ctx context.Context, w work) (v verbose, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, "POST", l.url, bytes.NewReader(w.form))
	if err != nil {
		return v, 0, err
	}
	r.Header.Set("Content-Type", w.kind)
	got, err := l.transport.RoundTrip(r)
	if err != nil {
		return v, 0, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return v, 0, err
	}
	return v, got.StatusCode, json.Unmarshal(body, &v)
}

func (l *load) report(t *testing.T, took time.Duration, inFlight int64) {
	status, _ := os.ReadFile("/proc/self/status")
	peak := "unknown"
	for _, line := range strings.Split(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			peak = strings.TrimSpace(rest)
		}
	}
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	slices.Sort(l.took)
	if len(l.took) == 0 {
		t.Fatal("no request came through")
	}
	at := func(q float64) time.Duration { return l.took[int(q*float64(len(l.took)-1))].Round(time.Millisecond) }
	fmt.Printf("%v: %d requests answered, each as without a server; %d clients killed, %d abuses; %d in flight at the shutdown\n"+
		"%.0f s of audio, %.1f a second; a request took %v in the median, %v at most in 95 %%; peak memory %s, Go's heap %d MiB\n",
		took.Round(time.Second), l.done.Load(), l.killed.Load(), l.abuses.Load(), inFlight,
		float64(l.audio.Load())/1000, float64(l.audio.Load())/1000/took.Seconds(), at(0.5), at(0.95), peak, heap.HeapSys>>20)
}
