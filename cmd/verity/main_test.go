package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"verity/cmd/internal/cli"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/digits"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"verity": func() {
		// When the time is over, package testscript sends SIGQUIT: end without a dump.
		quit := make(chan os.Signal, 1)
		signal.Notify(quit, syscall.SIGQUIT)
		go func() {
			<-quit
			os.Exit(1)
		}()
		main()
	}})
}

// Tests run on a fast model.
func init() {
	model.Embed("digits", model.Embedded{Files: digits.Target(), Assistant: digits.Assistant()})
	cli.DefaultModel = "digits"
}

// onBase restores the default model of the program for a test.
func onBase(t *testing.T) {
	t.Helper()
	if !cli.Embedded("base") {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	cli.DefaultModel = "base"
	t.Cleanup(func() { cli.DefaultModel = "digits" })
}

// TestScript runs the command lines of testdata/script. $MODEL is a checkpoint of random weights
// with windows of 3 s. $ONCE prevents its many failed windows from being decoded six times.
func TestScript(t *testing.T) {
	dir := modelDir(t)
	var limit time.Time // when package testscript stops a script
	if end, ok := t.Deadline(); ok {
		limit = time.Now().Add(time.Until(end) * 9 / 10)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			if name != "mount" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return mountable(t), nil
		},
		Setup: func(e *testscript.Env) error {
			if !limit.IsZero() && time.Now().After(limit) {
				return fmt.Errorf("not run: the time of this package is over")
			}
			e.Setenv("MODEL", dir)
			e.Setenv("ONCE", "--temperature-increment-on-fallback=none")
			for name, seconds := range map[string]float64{"short.wav": 1, "long.wav": 7.003} {
				if err := os.WriteFile(filepath.Join(e.WorkDir, name), wav(seconds), 0o600); err != nil {
					return err
				}
			}
			if err := os.WriteFile(filepath.Join(e.WorkDir, "call.wav"), call(digits.Sample()), 0o600); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(e.WorkDir, "digits.wav"), digits.Sample(), 0o600)
		},
	})
}

// mountable reports whether a test may mount a file system in its own namespace.
func mountable(t *testing.T) bool {
	return exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", t.TempDir()).Run() == nil
}

// modelDir writes a checkpoint of random weights and returns its path.
func modelDir(t testing.TB) string {
	t.Helper()
	return testmodel.Write(t, testmodel.Named("odd"))
}

// call returns a WAV file of three channels: silence, the sound, and the sound again half a
// second later.
func call(mono []byte) []byte {
	const header, late = 44, 8000
	le := binary.LittleEndian
	b, samples := slices.Clone(mono[:header]), mono[header:]
	le.PutUint16(b[22:], 3)
	le.PutUint32(b[28:], 3*le.Uint32(b[28:]))
	le.PutUint16(b[32:], 3*le.Uint16(b[32:]))
	le.PutUint32(b[40:], uint32(3*(len(samples)+2*late)))
	samples = append(make([]byte, 2*late), samples...)
	for i := 0; i < len(samples); i += 2 {
		b = append(b, 0, 0)
		if i+2*late < len(samples) {
			b = append(b, samples[i+2*late:][:2]...)
		} else {
			b = append(b, 0, 0)
		}
		b = append(b, samples[i:][:2]...)
	}
	return b
}

// wav returns a sound file: a sweeping tone with a pause in every second.
func wav(seconds float64) []byte {
	n := int(seconds * 16000)
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data")
	binary.LittleEndian.PutUint32(b[4:], uint32(36+2*n))
	b = binary.LittleEndian.AppendUint32(b, uint32(2*n))
	for i := range n {
		v := 0.0
		if s := float64(i) / 16000; s-math.Floor(s) < 0.7 {
			v = 9000 * math.Sin(2*math.Pi*(200+150*s)*s)
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(v)))
	}
	return b
}

// program runs the program in this process. Windows are decoded only once.
func program(t testing.TB, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if len(args) > 1 && args[0] == "transcribe" {
		args = append([]string{"transcribe", "--temperature-increment-on-fallback=none"}, args[1:]...)
	}
	code = run(t.Context(), cli.Env{In: stdin, Out: &out, Err: &err}, args)
	return code, out.String(), err.String()
}

func TestExitStatus(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	good := filepath.Join(dir, "good.wav")
	bad := filepath.Join(dir, "bad.wav")
	for name, content := range map[string][]byte{good: wav(0.5), bad: []byte("RIFFgarbage, no sound at all")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(args ...string) []string { return append([]string{"transcribe", "-m", model}, args...) }
	tests := []struct {
		name   string
		args   []string
		want   int
		stderr string // part of it
	}{
		{"no command", nil, 2, "no FILE is named; for standard input, run verity -"},
		{"help", []string{"help", "transcribe"}, 0, ""},
		{"version", []string{"version"}, 0, ""},
		{"version with an argument", []string{"version", "x"}, 2, "no arguments"},
		{"unknown command", []string{"transcrib"}, 2, "did you mean transcribe"},
		{"a flag first", []string{"-m", model, filepath.Join(dir, "absent.wav")}, 1, "absent.wav"},
		{"a file", []string{good, "-m", model, "-l", "en", "--temperature-increment-on-fallback=none"}, 0, ""},
		{"not a number", with("--seed", "abc", good), 2, "--seed abc: want a whole number from 0"},
		{"compare without assistant", []string{"compare", "-m", model, good}, 2, "nothing to compare without an assistant"},
		{"one of two", with(good, bad), 1, "1 of 2 files failed"},
		{"temperature", with("--temperature", "-1", good), 2, "--temperature"},
		{"standard input twice", with("-", "raw:16000"), 2, "only once"},
		{"raw sound without a rate", with("raw:x"), 2, "as raw:16000"},
	}
	old := os.Args
	defer func() { os.Args = old }()
	os.Args = []string{old[0], "not", "an", "argument"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := program(t, strings.NewReader(""), tt.args...)
			if code != tt.want || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d, want %d, with %q in:\n%s", code, tt.want, tt.stderr, stderr)
			}
		})
	}
}

// TestErrorsAreLines: a warning on the file of standard output, as after 2>&1, is a line of its own, within a paragraph
// and at its end.
func TestErrorsAreLines(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "both"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := &outWriter{w: f}
	for _, part := range []string{"One.", " warning", " Two.", " warning", "\n", " warning", "Three.\n"} {
		if w := io.Writer(out); part == " warning" {
			fmt.Fprintln(errWriter{f, out}, "verity: warning")
		} else if n, err := io.WriteString(w, part); n != len(part) || err != nil {
			t.Error(n, err)
		}
	}
	const want = "One.\nverity: warning\nTwo.\nverity: warning\nverity: warning\nThree.\n"
	if got, _ := os.ReadFile(f.Name()); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	cut := filepath.Join(t.TempDir(), "cut.wav")
	if err := os.WriteFile(cut, digits.Sample()[:len(digits.Sample())*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := f.Seek(0, io.SeekCurrent)
	if code := run(t.Context(), cli.Env{Out: f, Err: f}, []string{cut}); code != 0 {
		t.Errorf("status %d", code)
	}
	all, _ := os.ReadFile(f.Name())
	got := string(all[before:])
	if text, warning, ok := strings.Cut(got, "\nverity: "); !ok || strings.Contains(text+warning, "\n\n") || !strings.HasSuffix(warning, "\n") {
		t.Errorf("got %q, want a line of text and one of a warning", got)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
