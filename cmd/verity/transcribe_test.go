package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"verity/cmd/internal/cli"
	"verity/internal/testing/testmodel"
	"verity/model/digits"
)

// TestEnglishOnly: an English-only model refuses other languages, and the error names the flag.
func TestEnglishOnly(t *testing.T) {
	s := testmodel.Named("odd")
	s.Generation = []byte(`{"is_multilingual": false}`)
	model, name := testmodel.Write(t, s), filepath.Join(t.TempDir(), "a.wav")
	if err := os.WriteFile(name, wav(0.2), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--language", "xx"}, {"--language", "de"}, {"--task", "translate"}} {
		code, _, stderr := program(t, nil, append([]string{"transcribe", "-m", model, name}, args...)...)
		if want := strings.Join(args, " ") + ": the model knows English only"; code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("status %d, %q, want 2, %q", code, stderr, want)
		}
	}
}

// TestStdoutIsResultsOnly checks that progress, logs and notes never go to standard output, and
// with --quiet not to standard error either.
func TestStdoutIsResultsOnly(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	name, again := filepath.Join(dir, "a.wav"), filepath.Join(dir, "b.wav")
	for _, file := range []string{name, again} {
		if err := os.WriteFile(file, wav(4), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, plain, _ := program(t, nil, "transcribe", "-f", "lines", "-m", model, name)
	_, debug, logs := program(t, nil, "transcribe", "-f", "lines", "-m", model, "--log-level", "debug", name)
	if debug != plain || !strings.Contains(logs, "avg_logprob") {
		t.Errorf("with logs, the text is %q, without %q; logs:\n%s", debug, plain, logs)
	}
	_, quiet, stderr := program(t, nil, "transcribe", "-f", "lines", "-m", model, "--quiet", "--log-level", "debug", name, again)
	if quiet != plain+plain || stderr != "" {
		t.Errorf("quiet: text %q, want twice %q; standard error %q", quiet, plain, stderr)
	}

	var out, err bytes.Buffer
	e := cli.Env{Out: &out, Err: &err, ErrTerminal: true, OutTerminal: true}
	if code := run(t.Context(), e, []string{"transcribe", "-f", "lines", "-m", model, "--temperature-increment-on-fallback=none", name}); code != 0 || out.String() != plain {
		t.Errorf("on a terminal: status %d, text %q, want %q", code, out.String(), plain)
	}
	if !strings.Contains(err.String(), "a.wav") || !strings.Contains(err.String(), "%") {
		t.Errorf("on a terminal there is no progress bar: %q", err.String())
	}
	found := regexp.MustCompile(`a\.wav: [A-Z][a-z]+.* \(detected, \d+ %\); --language names another\n`)
	if !found.MatchString(err.String()) || found.MatchString(logs) {
		t.Errorf("only a terminal shows the detected language: got %q, in logs %q", err.String(), logs)
	}
	err.Reset()
	if code := run(t.Context(), e, []string{"transcribe", "-f", "lines", "-m", model, "-l", "en", "--temperature-increment-on-fallback=none", name}); code != 0 || found.MatchString(err.String()) {
		t.Errorf("status %d, a language named by a flag is called detected: %q", code, err.String())
	}
}

// TestSameText checks that the text depends neither on threads, nor on where the sound comes
// from, nor on where the text goes.
func TestSameText(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	name := filepath.Join(dir, "a.wav")
	if err := os.WriteFile(name, wav(5), 0o600); err != nil {
		t.Fatal(err)
	}
	_, want, _ := program(t, nil, "transcribe", "-f", "lines", "-m", model, "--threads", "1", name)
	if want == "" {
		t.Fatal("no text to compare")
	}
	if _, got, _ := program(t, nil, "transcribe", "-f", "lines", "-m", model, "--threads", "3", name); got != want {
		t.Errorf("three threads: %q, one: %q", got, want)
	}
	if _, got, _ := program(t, bytes.NewReader(wav(5)), "transcribe", "-f", "lines", "-m", model, "-"); got != want {
		t.Errorf("from standard input: %q, want %q", got, want)
	}
	if code, out, _ := program(t, nil, "transcribe", "-f", "lines", "-m", model, "-o", filepath.Join(dir, "new"), name); code != 0 || out != "" {
		t.Errorf("with --output-dir: status %d, standard output %q", code, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "new", "a.txt"))
	if err != nil || string(got) != want {
		t.Errorf("a.txt = %q, %v; want %q", got, err, want)
	}
	_, raw, _ := program(t, nil, "transcribe", "-m", model, "-f", "json", name)
	var doc struct {
		Schema   string
		Duration float64
		Segments []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	var lines strings.Builder
	for _, s := range doc.Segments {
		lines.WriteString(strings.TrimSpace(s.Text) + "\n")
	}
	if doc.Schema != "verity.transcribe/1" || doc.Duration != 5 || lines.String() != want {
		t.Errorf("JSON: schema %q, duration %v, text %q; want %q", doc.Schema, doc.Duration, lines.String(), want)
	}
}

// TestStreamedInput: text appears while sound still arrives, and equals the text of the file as
// long as no later sound is louder.
func TestStreamedInput(t *testing.T) {
	file, name := digits.Sample(), filepath.Join(t.TempDir(), "a.wav")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, want, _ := program(t, nil, "transcribe", "-f", "lines", name)
	for _, tt := range []struct {
		name string
		skip int // bytes
	}{{"-", 0}, {"raw:16000", 44}} {
		in, feed := io.Pipe()
		lines, text := make(chan bool, 100), ""
		go func() {
			b := file[tt.skip:]
			feed.Write(b[:20000])
			time.Sleep(500 * time.Millisecond)
			feed.Write(b[20000 : len(b)-20000])
			<-lines
			feed.Write(b[len(b)-20000:])
			feed.Close()
		}()
		out := writerFunc(func(p []byte) (int, error) {
			lines <- true
			text += string(p)
			return len(p), nil
		})
		code := run(t.Context(), cli.Env{In: in, Out: out, Err: io.Discard}, []string{"transcribe", "-f", "lines", "--temperature-increment-on-fallback=none", tt.name})
		if code != 0 || text != want || !strings.HasPrefix(want, "one\nnine seven\nsix\n") {
			t.Errorf("%s: status %d, %q, want %q", tt.name, code, text, want)
		}
	}
}

// TestInputNames: a URL, a directory, a subdirectory and a pattern find the same sound as the name
// of the file.
func TestInputNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{"in/deep/a.WAV": {Data: digits.Sample()}}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	in := filepath.Join(dir, "in")
	_, want, _ := program(t, nil, "transcribe", "-f", "lines", filepath.Join(in, "deep", "a.WAV"))
	for _, args := range [][]string{{server.URL + "/in/deep/a.WAV"}, {in, "--recursive"}, {filepath.Join(in, "deep")}, {filepath.Join(in, "d*", "*.WAV")}} {
		if code, got, stderr := program(t, nil, append([]string{"transcribe", "-f", "lines"}, args...)...); code != 0 || got != want || !strings.HasPrefix(want, "one\nnine seven\nsix\n") {
			t.Errorf("%q: status %d, %q, want %q: %s", args, code, got, want, stderr)
		}
	}
}

// TestBrokenPipe checks that the work ends at once when the reader of the text is gone.
func TestBrokenPipe(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	name := filepath.Join(dir, "a.wav")
	if err := os.WriteFile(name, wav(60), 0o600); err != nil {
		t.Fatal(err)
	}
	writes := 0
	broken := writerFunc(func([]byte) (int, error) { writes++; return 0, io.ErrClosedPipe })
	var stderr bytes.Buffer
	code := run(t.Context(), cli.Env{Out: broken, Err: &stderr}, []string{"transcribe", "-m", model, name, name})
	if code != 1 || writes > 10 || !strings.Contains(stderr.String(), "writing the text") {
		t.Errorf("status %d after %d writes:\n%s", code, writes, stderr.String())
	}
}
