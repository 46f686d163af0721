package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/model/digits"
)

// TestListenFaults: lost live sound is reported and marked as in files, and text from before an
// error is written.
func TestListenFaults(t *testing.T) {
	whole := digits.Sample()
	damaged, err := os.ReadFile("../../audio/testdata/golden/stereo16.flac")
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 1
	for name, tt := range map[string]struct {
		sound       []byte
		code        int
		said, wants string
		words       bool
	}{
		"whole":      {whole, 0, "", "", true},
		"cut":        {whole[:len(whole)-5], 0, "the file ends after 9.98 s", `"truncated"`, true},
		"damaged":    {damaged, 0, "damaged", `"damaged"`, false},
		"no numbers": {withNaN(whole), 0, "got NaN", `"damaged"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "talk.json")
			code, _, stderr := program(t, bytes.NewReader(tt.sound), "listen", "-o", file, "-")
			var tr struct{ Text string }
			text, err := os.ReadFile(file)
			if err := cmp.Or(err, json.Unmarshal(text, &tr)); err != nil {
				t.Errorf("%v: %q", err, text)
			}
			if code != tt.code || (stderr == "") != (tt.said == "") || !strings.Contains(stderr, tt.said) || !strings.Contains(string(text), tt.wants) {
				t.Errorf("status %d, %q, %s", code, stderr, text)
			}
			if strings.HasPrefix(tr.Text, " one nine seven six") != tt.words {
				t.Errorf("text %q", tr.Text)
			}
		})
	}
}

// withNaN returns a WAV of 16 bits as floats, of which one of the last is no number.
func withNaN(wav []byte) []byte {
	out := bytes.Clone(wav[:44])
	le := binary.LittleEndian
	le.PutUint16(out[20:], 3)
	le.PutUint32(out[28:], 4*le.Uint32(wav[24:]))
	le.PutUint16(out[32:], 4)
	le.PutUint16(out[34:], 32)
	le.PutUint32(out[40:], 2*le.Uint32(wav[40:]))
	for i := 44; i+2 <= len(wav); i += 2 {
		v := float32(int16(le.Uint16(wav[i:]))) / 32768
		if i == len(wav)-2000 {
			v = float32(math.NaN())
		}
		out = le.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// TestListen: speech from a recorder is written, a recorder without sound is skipped, and
// without a recorder the error says what to install.
func TestListen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs sh: the recorder is a shell script")
	}
	onBase(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if code, _, stderr := program(t, nil, "listen"); code != 1 || !strings.Contains(stderr, "install arecord") {
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
	for _, args := range [][]string{{"listen"}, {"listen", "raw:16000"}} {
		code, stdout, stderr := program(t, bytes.NewReader(raw), args...)
		for try := 0; try < 20 && strings.Contains(stderr, "it gave no sound"); try++ { // it was started late
			code, stdout, stderr = program(t, bytes.NewReader(raw), args...)
		}
		if code != 0 || !strings.Contains(strings.ToLower(stdout), "fellow americans") || !strings.Contains(stdout, "country") {
			t.Errorf("%q: status %d, %q, %s", args, code, stdout, stderr)
		}
	}
	file := filepath.Join(t.TempDir(), "talk.srt")
	code, stdout, stderr := program(t, bytes.NewReader(raw), "listen", "-o", file, "raw:16000")
	subtitles, _ := os.ReadFile(file) // empty if there is none
	if code != 0 || !strings.Contains(stdout, "country") || !strings.Contains(string(subtitles), " --> ") {
		t.Errorf("to a file: status %d, %q, %s, %s", code, stdout, stderr, subtitles)
	}
	for _, wrong := range []string{file, filepath.Join(filepath.Dir(file), "talk")} {
		if code, _, stderr := program(t, nil, "listen", "-o", wrong); code != 2 || !strings.Contains(stderr, "--out") {
			t.Errorf("%s: status %d, %s", wrong, code, stderr)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stalled, hold := io.Pipe() // after a burst of sound
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
