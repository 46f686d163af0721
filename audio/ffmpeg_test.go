package audio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// TestFFmpegSays: of what ffmpeg says by the way, what tells of lost sound is told.
func TestFFmpegSays(t *testing.T) {
	for says, told := range map[string]bool{
		"[ogg @ 0x12ab] [info] 678 bytes of comment header remain": false, "[aac @ 0x12ab] [info] Assuming an incorrectly encoded 7.1 channel layout": false,
		"[mp3float @ 0x12ab] [info] overread, skip -9 enddists: -6 -6": true, "[mp3 @ 0x12ab] [info] Skipping 128 bytes of junk at 0.": true, "[ac3 @ 0x12ab] [error] frame CRC mismatch": true,
		"[mlp @ 0x12ab] [warning] Lossless check failed - expected af, calculated 1c.": true, "[mlp @ 0x12ab] [warning] Guessed": false,
	} {
		if got, err := warnings(t, fakeFFmpeg(t, "echo '"+says+"' >&2; "+oneSecond), unreadable(t)); err != nil || (got != "") != told {
			t.Errorf("%s: %v, warnings %q", says, err, got)
		}
	}
}

// TestFFmpegRest: what lies behind the end that a file states may be sound, unless it is a tag or padding.
func TestFFmpegRest(t *testing.T) {
	voc := "Creative Voice File\x1a\x1a\x00\x14\x01\x1f\x11\x09\xe8\x03\x00" + strings.Repeat("a", 1000)
	const cluster = "\x1f\x43\xb6\x75\x80"
	more, mka := strings.Repeat("more", 10), "\x1a\x45\xdf\xa3\x8b\x42\x82\x88matroska\x18\x53\x80\x67\x99\x16\x54\xae\x6b\x8f\xae\x8d\xd7\x81\x01\x83\x81\x02\x86\x85A_AAC"+cluster
	for why, tt := range map[string]struct {
		file string
		told bool
	}{
		"Creative": {voc + "\x00", false}, "Creative, by sox": {voc + "12345678\x00", false}, "Creative and zeros": {voc + strings.Repeat("\x00", 100), false},
		"Creative, a size is wrong": {voc + "\x00" + more, true}, "Creative, another is": {voc + more, true},
		"Matroska": {mka, false}, "Matroska and zeros": {mka + strings.Repeat("\x00", 100), false}, "Matroska and a table": {mka + "\x1c\x53\xbb\x6b\x82ab", false},
		"Matroska and more": {mka + more, true}, "Matroska and a cluster behind a table": {mka + "\x1c\x53\xbb\x6b\x82ab" + cluster, true},
		"MP4 and a tag": {string(mp4("ftyp", "M4A ", "moov", "", "mdat", "sound")) + "TAGhello" + strings.Repeat("\x00", 120), false},
		"MP4 and more":  {string(mp4("ftyp", "M4A ", "moov", "", "mdat", "sound")) + more, true},
	} {
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, []byte(tt.file), 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := Input{FFmpeg: fakeFFmpeg(t, oneSecond)}.Open(t.Context(), name)
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		if _, err := readAll(t, c); err != nil || c.Truncated() != tt.told || len(c.Warnings()) > 0 != tt.told {
			t.Errorf("%s: %v, truncated %t, %q", why, err, c.Truncated(), c.Warnings())
		}
		c.Close()
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
	ogg := speex(t)
	states := func(head string, size uint64, rest int) []byte {
		return append(binary.LittleEndian.AppendUint64([]byte(head), size), make([]byte, rest)...)
	}
	sound := strings.Repeat("\x00", 1000)
	asf := asfMagic + strings.Repeat("\x00", 22) + "\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\x00\xc0\x0c\x20\x53\x65" + strings.Repeat("\x00", 24)
	for why, tt := range map[string]struct {
		file []byte
		cut  int // bytes from the end
	}{
		"Ogg, amid a page":     {ogg, 10},
		"Ogg, before the last": {ogg, len(ogg) - bytes.LastIndex(ogg, []byte("OggS"))},
		"Windows Media":        {states(asf, uint64(len(asf)+8+1000), 1000), 500},
		"AVI":                  {states("RIFF", 1004|uint64(binary.LittleEndian.Uint32([]byte("AVI ")))<<32, 1000), 500},
		"Wave64":               {states("riff\x2e\x91\xcf\x11"+strings.Repeat("\x00", 8), 1024, 1000), 500},
		"8SVX":                 {append([]byte("FORM\x00\x00\x03\xe88SVX"), make([]byte, 996)...), 1},
		"MP4":                  {mp4("ftyp", "", "moov", "", "mdat", sound), 300},
		"fragments":            {mp4("ftyp", "", "moof", "", "mdat", sound, "moof", "", "mdat", sound), 50},
		"QuickTime":            {mp4("wide", "", "mdat", sound, "moov", sound), 50},
		"RealMedia":            {append([]byte(".RMF\x00\x00\x00\x12"+strings.Repeat("\x00", 10)+"DATA\x00\x00\x03\xe8"), make([]byte, 982)...), 5},
		"Creative, its end":    {slices.Concat([]byte("Creative Voice File\x1a\x1a\x00\x14\x01\x1f\x11\x09\xe8\x03\x00"), make([]byte, 1001)), 1},
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

// speex returns an Ogg file of pages whose codec is not known here.
func speex(t *testing.T) []byte {
	b := bytes.Replace(readTestdata(t, "damage/pages.opus"), []byte("OpusHead"), []byte("Speex   "), 1)
	reseal(b, 0)
	return b
}

// TestFFmpegOgg: a page is missing that ffmpeg passes over, since its first bytes are damaged.
func TestFFmpegOgg(t *testing.T) {
	program := fakeFFmpeg(t, `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'; head -c 32000 /dev/zero`)
	file, name := speex(t), filepath.Join(t.TempDir(), "x")
	said := func(b []byte) string {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := warnings(t, program, name)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := said(slices.Concat(file, file, file)); got != "" {
		t.Errorf("whole: %q", got)
	}
	other := renumbered(file)
	for at := oggSize(file); at < len(file); at += oggSize(file[at:]) {
		damaged := bytes.Clone(file)
		clear(damaged[at : at+4])
		for _, b := range [][]byte{damaged, slices.Concat(damaged, file), slices.Concat(file, damaged), slices.Concat(file, file[at:]), slices.Concat(file, other[at:])} {
			if said(b) == "" {
				t.Errorf("page at byte %d: no warning of %d bytes", at, len(b))
			}
		}
	}
}

// mp4 returns boxes, each of a type and its content.
func mp4(boxes ...string) (b []byte) {
	for i := 0; i < len(boxes); i += 2 {
		b = binary.BigEndian.AppendUint32(b, uint32(8+len(boxes[i+1])))
		b = append(b, boxes[i]+boxes[i+1]...)
	}
	return b
}

const oneSecond = `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'; head -c 32000 /dev/zero
`

// TestFFmpegFragments: a fragment of MP4 whose size is wrong hides those behind it, and ffmpeg says nothing.
func TestFFmpegFragments(t *testing.T) {
	sound := strings.Repeat("abcd", 250)
	whole := mp4("ftyp", "isom", "moov", "", "moof", "", "mdat", sound, "moof", "", "mdat", sound)
	for wrong, told := range map[string]bool{"\x00\x00\x03\xf0mdat": false, "\x00\x00\x03\x12mdat": true, "\x00\x00\x04\x12mdat": true, "\x00\x01\x03\xf0mdat": true} {
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, bytes.Replace(whole, []byte("\x00\x00\x03\xf0mdat"), []byte(wrong), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := warnings(t, fakeFFmpeg(t, oneSecond), name); err != nil || (got != "") != told {
			t.Errorf("%q: %v, warnings %q", wrong, err, got)
		}
	}
}

// TestFFmpegStates: the length that ffmpeg read in a header is what was promised, unless ffmpeg guessed it by the
// size, or another stream, such as pictures, is as long.
func TestFFmpegStates(t *testing.T) {
	for _, tt := range []struct{ says, reached, want string }{
		{"[info]   Duration: 00:00:01.08, start: 0.000000", "1", ""},
		{"[info]   Duration: N/A, start: 0.000000", "1", ""},
		{"[info]     title           : Duration: 01:00:00.00", "1", ""},
		{"[info]   Duration: 00:01:01.50, start: 0.000000", "1", "promises 61.50 s, the file ends after 1.00 s"},
		{"[info]   Duration: 00:01:01.50, start: 0.000000", "61.5", ""},
		{"[info]   Duration: 00:00:01.22, start: 0.138125, bitrate: 16 kb/s", "1.08", ""}, // delay and padding of MP3 at 8 kHz
		{"[info]   Duration: 00:00:02.48, start: 1.478000", "1", ""},                      // the sound begins late
		{"[info]   Duration: 00:00:03.50, start: 1.478000", "1", "promises 2.02 s, the file ends after 1.00 s"},
		{"[info]   Duration: 00:00:06.00, start: 0.000000", "5.7", ""}, // pictures of which the last has no length
		{"[info]   Duration: 00:00:06.00, start: 0.000000", "4.7", "promises 6.00 s"},
		{"[warning] Estimating duration from bitrate, this may be inaccurate\n[info]   Duration: 00:01:01.50, start: 0.0", "1", ""},
	} {
		program := fakeFFmpeg(t, `case "$*" in *copy*) printf 'total_size=N/A\nout_time_us=`+tt.reached+`e6\n' >&2; exit;; esac
printf '`+tt.says+`\n' >&2; `+oneSecond)
		if got, err := warnings(t, program, unreadable(t)); err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s, %s: %v, warnings %q", tt.says, tt.reached, err, got)
		}
	}
}

// TestFFmpegCovers: what lies beside the sound is no other file, whatever it begins like.
func TestFFmpegCovers(t *testing.T) {
	size := func(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	covers := []string{"\x00\x00\x00\x1cftypavif", "\xff\xd8\xff\xe0\x00\x10JFIF", "\x89PNG\r\n\x1a\n", "no picture", string(noiseWAV()), string(readTestdata(t, "damage/notag.mp3"))}
	for _, cover := range covers {
		cover += strings.Repeat("\x00", 40)
		for what, file := range map[string]string{
			"MP4":        string(mp4("ftyp", "M4A ", "moov", cover, "mdat", "sound")),
			"at its end": string(mp4("ftyp", "M4A ", "mdat", "sound", "moov", cover)),
			"WMA":        asfMagic + "12345678" + size(24+len(cover)) + "\x00\x00\x00\x00" + cover,
			"WavPack":    "wvpk" + size(24+len(cover)) + strings.Repeat("\x00", 24) + cover,
			"APE":        "MAC \x96\x0f\x00\x00" + size(52) + size(24) + size(0) + size(len(cover)) + strings.Repeat("\x00", 52) + cover,
		} {
			name := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(name, []byte(file), 0o666); err != nil {
				t.Fatal(err)
			}
			if got, err := warnings(t, fakeFFmpeg(t, oneSecond), name); err != nil || got != "" {
				t.Errorf("%s, %.12q: %v, warnings %q", what, cover, err, got)
			}
		}
	}
}

// TestFFmpegBehind: a file behind one that ffmpeg reads is told, also frames of MP3, which other containers hold.
func TestFFmpegBehind(t *testing.T) {
	w64 := "riff\x2e\x91\xcf\x11" + strings.Repeat("\x00", 8) + "\x18\x04\x00\x00\x00\x00\x00\x00"
	for what, first := range map[string]string{
		"Wave64": w64, "MP4": string(mp4("ftyp", "M4A ", "moov", "")), "Flash": "FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00\x08\x00\x03\xfc", "RealMedia": ".RMF\x00\x00\x04\x18", "SoX": ".SoX\x20",
		"ADX": "\x80\x00\x00\x20\x03\x12\x04\x01\x00\x00\x1f\x40", "NIST": "NIST_1A\n   1024\n", "Creative": "Creative Voice File\x1a\x1a\x00\x14\x01\x1f\x11\x09\xfa\x03\x00", "DTS": "\x7f\xfe\x80\x01", "Psion": "ALawSoundFile**", "SMAF": "MMMD\x00\x00\x04\x10",
	} {
		first += strings.Repeat("\x00", 1048-len(first))
		for _, second := range []string{"", "the same", "damage/notag.mp3", "damage/tiny.wav", "damage/frames.flac", "damage/pages.ogg"} {
			b := []byte(first)
			switch second {
			case "":
			case "the same":
				if what == "DTS" || what == "SMAF" { // nothing tells them from other bytes
					continue
				}
				b = append(b, first...)
			default:
				b = append(b, readTestdata(t, second)...)
			}
			name := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
			if got, err := warnings(t, fakeFFmpeg(t, oneSecond), name); err != nil || strings.Contains(got, "cannot be read: got a") != (second != "") {
				t.Errorf("%s then %s: %v, warnings %q", what, second, err, got)
			}
		}
	}
}

// TestFFmpegEndless: of an endless stream of nothing, no more is kept than ffmpeg looks at.
func TestFFmpegEndless(t *testing.T) {
	for says, all := range map[string]bool{"file:/dev/fd/3: Invalid data found when processing input": false, "[roq @ 0x12] [error] Format not on whitelist": false, "[mov,mp4 @ 0x12] [error] moov atom not found": true} {
		noise := &nothing{left: 3 * maxUnknown}
		_, err := Input{FFmpeg: fakeFFmpeg(t, "echo '"+says+"' >&2; exit 1")}.OpenReader(t.Context(), "-", noise)
		if !errors.Is(err, ErrUnsupported) || (noise.left == 0) != all || noise.left < maxUnknown && !all {
			t.Errorf("%s: %v, %d bytes not read", says, err, noise.left)
		}
	}
}

// A nothing has so many bytes of no format.
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

// TestFFmpegContainers makes a file of each container here: as it is there is no warning, cut there is one, unless
// the container states no length and the cut lies between two of its pieces.
func TestFFmpegContainers(t *testing.T) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("there is no ffmpeg")
	}
	pictures := "-f lavfi -i testsrc=s=64x48:r=25:d=3 -map 1 -map 0 "
	for name, args := range map[string]string{
		"aac.m4a": "", "fast.m4a": "-movflags +faststart", "alac.m4a": "-c:a alac", "opus.mp4": "-c:a libopus", "pcm.mov": "-c:a pcm_s16le", "aac.3gp": "-c:a aac",
		"dash.mp4": "-movflags +dash+global_sidx -frag_duration 500000", "v.mp4": pictures + "-c:v mpeg4 -movflags +faststart", "v.mov": pictures + "-c:v mpeg4", "a.ismv": "",
		"a.wma": "-c:a wmav2", "pcm.avi": "-c:a pcm_s16le", "v.avi": pictures + "-c:v mpeg4 -c:a mp2", "aac.flv": "-c:a aac", "v.flv": pictures + "-c:v flv -c:a aac", "a.f4v": "",
		"ac3.rm": "-c:a ac3", "144.ra": "-c:a real_144 -ac 1 -ar 8000 -f rm", "v.rm": pictures + "-c:v rv10 -c:a ac3", "a.w64": "", "ima.w64": "-c:a adpcm_ima_wav", "ima.wav": "-c:a adpcm_ima_wav", "ms.wav": "-rf64 always -c:a adpcm_ms",
		"alac.caf": "-c:a alac", "ima.caf": "-c:a adpcm_ima_qt", "a.sox": "", "a.voc": "", "a.ast": "-c:a pcm_s16be_planar", "a.mmf": "-ar 8000 -c:a adpcm_yamaha",
		"aac.mka": "-c:a aac", "tta.mka": "-c:a tta", "a.tta": "", "a.wv": "", "aac.nut": "-c:a aac", "v.mxf": pictures + "-ar 48000", "op.mxf": "-ar 48000 -f mxf_opatom",
		"a.adx": "", "a.apm": "", "ima.aiff": "-c:a adpcm_ima_qt", "a.spx": "-c:a libspeex -ar 16000", "a.wtv": "-c:a mp2",
		"alac11.caf": "-c:a alac -ar 11025", "xing8.mp3": "-ar 8000 -b:a 32k", "late.mov": "-output_ts_offset 1.5", "24.w64": "-ar 22050 -ac 2 -c:a pcm_s24le", "7.1.m4a": "-ac 8", "aac.mkv": pictures + "-c:v mpeg4 -c:a aac",
		"a.aac": "none", "a.ac3": "none", "a.ts": "none -c:a aac", "a.mp2": "none", "a.dts": "none -strict -2 -c:a dca -ar 48000", "a.mpg": "none -c:a mp2", "a.gsm": "none -ar 8000", "a.sf": "none -f ircam",
	} {
		args, silent := strings.CutPrefix(args, "none")
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			args := strings.Fields("-v error -f lavfi -i sine=duration=3:sample_rate=16000 " + args)
			if out, err := exec.Command(program, append(args, path)...).CombinedOutput(); err != nil {
				t.Skipf("%s: %s", err, out) // another build has other encoders
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := warnings(t, program, path); err != nil || got != "" {
				t.Fatalf("whole: %v, warnings %q", err, got)
			}
			if err := os.WriteFile(path, file[:len(file)*6/10], 0o666); err != nil {
				t.Fatal(err)
			}
			c, err := Open(t.Context(), path)
			if errors.Is(err, ErrUnsupported) { // said as well
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := readAll(t, c); err != nil || !silent && len(c.Damaged()) == 0 && !c.Truncated() {
				t.Errorf("cut: %v, damaged %v, truncated %t, warnings %q", err, c.Damaged(), c.Truncated(), c.Warnings())
			}
		})
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
