package audio

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// TestChooseTrack: a number or a language chooses; nothing means the default track, else the first.
func TestChooseTrack(t *testing.T) {
	film := []Track{{1, "", "ger", "", false}, {2, "", "eng", "", true}, {3, "", "en-GB", "Comments", false}, {4, "", "", "", false}}
	plain := []Track{{1, "", "ger", "", false}, {2, "", "eng", "", false}}
	single, known := []Track{{Number: 1}}, []Track{{1, "", "fre", "", true}}
	for _, tt := range []struct {
		tracks []Track
		want   string
		number int // 0: an error
	}{
		{film, "", 2}, {plain, "", 1}, {single, "", 1}, {known, "", 1},
		{film, "1", 1}, {film, "4", 4}, {film, "5", 0}, {film, "0", 0}, {single, "1", 1}, {single, "2", 0},
		{film, "de", 1}, {film, "deu", 1}, {film, "GER", 1}, {film, "de-AT", 1}, {film, "en", 2}, {film, "en-GB", 3}, {film, "en-US", 2},
		{film, "fr", 0}, {known, "fr", 1}, {known, "de", 0}, {single, "de", 1}, {plain, "zz", 0},
	} {
		i, err := chooseTrack(tt.tracks, tt.want)
		if wrong := new(TrackError); tt.number == 0 && !errors.As(err, &wrong) || tt.number > 0 && (err != nil || i != tt.number-1) {
			t.Errorf("%q of %v: track %d, %v; want %d", tt.want, tt.tracks, i+1, err, tt.number)
		}
	}
	for text, ok := range map[string]bool{"": true, "1": true, "100": true, "101": false, "-1": false, "1e3": false, "de": true, "pt-BR": true, "Deutsch!": false} {
		if (CheckTrack(text) == nil) != ok {
			t.Errorf("CheckTrack(%q) = %v", text, CheckTrack(text))
		}
	}
}

// TestMatroskaTracks: the tracks of a file are listed as it states them, and the one that is chosen is decoded.
func TestMatroskaTracks(t *testing.T) {
	sound := func(n uint64, more ...[]byte) []byte {
		return mkvSound(n, "A_PCM/FLOAT/IEEE", nil, append(more, mkvFloats(SampleRate))...)
	}
	file := mkvFile(
		sound(7, ebml(mkvLanguage, []byte("ger")), ebmlInt(mkvDefault, 0), ebml(mkvName, []byte("Ton\x1b[2J"))),
		sound(8, ebml(mkvLanguageTag, []byte("pt-BR")), ebml(mkvLanguage, []byte("por"))),
		sound(9, ebmlInt(mkvDefault, 0), ebml(mkvLanguage, []byte("und"))),
		sound(10, ebmlInt(mkvDefault, 0)),
	)
	file = append(file, mkvClusterOf(0, simpleBlock(7, 0, []byte{0, 0, 0, 0x3f}), simpleBlock(8, 0, []byte{0, 0, 0x80, 0x3e}),
		simpleBlock(9, 0, []byte{0, 0, 0, 0x3e}), simpleBlock(10, 0, []byte{0, 0, 0x80, 0x3d}))...)
	for want, sample := range map[string]float64{"": 0.25, "1": 0.5, "2": 0.25, "3": 0.125, "de": 0.5, "pt": 0.25, "en": 0.0625} {
		h := decodeAll(file, Input{Track: want})
		if h.err != nil || !slices.Equal(h.samples, []float64{sample}) {
			t.Errorf("track %q: %v, %v; want %v", want, h.samples, h.err, sample)
		}
	}
	h := decodeAll(file, Input{})
	list, read := h.clip.Tracks()
	codec := "A_PCM/FLOAT/IEEE"
	want := []Track{{1, codec, "ger", `Ton\x1b[2J`, false}, {2, codec, "pt-BR", "", true}, {3, codec, "", "", false}, {4, codec, "eng", "", false}}
	if !slices.Equal(list, want) || read != 1 {
		t.Errorf("tracks %q, %d; want %q", list, read, want)
	}
	if got, want := h.clip.TrackChoice(), `audio track 2 (pt-BR) of 4 is read; the others are 1 (ger, Ton\x1b[2J), 3, 4 (eng)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if h := decodeAll(file, Input{Track: "fr"}); h.err == nil || !strings.Contains(h.err.Error(), `no audio track fr, want 1 (ger`) {
		t.Errorf("error %v", h.err)
	}
	for _, picture := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff\xe0", "GIF89a"} {
		if h := decodeAll([]byte(picture), Input{}); !errors.Is(h.err, ErrNoSound) {
			t.Errorf("%q: %v", picture, h.err)
		}
	}
	if h := decodeAll(mkvFile(), Input{}); !errors.Is(h.err, ErrNoSound) {
		t.Errorf("no track: %v", h.err)
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
	for part := range slices.Chunk([]byte(text), 1000) {
		m.Write(part)
	}
	want := []Track{{1, "aac", "", "", false}, {2, "mp2", "eng", "Comments", true}}
	if m.format != "mpegts" || m.start != 1.6 || m.begin() != 1.6 || !slices.Equal(m.tracks, want) || m.stream(1) != "0:2" {
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

// TestFFmpegTracks: of a file that ffmpeg reads, the same track is chosen as of one that is read here.
func TestFFmpegTracks(t *testing.T) {
	needs.Program(t, "ffmpeg")
	name := needs.SharedFile(t, "reports/two.mka")
	for want, seconds := range map[string]float64{"": 1.9, "1": 3.03, "de": 3.03, "en": 1.9} {
		for _, codec := range []string{"copy", "aac"} {
			path := makeFile(t, "x.mkv", "-i", name, "-map", "0", "-c:a", codec)
			c, err := Input{Track: want}.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			pcm, err := readAll(t, c)
			if got := float64(len(pcm)) / SampleRate; err != nil || got < seconds-0.1 || got > seconds+0.2 {
				t.Errorf("%s, track %q: %.2f s, %v; want %.2f", codec, want, got, err, seconds)
			}
			if list, _ := c.Tracks(); len(list) != 2 || list[0].Language != "ger" || list[1].Language != "eng" || !list[1].Default {
				t.Errorf("%s: tracks %v", codec, list)
			}
			c.Close()
		}
	}
	film := makeFile(t, "x.mkv", "-i", name, "-c:a", "aac")
	if _, err := (Input{PhoneFormatsOnly: true}).Open(t.Context(), film); err == nil || !strings.Contains(err.Error(), "; convert it first, if it has sound: ffmpeg -i") {
		t.Errorf("a format that ffmpeg may not read: %v", err)
	}
	if _, err := Open(t.Context(), makeFile(t, "x.mp4", "-f", "lavfi", "-i", "color=s=64x64:r=5:d=1")); !errors.Is(err, ErrNoSound) {
		t.Errorf("a picture alone: %v", err)
	}
}
