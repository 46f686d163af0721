package audio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"verity/internal/testing/needs"
)

// fakeFFmpeg writes a shell script that stands for the program when it decodes. When it is asked for the tracks of
// a file, it finds none.
func fakeFFmpeg(t *testing.T, script string) string {
	t.Helper()
	needs.Shell(t, "cat")
	path := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncase \"$*\" in *pipe:1*) ;; *) exit 1;; esac\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// written returns the command of a shell that writes what ffmpeg would for mono sound.
func written(t *testing.T, rate int, samples ...float32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "written.wav")
	var b []byte
	for _, v := range samples {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	file := riff(chunk("fmt ", fmtBody(tagFloat, 1, rate, 32)), chunkOf("data", 0xffffffff, b))
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	return "cat '" + path + "'\n"
}

// unreadable writes a file that nothing here reads, under an odd name.
func unreadable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "-odd name; $(rm).wma")
	if err := os.WriteFile(path, []byte("\x30\x26\xb2\x75\x8e\x66\xcf\x11 sound"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFFmpegFake has a script in place of ffmpeg: it writes 32-bit floats at 8 kHz and
// notes its arguments.
func TestFFmpegFake(t *testing.T) {
	needs.Program(t, "cmp")
	dir := t.TempDir()
	program := fakeFFmpeg(t, `printf '%s\n' "$@" >>`+dir+`/args
cmp -s /dev/fd/3 `+dir+`/wanted || { echo "not the file" >&2; exit 1; }
`+written(t, 8000, slices.Repeat([]float32{0.5}, 800)...))
	name := unreadable(t)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/wanted", b, 0o666); err != nil {
		t.Fatal(err)
	}
	in := Input{FFmpeg: program}
	fromPipe := func() (*Clip, error) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return in.OpenReader(t.Context(), "-", f)
	}
	for how, open := range map[string]func() (*Clip, error){
		"file": func() (*Clip, error) { return in.Open(t.Context(), name) }, "pipe": fromPipe,
	} {
		c, err := open()
		if err != nil {
			t.Fatal(err)
		}
		first, err := readAll(t, c)
		if err != nil || len(first) != 1600 || first[800] < 0.49 || first[800] > 0.51 {
			t.Errorf("%s: %d samples, %v", how, len(first), err)
		}
		if err := c.Rewind(); err != nil {
			t.Fatal(err)
		}
		if again, err := readAll(t, c); err != nil || !slices.Equal(again, first) {
			t.Errorf("%s: after Rewind %d samples, %v", how, len(again), err)
		}
		c.Close()
	}
	args, err := os.ReadFile(dir + "/args")
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(strings.TrimSpace(string(args)), "\n")
	for _, want := range []string{"-nostdin", "-protocol_whitelist", "file", "-format_whitelist", "file:/dev/fd/3", "pipe:1"} {
		if !slices.Contains(list, want) {
			t.Errorf("arguments lack %q: %q", want, list)
		}
	}
}

// TestFFmpegFails wants the reason of the program, on one line, and the file.
func TestFFmpegFails(t *testing.T) {
	name := unreadable(t)
	for _, tt := range []struct{ script, want string }{
		{"printf '[mov @ 0x1] [error] moov atom\\033 not found\\nat all' >&2; exit 1", "moov atom not found"},
		{"exit 3", "exit status 3"},
		{"echo no sound here, but some text to read", "it writes no sound"},
		{"exit 0", "it writes no sound"},
		{written(t, 64, 1), "it writes no sound"},
		{"i=0; while [ $i -lt 2000 ]; do echo [error] x$i >&2; i=$((i+1)); done; exit 1", "x0; x1; x2; x3; x4"},
	} {
		_, err := Input{FFmpeg: fakeFFmpeg(t, tt.script)}.Open(t.Context(), name)
		text := fmt.Sprint(err)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(text, tt.want) || !strings.Contains(text, "Windows Media") ||
			strings.Count(text, name) != 1 || strings.ContainsAny(text, "\n\x1b") || len(text) > 1000 {
			t.Errorf("%s: error = %v", tt.script, err)
		}
	}
	if _, err := (Input{FFmpeg: "/nowhere/ffmpeg"}).Open(t.Context(), name); err == nil || !strings.Contains(err.Error(), "/nowhere/ffmpeg") {
		t.Errorf("no such program: error %v", err)
	}
	_, err := Input{FFmpeg: FFmpegNever}.Open(t.Context(), name)
	if !errors.Is(err, ErrUnsupported) || strings.Contains(err.Error(), "either") {
		t.Errorf("never: error = %v", err)
	}
}

