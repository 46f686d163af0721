package audio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeFFmpeg writes a shell script that stands for the program.
func fakeFFmpeg(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell scripts here")
	}
	path := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
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

// TestFFmpegFake has a script in place of ffmpeg: it writes AU of 32-bit floats at
// 8 kHz and notes its arguments.
func TestFFmpegFake(t *testing.T) {
	dir := t.TempDir()
	program := fakeFFmpeg(t, `printf '%s\n' "$@" >>`+dir+`/args
cmp -s /dev/fd/3 `+dir+`/wanted || { echo "not the file" >&2; exit 1; }
printf '.snd\0\0\0\034\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001note'
i=0; while [ $i -lt 800 ]; do printf '\077\0\0\0'; i=$((i+1)); done
`)
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
		{"printf 'moov atom\\033 not found\\nat all' >&2; exit 1", "moov atom not found at all"},
		{"exit 3", "exit status 3"},
		{"echo no sound here, but some text to read", "either: 6e 6f 20 73"},
		{"exit 0", "either: none"},
		{`printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'`, "either: none"},
		{`printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\0\100\0\0\0\001'`, "either: 64 Hz"},
		{"yes x | head -c 10000000 >&2; exit 1", "x x x x"},
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

// TestFFmpegFailsLate: where the program fails amid the sound, what it decoded is heard, and a
// line says why it failed. With Strict that is the error.
func TestFFmpegFailsLate(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'
printf '\077\0\0\0\077\0\0\0'; echo broken >&2; exit 1`)
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

// TestFFmpegCounts: where a header that ffmpeg does not look at counts the samples, and all of them are there, what
// ffmpeg calls corrupt is none of them.
func TestFFmpegCounts(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'
head -c 32000 /dev/zero; printf '[adx @ 0x12ab] [warning] Packet corrupt\n' >&2`)
	for states, want := range map[uint32]string{8000: "", 8032: "", 16000: "the header promises 2.00 s"} {
		name := filepath.Join(t.TempDir(), "x.adx")
		adx := binary.BigEndian.AppendUint32([]byte("\x80\x00\x00\x20\x03\x12\x04\x01\x00\x00\x1f\x40"), states)
		for _, head := range [][]byte{adx, fmt.Appendf(nil, "NIST_1A\n   1024\nsample_count -i %d\nend_head\n", states/1000*1000)} {
			if err := os.WriteFile(name, append(head, make([]byte, 4500)...), 0o666); err != nil {
				t.Fatal(err)
			}
			if got, err := warnings(t, program, name); err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%d, %.7q: %v, warnings %q, want %q", states, head, err, got, want)
			}
		}
	}
}

// warnings reads a file to its end by a program that stands for ffmpeg.
func warnings(t *testing.T, program, name string) (string, error) {
	t.Helper()
	c, err := Input{FFmpeg: program}.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = readAll(t, c)
	return strings.Join(c.Warnings(), " "), err
}

// TestFFmpegReports: times that go on where samples are missing are told, warnings that tell of
// no loss are not.
func TestFFmpegReports(t *testing.T) {
	for last, want := range map[string]string{"1.0": "", "1.18": "", "1.5": "0.40 s less than its times tell"} {
		program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'
head -c 32000 /dev/zero; printf '[x @ 0x12ab] [warning] Guessed\ntotal_size=3224\nout_time_us=0.2e6\nbitrate=N/A\ntotal_size=32024\nout_time_us=`+last+`e6\n' >&2`)
		if got, err := warnings(t, program, unreadable(t)); err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %v, warnings %q, want %q", last, err, got, want)
		}
	}
}

// TestFFmpegJoined: ffmpeg stops at the end of the first file of some formats, and says nothing.
func TestFFmpegJoined(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'; head -c 32000 /dev/zero`)
	one, err := os.ReadFile(unreadable(t))
	if err != nil {
		t.Fatal(err)
	}
	one = append(one, make([]byte, 1000)...)
	for n, want := range []string{1: "", 2: "a Windows Media file"} {
		name := filepath.Join(t.TempDir(), "x.wma")
		if err := os.WriteFile(name, bytes.Repeat(one, n), 0o666); n == 0 || err != nil {
			continue
		}
		if got, err := warnings(t, program, name); err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d files: %v, warnings %q, want %q", n, err, got, want)
		}
	}
}

// TestFFmpegFrames: a file that is nothing but frames, with a tag before them or without, is one
// file: the second frame was taken for another, of every AAC and AC-3.
func TestFFmpegFrames(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'; head -c 32000 /dev/zero`)
	bare, flac := bareFrames(), readTestdata(t, "damage/frames.flac")
	for what, frames := range bare {
		for _, tt := range []struct{ before, after, want string }{
			{"", "", ""}, {"ID3\x04\x00\x00\x00\x00\x00\x05title", "", ""}, {"", string(flac), "a FLAC file"},
		} {
			name := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(name, slices.Concat([]byte(tt.before), frames, []byte(tt.after)), 0o666); err != nil {
				t.Fatal(err)
			}
			c, err := Input{FFmpeg: program}.Open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = readAll(t, c)
			c.Close()
			if got := strings.Join(c.Warnings(), " "); err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%s between %q and %.4q: %v, warnings %q, want %q", what, tt.before, tt.after, err, got, tt.want)
			}
		}
	}
}

