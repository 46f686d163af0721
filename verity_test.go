package verity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"verity"
	"verity/audio"
	"verity/model"
	"verity/model/base"
	"verity/model/digits"
	"verity/model/hub"
	"verity/transcribe"
)

// serveDigits is a hub that has the model of digits under the name of whisper-tiny, and
// its assistant under that of distil-small.en. It counts the files it sends.
func serveDigits(t *testing.T) *atomic.Int32 {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	repos := map[string]fs.FS{"openai/whisper-tiny": digits.Target(), "openai/whisper-small.en": digits.Target(), "distil-whisper/distil-small.en": digits.Assistant()}
	sent := new(atomic.Int32)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/models/{owner}/{name}/revision/main", func(w http.ResponseWriter, r *http.Request) {
		files, ok := repos[r.PathValue("owner")+"/"+r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		var list []map[string]string
		names, _ := fs.Glob(files, "*")
		for _, n := range names {
			list = append(list, map[string]string{"rfilename": n})
		}
		json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": list})
	})
	mux.HandleFunc("GET /{owner}/{name}/resolve/"+commit+"/{file}", func(w http.ResponseWriter, r *http.Request) {
		b, err := fs.ReadFile(repos[r.PathValue("owner")+"/"+r.PathValue("name")], r.PathValue("file"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		h := fnv.New64()
		h.Write(b)
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, h.Sum64()))
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		if r.Method == http.MethodGet {
			sent.Add(1)
			w.Write(b)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("HF_ENDPOINT", s.URL)
	return sent
}

// TestOpenInside: a model inside the program is opened by its name, without a network.
func TestOpenInside(t *testing.T) {
	sent := serveDigits(t)
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	t.Chdir(t.TempDir())
	model.Embed("tiny", model.Embedded{Files: digits.Target()}) // as an init function of the model's package does
	defer model.Embed("tiny", model.Embedded{})
	m, err := verity.Open(t.Context(), "tiny", verity.Options{Threads: 1, Assistant: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	text, err := m.TranscribeReader(t.Context(), "digits.wav", strings.NewReader(string(digits.Sample())))
	if err != nil || len(text.Text) < 20 || sent.Load() != 0 {
		t.Errorf("text %v, %v, %d files fetched", text, err, sent.Load())
	}
}

// TestOpenName: a name is looked for in the cache, then fetched, unless that is forbidden;
// what is there under a path is taken as it is.
func TestOpenName(t *testing.T) {
	sent := serveDigits(t)
	t.Setenv("HF_HUB_CACHE", filepath.Join(t.TempDir(), "hub"))
	t.Setenv("HF_HUB_OFFLINE", "")
	t.Chdir(t.TempDir())
	ctx := t.Context()

	_, err := verity.Open(ctx, "tiny", verity.Options{Offline: true})
	if !errors.Is(err, hub.ErrOffline) || !strings.Contains(err.Error(), "model tiny: not in the cache") || sent.Load() != 0 {
		t.Fatalf("offline: %v, %d files sent", err, sent.Load())
	}
	o := verity.Options{Threads: 1, Assistant: "distil-small.en"}
	m, err := verity.Open(ctx, "tiny", o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.TranscribeReader(ctx, "digits.wav", strings.NewReader(string(digits.Sample())))
	if err != nil || len(text.Text) < 20 || text.Stats.Drafts.Accepted == 0 {
		t.Errorf("text %v, %v", text, err)
	}
	m.Close()
	fetched := sent.Load()
	if fetched < 4 {
		t.Errorf("%d files were sent, want those of both models", fetched)
	}

	m, err = verity.Open(ctx, "small.en", verity.Options{Threads: 1, Assistant: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	text, err = m.TranscribeReader(ctx, "digits.wav", strings.NewReader(string(digits.Sample())))
	if err != nil || text.Stats.Drafts.Accepted == 0 {
		t.Errorf("the published partner in the cache drafted nothing: %v", err)
	}
	m.Close()
	fetched = sent.Load()

	o.Offline = true
	m, err = verity.Open(ctx, "openai/whisper-tiny", o)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if n := sent.Load(); n != fetched {
		t.Errorf("of a model in the cache %d files were sent", n-fetched)
	}

	if _, err := verity.Open(ctx, "openai/whisper-none", verity.Options{}); !errors.Is(err, hub.ErrNotFound) {
		t.Errorf("no such model: %v", err)
	}
	o.Assistant = "large-v3"
	if _, err := verity.Open(ctx, "tiny", o); !errors.Is(err, hub.ErrOffline) || !strings.Contains(err.Error(), "assistant: ") {
		t.Errorf("assistant: %v", err)
	}
	if _, err := verity.Open(ctx, "./nowhere", verity.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path: %v", err)
	}
	if _, err := verity.Open(ctx, ".", verity.Options{}); !errors.Is(err, model.ErrNotCheckpoint) {
		t.Errorf("a directory: %v", err)
	}
}

// TestSegments: the segments are those of the transcript, and what ends the work is the last
// pair's error.
func TestSegments(t *testing.T) {
	m, err := verity.OpenFS(t.Context(), digits.Target(), "demo", verity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want, err := m.Transcribe(t.Context(), "model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	clip, err := audio.Open(t.Context(), "model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	n := 0
	for s, err := range m.Segments(t.Context(), clip) {
		if err != nil || s.Text != want.Segments[n].Text || s.End != want.Segments[n].End {
			t.Fatalf("segment %d: %v, %+v, want %+v", n, err, s, want.Segments[n])
		}
		n++
	}
	if n != len(want.Segments) {
		t.Errorf("%d segments, want %d", n, len(want.Segments))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for s, err := range m.Segments(ended, clip) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, error %v, want canceled", s, err)
		}
	}
}

// TestNoise: the zero value of the options writes no text for noise, of which the model alone
// makes words.
func TestNoise(t *testing.T) {
	files := base.Base()
	if files == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	m, err := verity.OpenFS(t.Context(), files, "base", verity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	noise, level := make([]float32, audio.SampleRate), float32(0) // a rumble, as of wind or traffic
	for i, r := 0, rand.New(rand.NewPCG(2, 2)); i < len(noise); i++ {
		level = 0.98*level + 0.01*(2*r.Float32()-1)
		noise[i] = level
	}
	for _, tt := range []struct {
		options transcribe.Options
		text    bool
	}{
		{transcribe.Options{}, false},
		{transcribe.Options{SkipSpeechCheck: true}, true},
	} {
		with, err := m.With(tt.options)
		if err != nil {
			t.Fatal(err)
		}
		got, err := with.TranscribeSamples(t.Context(), noise)
		if err != nil || (got.Text != "") != tt.text {
			t.Errorf("SkipSpeechCheck %v: text %q, %v", tt.options.SkipSpeechCheck, got.Text, err)
		}
	}
}

// TestClosed: to transcribe with a closed model is an error, in every way.
func TestClosed(t *testing.T) {
	m, err := verity.OpenFS(t.Context(), digits.Target(), "demo", verity.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	with, err := m.With(transcribe.Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	assisted, err := m.Assisted(t.Context(), verity.Options{Assistant: "ngram"})
	if err != nil {
		t.Fatal(err)
	}
	samples := make([]float32, audio.SampleRate)
	if err := errors.Join(with.Close(), assisted.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := assisted.TranscribeSamples(t.Context(), samples); !errors.Is(err, transcribe.ErrClosed) {
		t.Errorf("assisted: error = %v, want ErrClosed", err)
	}
	if _, err := with.TranscribeSamples(t.Context(), samples); err != nil {
		t.Errorf("the model itself is open: %v", err)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	for name, m := range map[string]*verity.Model{"the model": m, "with options": with} {
		if _, err := m.TranscribeSamples(t.Context(), samples); !errors.Is(err, transcribe.ErrClosed) {
			t.Errorf("%s: error = %v, want ErrClosed", name, err)
		}
	}
}

// TestOptions: what no model can run with is an error of its field.
func TestOptions(t *testing.T) {
	for field, o := range map[string]verity.Options{
		"Threads":  {Threads: -1},
		"BeamSize": {Decoding: transcribe.Options{BeamSize: -1}},
	} {
		_, err := verity.OpenFS(t.Context(), digits.Target(), "demo", o)
		var option *transcribe.OptionError
		if !errors.As(err, &option) || option.Option != field {
			t.Errorf("error = %v, want one of %s", err, field)
		}
	}
	_, err := verity.OpenFS(t.Context(), digits.Target(), "demo", verity.Options{Threads: 1, Assistant: "smal"})
	if !errors.As(err, new(*transcribe.OptionError)) || !strings.Contains(err.Error(), "Assistant: got smal: want auto, none,") ||
		!strings.Contains(err.Error(), "did you mean small") {
		t.Errorf("an unknown assistant: %v", err)
	}
	_, err = verity.Open(t.Context(), "smal", verity.Options{Threads: 1})
	if !errors.As(err, new(*hub.NameError)) || !strings.Contains(err.Error(), "did you mean small") {
		t.Errorf("misspelt: %v", err)
	}
}

// TestSampleError: samples that nobody divided, and those that are no numbers, are refused, as by Python's package.
func TestSampleError(t *testing.T) {
	nan := float32(math.NaN())
	for text, samples := range map[string][]float32{
		"samples: got -300 at index 1, want -1 to 1; divide samples of 16 bits by 32768": {0, -300, nan},
		"samples: got NaN at index 2, want -1 to 1; replace it by 0 for silence":         {0, 32, nan},
		"samples: got -Inf at index 0, want -1 to 1; replace it by 0 for silence":        {float32(math.Inf(-1))},
	} {
		_, err := (&verity.Model{}).TranscribeSamples(t.Context(), samples)
		if bad := new(audio.SampleError); !errors.As(err, &bad) || err.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}

// TestOneError: one wrong option is the error itself, not a join of one.
func TestOneError(t *testing.T) {
	_, err := verity.OpenFS(t.Context(), digits.Target(), "digits", verity.Options{Decoding: transcribe.Options{Language: "klingon"}})
	if _, ok := err.(*transcribe.OptionError); !ok {
		t.Errorf("got %T: %v", err, err)
	}
}
