package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"verity/cmd/internal/cli"
	"verity/model/digits"
)

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
	for _, want := range []string{"loading ", "a.wav", "%"} {
		if !strings.Contains(err.String(), want) {
			t.Errorf("a terminal does not show %q: %q", want, err.String())
		}
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

// TestStandardInput: a file and raw samples on standard input give the text of the file. Sound without end is for
// listen.
func TestStandardInput(t *testing.T) {
	file := digits.Sample()
	for name, in := range map[string][]byte{"-": file, "raw:16000": file[44:]} {
		code, text, stderr := program(t, bytes.NewReader(in), "transcribe", "-f", "lines", name)
		if code != 0 || !strings.HasPrefix(text, "one\nnine seven\nsix\n") {
			t.Errorf("%s: status %d, %q: %s", name, code, text, stderr)
		}
	}
}

// TestURL: a file behind a URL gives the same text as the file.
func TestURL(t *testing.T) {
	server := httptest.NewServer(http.FileServerFS(fstest.MapFS{"a.WAV": {Data: digits.Sample()}}))
	defer server.Close()
	if code, got, stderr := program(t, nil, "transcribe", "-f", "lines", server.URL+"/a.WAV"); code != 0 || !strings.HasPrefix(got, "one\nnine seven\nsix\n") {
		t.Errorf("status %d, %q: %s", code, got, stderr)
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
