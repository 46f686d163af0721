package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/cmd/internal/setup"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/digits"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"verity": func() { main() }})
}

// Tests run on a model that is quick.
func init() {
	model.Embed("digits", model.Embedded{Files: digits.Target(), Assistant: digits.Assistant()})
	setup.DefaultModel = "digits"
}

// onBase makes the default what it is in the program.
func onBase(t *testing.T) {
	t.Helper()
	if !setup.Embedded("base") {
		t.Skip("SKIPPED: built without a model (-tags nomodel)")
	}
	setup.DefaultModel = "base"
	t.Cleanup(func() { setup.DefaultModel = "digits" })
}

// TestScript runs testdata/script: what users see, as they type it. $MODEL is a
// checkpoint of random weights with windows of 3 s, $ONCE keeps its many failed
// windows from being decoded six times.
func TestScript(t *testing.T) {
	dir := modelDir(t)
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

// mountable reports whether a file system may be mounted in a name space of its own.
func mountable(t *testing.T) bool {
	return exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", t.TempDir()).Run() == nil
}

// modelDir writes the checkpoint.
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

// wav returns a sound file: a tone that sweeps, with a pause in every second.
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

// program runs the program in this process, windows decoded once.
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
	f, err := os.Open("main_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out, errors bytes.Buffer
	if code := run(t.Context(), cli.Env{In: f, Out: &out, Err: &errors}, nil); code != 2 || out.Len() > 0 || !strings.Contains(errors.String(), "no FILE is named; for standard input, run verity -") {
		t.Errorf("verity < FILE: exit status %d, %q, %q", code, &out, &errors)
	}

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
		{"no command", nil, 0, ""},
		{"help", []string{"help", "transcribe"}, 0, ""},
		{"version", []string{"version"}, 0, ""},
		{"version of what", []string{"version", "x"}, 2, "no arguments"},
		{"unknown command", []string{"transcrib"}, 2, "did you mean transcribe"},
		{"misspelt command", []string{"trascribe"}, 2, "did you mean transcribe?"},
		{"beginning of a command", []string{"comp"}, 2, "did you mean compare or completion?"},
		{"a file that is not there", []string{"talk.wav"}, 1, "talk.wav"},
		{"a flag first", []string{"-m", model, filepath.Join(dir, "absent.wav")}, 1, "absent.wav"},
		{"a file", []string{good, "-m", model, "-l", "en", "--temperature-increment-on-fallback=none"}, 0, ""},
		{"unknown flag", []string{"transcribe", "--no-such-flag", "x.wav"}, 2, "no-such-flag"},
		{"misspelt flag", []string{"transcribe", "--langauge", "x.wav"}, 2, "there is no flag --langauge; did you mean --language?"},
		{"flag as in Python", with("--compression_ratio_threshold", "2.4", good), 0, ""},
		{"misspelt as in Python", with("--output_form", "srt", good), 2, "did you mean --output-format?"},
		{"not a number", with("--seed", "abc", good), 2, "--seed abc: want a whole number from 0"},
		{"compare without assistant", []string{"compare", "-m", model, good}, 2, "nothing to compare without an assistant"},
		{"no files", []string{"transcribe"}, 2, "no sound files"},
		{"good", with(good), 0, ""},
		{"bad", with(bad), 1, "bad.wav"},
		{"absent", with(filepath.Join(dir, "absent.wav")), 1, "absent.wav"},
		{"one of two", with(good, bad), 1, "1 of 2 files failed"},
		{"no such model", []string{"transcribe", "-m", filepath.Join(dir, "nowhere"), good}, 1, "no such directory"},
		{"no model", []string{"transcribe", "-m", dir, good}, 1, "config.json"},
		{"info", []string{"info", model}, 0, ""},
		{"info of nothing", []string{"info", dir}, 1, "config.json"},
		{"info of two", []string{"info", model, model}, 2, "one model"},
		{"language", with("--language", "tlh", good), 2, "--language tlh"},
		{"task", with("--task", "sing", good), 2, "--task sing"},
		{"pad", with("--pad", "salt", good), 2, "--pad"},
		{"format", with("-f", "doc", good), 2, "doc"},
		{"formats", with("-f", "txt,json", good), 2, "--output-dir"},
		{"srt of two", with("-f", "srt", good, bad), 2, "--output-dir"},
		{"threshold", with("--logprob-threshold", "high", good), 2, "want a number or none"},
		{"positive log-probability", with("--logprob-threshold", "1", good), 2, "--logprob-threshold"},
		{"increment", with("--temperature-increment-on-fallback", "0", good), 2, "increment"},
		{"temperature", with("--temperature", "-1", good), 2, "--temperature"},
		{"noise", with("--temperature", "5", good), 2, "must be from 0 to 2"},
		{"one format", with("-f", "docx", good), 2, "--output-format docx: want txt, srt"},
		{"value behind a flag", with("--highlight", "mine", good), 2, "--highlight mine: want auto, always or never"},
		{"no assistant of that name", with("-a", filepath.Join(dir, "foo"), good), 1, "want none, ngram, bigram, self"},
		{"a file that is not there", with(filepath.Join(dir, "absent.wav")), 1, "absent.wav: there is no such sound file"},
		{"tokens", with("--suppress-tokens", "a", good), 2, "token ids"},
		{"token", with("--suppress-tokens", "99999", good), 2, "--suppress-tokens 99999"},
		{"clips", with("--clip-timestamps", "3,2", good), 2, "ends before"},
		{"level", with("--log-level", "loud", good), 2, "--log-level"},
		{"threads", with("--threads", "-1", good), 2, "--threads"},
		{"precision", with("--precision", "f8", good), 2, "precision"},
		{"rejection compared", []string{"compare", "-a", "self", "-m", model, "--sampler", "rejection", good}, 2, "cannot be compared bit for bit"},
		{"rejection tested", []string{"selftest", "-m", model, "--sampler", "rejection"}, 2, "cannot be compared bit for bit"},
		{"no-repeat", with("--no-repeat-ngram-size", "-2", good), 2, "--no-repeat-ngram-size -2"},
		{"carry", with("--carry-initial-prompt", good), 2, "--carry-initial-prompt"},
		{"standard input twice", with("-", "raw:16000"), 2, "only once"},
		{"listening to a file", []string{"listen", good}, 2, "transcribe takes files"},
		{"watching nothing", []string{"watch"}, 2, "want the directory to watch"},
		{"watching a file", []string{"watch", good, "-o", dir}, 2, "is a file"},
		{"watching without an output", []string{"watch", dir}, 2, "--output-dir is missing"},
		{"raw sound without a rate", with("raw:x"), 2, "as raw:16000"},
		{"one name for two", with("-o", dir, good, filepath.Join(dir, "x", "good.flac")), 2, "both be written"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := program(t, strings.NewReader(""), tt.args...)
			if code != tt.want || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d, want %d, with %q in:\n%s", code, tt.want, tt.stderr, stderr)
			}
		})
	}
}