// TestFFmpegComplains: what the program says is not lost where it ends with status 0, as it
// does for Matroska that was cut.
func TestFFmpegComplains(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'
printf '\077\0\0\0\077\0\0\0'; echo File ended prematurely >&2`)
	for _, strict := range []bool{false, true} {
		c, err := Input{FFmpeg: program, Strict: strict}.Open(t.Context(), unreadable(t))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = readAll(t, c)
		switch {
		case strict && (err == nil || !strings.Contains(err.Error(), "prematurely")):
			t.Errorf("strict: error = %v", err)
		case !strict && (err != nil || len(c.Damaged()) != 1 || !strings.Contains(strings.Join(c.Warnings(), " "), "prematurely")):
			t.Errorf("error %v, damaged %v, warnings %q", err, c.Damaged(), c.Warnings())
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
	endless := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'; exec cat /dev/zero`)
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

// TestFFmpegBroken: what the program said is read only after its end, however a read fails.
func TestFFmpegBroken(t *testing.T) {
	chatty := fakeFFmpeg(t, `echo "and on" >&2; printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'
head -c 9000 /dev/zero; while :; do echo "and so on" >&2; done`)
	c, err := Input{FFmpeg: chatty}.Open(t.Context(), unreadable(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f := c.whole.now.mix.src.in.(*ffmpeg)
	f.file.stream.r = errReader{errors.New("broken pipe")}
	if _, err := readAll(t, c); err == nil || !strings.Contains(err.Error(), "and on") || f.cmd != nil {
		t.Errorf("error = %v, the program has ended: %t", err, f.cmd == nil)
	}
}

// realFFmpeg skips the test where the program is not installed.
func realFFmpeg(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed")
	}
}

// TestFFmpegReal reads the forms of one utterance that only ffmpeg reads.
func TestFFmpegReal(t *testing.T) {
	realFFmpeg(t)
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
	realFFmpeg(t)
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

// TestFFmpegCut: a file whose container says that more should follow is cut, whatever ffmpeg says.
func TestFFmpegCut(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'; head -c 32000 /dev/zero`)
	ogg := bytes.Replace(readTestdata(t, "damage/pages.opus"), []byte("OpusHead"), []byte("Speex   "), 1)
	states := func(head string, size uint64, rest int) []byte {
		return append(binary.LittleEndian.AppendUint64([]byte(head), size), make([]byte, rest)...)
	}
	asf := asfMagic + strings.Repeat("\x00", 22) + "\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\x00\xc0\x0c\x20\x53\x65" + strings.Repeat("\x00", 24)
	for why, tt := range map[string]struct {
		file []byte
		cut  int // bytes from the end
	}{
		"Ogg, amid a page":     {ogg, 10},
		"Ogg, before the last": {ogg, len(ogg) - bytes.LastIndex(ogg, []byte("OggS"))},
		"Windows Media":        {states(asf, uint64(len(asf)+8+1000), 1000), 500},
		"AVI":                  {states("RIFF", 1004|uint64(binary.LittleEndian.Uint32([]byte("AVI ")))<<32, 1000), 500},
	} {
		for _, cut := range []bool{false, true} {
			if cut {
				tt.file = tt.file[:len(tt.file)-tt.cut]
			}
			name := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(name, tt.file, 0o666); err != nil {
				t.Fatal(err)
			}
			c, err := Input{FFmpeg: program}.Open(t.Context(), name)
			if err != nil {
				t.Errorf("%s: %v", why, err)
				continue
			}
			_, err = readAll(t, c)
			if err != nil || c.Truncated() != cut || len(c.Warnings()) > 0 != cut {
				t.Errorf("%s, cut: %t: %v, truncated %t, %q", why, cut, err, c.Truncated(), c.Warnings())
			}
			c.Close()
		}
	}
}

// TestFFmpegTransport: a transport stream states no length. Cut amid a packet of 188 bytes,
// or amid one of MPEG's own, a line says so; cut between two, nobody can know.
func TestFFmpegTransport(t *testing.T) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("there is no ffmpeg")
	}
	name := filepath.Join(t.TempDir(), "x.ts")
	if out, err := exec.Command(program, "-v", "error", "-f", "lavfi", "-i", "sine=duration=3", "-c:a", "mp2", "-f", "mpegts", name).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(file); at > len(file)-8000; at -= 333 {
		if err := os.WriteFile(name, file[:at], 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = readAll(t, c)
		if whole := at == len(file); err != nil || whole != (len(c.Warnings()) == 0) || at%188 != 0 != c.Truncated() {
			t.Errorf("%d of %d bytes: %v, truncated %t, %q", at, len(file), err, c.Truncated(), c.Warnings())
		}
		c.Close()
	}
}