// TestFFmpegFailsLate: where the program fails amid the sound, what it decoded is decoded, and a
// line says why it failed. With Strict that is the error.
func TestFFmpegFailsLate(t *testing.T) {
	program := fakeFFmpeg(t, written(t, 8000, 0.5, 0.5)+"echo '[error] broken' >&2; exit 1")
	for _, strict := range []bool{false, true} {
		c, err := Input{FFmpeg: program, Strict: strict}.Open(t.Context(), unreadable(t))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		pcm, err := readAll(t, c)
		switch {
		case strict && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "broken") || strings.Contains(err.Error(), "install")):
			t.Errorf("strict: error = %v", err)
		case !strict && (err != nil || len(pcm) == 0 || len(c.Damaged()) != 1 || !strings.Contains(strings.Join(c.Warnings(), " "), "broken")):
			t.Errorf("%d samples, %v, damaged %v, warnings %q", len(pcm), err, c.Damaged(), c.Warnings())
		}
	}
}

// TestFFmpegStops wants a program that hangs killed with the context, and at Close.
func TestFFmpegStops(t *testing.T) {
	hang := fakeFFmpeg(t, "exec sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := (Input{FFmpeg: hang}).Open(ctx, unreadable(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want the context's", err)
	}
	endless := fakeFFmpeg(t, "while "+written(t, 8000, make([]float32, 1000)...)+"do :; done")
	c, err := Input{FFmpeg: endless}.Open(t.Context(), unreadable(t))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]float32, 5000)); n != 5000 || err != nil {
		t.Errorf("Read = %d, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestFFmpegReal reads the forms of one utterance that only ffmpeg reads.
func TestFFmpegReal(t *testing.T) {
	needs.Program(t, "ffmpeg")
	want := decode(t, "s16.wav")
	for name, least := range map[string]float64{"alac.m4a": 80, "aac.m4a": 10, "wavpack.wv": 80, "w64.w64": 80, "ima_adpcm.wav": 15, "ms_adpcm.wav": 15} {
		got := decode(t, name)
		if len(got) < len(want) || len(got) > len(want)+2100 {
			t.Errorf("%s: %d samples, want %d or a little more", name, len(got), len(want))
			continue
		}
		if r := snr(got[:len(want)], want, 1); !(r >= least) {
			t.Errorf("%s: SNR %.1f dB, want %.0f", name, r, least)
		}
	}
}

// TestFFmpegPlaylist wants a list of other files refused: it could name any.
func TestFFmpegPlaylist(t *testing.T) {
	needs.Program(t, "ffmpeg")
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/secret.wav", noiseWAV(), 0o666); err != nil {
		t.Fatal(err)
	}
	list := "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + dir + "/secret.wav\n#EXT-X-ENDLIST\n"
	if err := os.WriteFile(dir+"/list.m3u8", []byte(list), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir+"/list.m3u8"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error = %v, want ErrUnsupported", err)
	}
}

// TestFFmpegEndless: of an endless stream of nothing, no more is kept than ffmpeg looks at.
func TestFFmpegEndless(t *testing.T) {
	noise := &nothing{left: 3 * maxUnknown}
	_, err := Input{FFmpeg: fakeFFmpeg(t, "echo Invalid data >&2; exit 1")}.OpenReader(t.Context(), "-", noise)
	if !errors.Is(err, ErrUnsupported) || noise.left < maxUnknown {
		t.Errorf("%v, %d bytes not read", err, noise.left)
	}
}

// A nothing gives left bytes of no format.
type nothing struct{ left int }

func (c *nothing) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), c.left)
	for i := range b[:n] {
		b[i] = byte(i*i>>3) | 1
	}
	c.left -= n
	return n, nil
}