// TestEnglishOnly: what a model of English alone does not know is refused by its flag.
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

// TestNothingElseOnStdout checks that progress, logs and notes stay off standard
// output, and that --quiet keeps them off standard error too.
func TestNothingElseOnStdout(t *testing.T) {
	model, name := modelDir(t), filepath.Join(t.TempDir(), "a.wav")
	if err := os.WriteFile(name, wav(4), 0o600); err != nil {
		t.Fatal(err)
	}
	_, plain, _ := program(t, nil, "transcribe", "-m", model, name)
	_, debug, logs := program(t, nil, "transcribe", "-m", model, "--log-level", "debug", name)
	if debug != plain || !strings.Contains(logs, "avg_logprob") {
		t.Errorf("with logs, the text is %q, without %q; logs:\n%s", debug, plain, logs)
	}
	_, quiet, stderr := program(t, nil, "transcribe", "-m", model, "--quiet", "--log-level", "debug", name, name)
	if quiet != plain+plain || stderr != "" {
		t.Errorf("quiet: text %q, want twice %q; standard error %q", quiet, plain, stderr)
	}

	var out, err bytes.Buffer
	e := cli.Env{Out: &out, Err: &err, ErrTerminal: true, OutTerminal: true}
	if code := run(t.Context(), e, []string{"transcribe", "-m", model, "--temperature-increment-on-fallback=none", name}); code != 0 || out.String() != plain {
		t.Errorf("on a terminal: status %d, text %q, want %q", code, out.String(), plain)
	}
	if !strings.Contains(err.String(), "a.wav") || !strings.Contains(err.String(), "%") {
		t.Errorf("on a terminal there is no progress bar: %q", err.String())
	}
	found := regexp.MustCompile(`a\.wav: [A-Z][a-z]+.* \(detected, \d+ %\); --language names another\n`)
	if !found.MatchString(err.String()) || found.MatchString(logs) {
		t.Errorf("a terminal, and no other, is told the language that was found: %q, in logs %q", err.String(), logs)
	}
	err.Reset()
	if code := run(t.Context(), e, []string{"transcribe", "-m", model, "-l", "en", "--temperature-increment-on-fallback=none", name}); code != 0 || found.MatchString(err.String()) {
		t.Errorf("status %d, a language that was named is called detected: %q", code, err.String())
	}
}

