package audio

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// TestChooseTrack: a number chooses; without one it is the default track, else the first.
func TestChooseTrack(t *testing.T) {
	film, plain := []Track{{Number: 1}, {Number: 2, Default: true}}, []Track{{Number: 1}, {Number: 2}}
	for _, tt := range []struct {
		tracks     []Track
		want, read int // 0: an error
	}{{film, 0, 2}, {plain, 0, 1}, {film, 1, 1}, {plain, 2, 2}, {film, 3, 0}, {plain[:1], 1, 1}, {plain[:1], 2, 0}} {
		i, err := chooseTrack(tt.tracks, tt.want)
		if wrong := new(TrackError); tt.read == 0 && !errors.As(err, &wrong) || tt.read > 0 && (err != nil || i != tt.read-1) {
			t.Errorf("%d of %v: track %d, %v; want %d", tt.want, tt.tracks, i+1, err, tt.read)
		}
	}
}

// TestMedia reads ffmpeg's description of a file with programs, long tags and tags that look like tracks.
func TestMedia(t *testing.T) {
	var m media
	text := strings.Join([]string{
		"Input #0, mpegts, from 'x':", "  Metadata:", "    comment         : " + strings.Repeat("x", 1<<20), "                    :   Stream #0:9: Audio: aac",
		"  Duration: 00:00:08.00, start: 1.600000, bitrate: 14 kb/s", "  Program 1 ", "    Metadata:", "      title           : News",
		"  Stream #0:2[0x102](eng): Audio: mp2 ([3][0][0][0] / 0x0003), 48000 Hz, mono, s16p, 384 kb/s (default)", "    Metadata:",
		"      title           : Comments", "  Stream #0:0[0x100]: Video: mpeg2video (Main), yuv420p", "      title           : Picture",
		"  Program 2 ", "  Stream #0:2[0x102](eng): Audio: mp2", "  Stream #0:1[0x101](und): Audio: aac (LC), 44100 Hz", "At least one output file must be specified", "",
	}, "\n")
	w := &lineWriter{add: m.add}
	for part := range slices.Chunk([]byte(text), 1000) {
		w.Write(part)
	}
	want := []Track{{1, "aac", "", "", false}, {2, "mp2", "eng", "Comments", true}}
	if m.format != "mpegts" || m.start != 1.6 || m.begin() != 1.6 || !slices.Equal(m.tracks, want) {
		t.Errorf("%s from %v s, tracks %q %v", m.format, m.start, m.tracks, m.streams)
	}
}

// makeFile makes a file with ffmpeg.
func makeFile(t *testing.T, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args = append(append([]string{"-nostdin", "-v", "error"}, args...), path)
	if out, err := exec.Command("ffmpeg", args...).CombinedOutput(); err != nil {
		t.Skipf("needs an encoder of ffmpeg: ffmpeg %q: %v %s", args, err, out)
	}
	return path
}

// TestFFmpegShort: a file that ffmpeg reads is shorter than it states. ffmpeg says nothing about it.
func TestFFmpegShort(t *testing.T) {
	needs.Program(t, "ffmpeg")
	for name, args := range map[string]string{"x.aiff": "-c:a adpcm_ima_qt", "x.flv": "-c:a libmp3lame", "x.m4a": "-c:a aac"} {
		path := makeFile(t, name, strings.Fields("-f lavfi -i sine=d=4:sample_rate=44100 "+args)...)
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []bool{false, name != "x.m4a"} {
			if cut {
				if err := os.WriteFile(path, file[:len(file)*6/10], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := Input{}.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := readAll(t, c); err != nil || c.Truncated() != cut {
				t.Errorf("%s, cut %t: truncated %t, %v, %q", name, cut, c.Truncated(), err, c.Warnings())
			}
			c.Close()
		}
	}
}

// TestFFmpegTracks: of several audio tracks one is read.
func TestFFmpegTracks(t *testing.T) {
	needs.Program(t, "ffmpeg")
	film := makeFile(t, "x.mkv", strings.Fields("-f lavfi -i sine=d=1:sample_rate=48000 -f lavfi -i sine=d=2 -map 0 -map 1 -c:a libopus "+
		"-metadata:s:a:0 language=ger -metadata:s:a:1 language=eng -metadata:s:a:1 title=Comments -disposition:a:0 0 -disposition:a:1 default")...)
	for want, seconds := range []float64{2, 1, 2} {
		c, err := Input{Track: want, CommonFormatsOnly: true}.Open(t.Context(), film)
		if err != nil {
			t.Fatal(err)
		}
		pcm, err := readAll(t, c)
		if got := float64(len(pcm)) / SampleRate; err != nil || !(math.Abs(got-seconds) < 0.05) {
			t.Errorf("track %d: %.2f s, %v; want %v", want, got, err, seconds)
		}
		if list, _ := c.Tracks(); len(list) != 2 || list[0].Language != "ger" || list[1].String() != "2 (eng, Comments)" || !list[1].Default {
			t.Errorf("tracks %v", list)
		}
		if got := c.TrackChoice(); want == 0 && got != "audio track 2 (eng, Comments) of 2 is read" {
			t.Errorf("%q", got)
		}
		c.Close()
	}
	avi := makeFile(t, "x.avi", "-i", film, "-c:a", "mp2")
	if _, err := (Input{CommonFormatsOnly: true}).Open(t.Context(), avi); err == nil || !strings.HasSuffix(err.Error(), "is an AVI video; convert it to WAV or FLAC first") {
		t.Errorf("a format that ffmpeg may not read: %v", err)
	}
	if _, err := Open(t.Context(), makeFile(t, "x.mp4", "-f", "lavfi", "-i", "color=s=64x64:r=5:d=1")); !errors.Is(err, ErrNoSound) {
		t.Errorf("a picture alone: %v", err)
	}
}