// TestSameText checks the promises that flags could break: the text does not
// depend on threads, nor on where it comes from or goes to.
func TestSameText(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	name := filepath.Join(dir, "a.wav")
	if err := os.WriteFile(name, wav(5), 0o600); err != nil {
		t.Fatal(err)
	}
	_, want, _ := program(t, nil, "transcribe", "-m", model, "--threads", "1", name)
	if want == "" {
		t.Fatal("no text to compare")
	}
	if _, got, _ := program(t, nil, "transcribe", "-m", model, "--threads", "3", name); got != want {
		t.Errorf("three threads: %q, one: %q", got, want)
	}
	if _, got, _ := program(t, bytes.NewReader(wav(5)), "transcribe", "-m", model, "-"); got != want {
		t.Errorf("from standard input: %q, want %q", got, want)
	}
	if code, out, _ := program(t, nil, "transcribe", "-m", model, "-o", filepath.Join(dir, "new"), name); code != 0 || out != "" {
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

// soundFiles writes files of a second and returns their paths.
func soundFiles(t *testing.T, dir string, names ...string) (paths []string) {
	t.Helper()
	for _, n := range names {
		name := filepath.Join(dir, n)
		if err := os.WriteFile(name, wav(1), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, name)
	}
	return paths
}

// TestInterrupt checks that what was finished stays, and the status is not 0.
func TestInterrupt(t *testing.T) {
	model, dir := modelDir(t), t.TempDir()
	names := append(soundFiles(t, dir, "a.wav"), "-")
	silent, hold := io.Pipe()
	defer hold.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("a.wav: written to")) {
			cancel() // while the second is waited for
		}
		return len(p), nil
	})
	out := filepath.Join(dir, "out")
	code := run(ctx, cli.Env{In: silent, Out: io.Discard, Err: stderr}, append([]string{"transcribe", "-m", model, "-o", out}, names...))
	if code != 130 {
		t.Errorf("status %d, want %d", code, 130)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*.txt"))
	if len(files) != 1 || filepath.Base(files[0]) != "a.txt" {
		t.Errorf("written: %v, want a.txt alone", files)
	}
}

// TestArriving: text comes while the sound still arrives, and is that of the file, where no
// later sound is louder.
func TestArriving(t *testing.T) {
	file, name := digits.Sample(), filepath.Join(t.TempDir(), "a.wav")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, want, _ := program(t, nil, "transcribe", name)
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
		code := run(t.Context(), cli.Env{In: in, Out: out, Err: io.Discard}, []string{"transcribe", "--temperature-increment-on-fallback=none", tt.name})
		if code != 0 || text != want || !strings.HasPrefix(want, "one\nnine seven\nsix\n") {
			t.Errorf("%s: status %d, %q, want %q", tt.name, code, text, want)
		}
	}
}

// TestListen: what a recorder hears is written, one that gives no sound is passed over, and
// without any the error says what to install.
func TestListen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the recorder is a shell script")
	}
	onBase(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	code, _, stderr := program(t, nil, "listen")
	if code != 1 || !strings.Contains(stderr, "install arecord") {
		t.Errorf("no recorder: status %d, %q", code, stderr)
	}
	sound, err := filepath.Abs("../../model/base/jfk.flac")
	if err != nil {
		t.Fatal(err)
	}
	clip, err := audio.Open(t.Context(), sound)
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	pcm := make([]float32, 30*audio.SampleRate)
	n, _ := clip.Read(pcm)
	var raw []byte
	for _, v := range pcm[:n] {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(int16(v*32767)))
	}
	for name, content := range map[string]string{
		"sound.raw": string(raw), "arecord": "#!/bin/sh\necho no device >&2\nexit 1\n", "parec": "#!/bin/sh\nexec /bin/cat " + bin + "/sound.raw\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"listen"}, {"listen", "-f", "srt"}, {"listen", "raw:16000"}} {
		code, stdout, stderr := program(t, bytes.NewReader(raw), args...)
		for try := 0; try < 20 && strings.Contains(stderr, "it gave no sound for"); try++ { // it was started late
			code, stdout, stderr = program(t, bytes.NewReader(raw), args...)
		}
		if code != 0 || !strings.Contains(strings.ToLower(stdout), "fellow americans") || !strings.Contains(stdout, "country") {
			t.Errorf("%q: status %d, %q, %s", args, code, stdout, stderr)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stalled, hold := io.Pipe() // behind a burst
	defer hold.Close()
	said := ""
	code = run(ctx, cli.Env{
		In:  io.MultiReader(bytes.NewReader(raw), bytes.NewReader(make([]byte, 4*audio.SampleRate)), stalled),
		Out: writerFunc(func(p []byte) (int, error) { said += string(p); interrupt(); return len(p), nil }), Err: io.Discard,
	}, []string{"listen", "raw:16000"})
	if code != 0 || !strings.Contains(said, "country") {
		t.Errorf("interrupted while the sound stalls: status %d, %q", code, said)
	}
	if err := os.Remove(filepath.Join(bin, "parec")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program(t, nil, "listen"); code != 1 || !strings.Contains(stderr, "arecord: no device") {
		t.Errorf("a recorder without a device: status %d, %q", code, stderr)
	}
}

// TestWatch: what lies in the directory is transcribed, and a signal is the usual end.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "in"), fstest.MapFS{
		"a.wav": {Data: digits.Sample()}, "deep/b.wav": {Data: digits.Sample()}, "0.wav": {Data: []byte("no sound")},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := ""
	stderr := writerFunc(func(p []byte) (int, error) {
		if said += string(p); strings.Count(said, "written to") == 2 {
			cancel()
		}
		return len(p), nil
	})
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	args := []string{"watch", in, "-o", out, "--recursive", "--temperature-increment-on-fallback=none", "-f", "txt,srt"}
	if code := run(ctx, cli.Env{Out: io.Discard, Err: stderr}, args); code != 0 {
		t.Errorf("status %d", code)
	}
	for _, name := range []string{"a.txt", "a.srt", "deep/b.txt", "deep/b.srt"} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), "nine seven\n") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if strings.Count(said, "0.wav") != 1 || !strings.Contains(said, "verity watch: ") {
		t.Errorf("said %q", said)
	}
}

// TestNamed: an address, a directory, one below it and a pattern lead to the same sound as its
// file's name.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{"in/deep/a.WAV": {Data: digits.Sample()}}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	in := filepath.Join(dir, "in")
	_, want, _ := program(t, nil, "transcribe", filepath.Join(in, "deep", "a.WAV"))
	for _, args := range [][]string{{server.URL + "/in/deep/a.WAV"}, {in, "--recursive"}, {filepath.Join(in, "deep")}, {filepath.Join(in, "d*", "*.WAV")}} {
		if code, got, stderr := program(t, nil, append([]string{"transcribe"}, args...)...); code != 0 || got != want || !strings.HasPrefix(want, "one\nnine seven\nsix\n") {
			t.Errorf("%q: status %d, %q, want %q: %s", args, code, got, want, stderr)
		}
	}
}

// TestBrokenPipe checks that a reader who has left ends the work at once.
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

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// An interrupt ends a program that waits for standard input.
func TestInterruptInput(t *testing.T) {
	silent, hold := io.Pipe()
	defer hold.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		done <- run(ctx, cli.Env{In: silent, Out: io.Discard, Err: io.Discard}, []string{"transcribe", "-"})
	}()
	time.AfterFunc(50*time.Millisecond, cancel)
	select {
	case code := <-done:
		if code != 130 {
			t.Errorf("status %d, want %d", code, 130)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("still waiting for a pipe that says nothing")
	}
}
