package audio

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// TestEndings: every ending is listed once, and what ffmpeg writes under one can be opened.
func TestEndings(t *testing.T) {
	all := Endings()
	for i, e := range all {
		if e != strings.ToLower(e) || strings.HasPrefix(e, ".") || slices.Index(all, e) != i {
			t.Errorf("ending %q", e)
		}
		if !HasEnding("A."+strings.ToUpper(e)) || HasEnding(e) {
			t.Errorf("%s is not recognized", e)
		}
	}
	for _, name := range []string{"a.txt", "a.srt", "a.json", "a.jpg", "a", "a.wav.part", "a.g722", "a.xm", "go.mod", "a.m3u8"} {
		if HasEnding(name) {
			t.Errorf("%s counts as sound", name)
		}
	}
	needs.Program(t, "ffmpeg")
	for _, e := range []string{
		"wav", "flac", "mp3", "ogg", "opus", "webm", "mka", "mkv", "aiff", "caf", "au", "w64", "mp4", "m4a", "m4b", "m4v", "mov",
		"3gp", "3g2", "aac", "mp2", "mpg", "vob", "ts", "m2ts", "mts", "wma", "wmv", "asf", "avi", "flv", "ogv", "ac3", "eac3",
		"dts", "wv", "tta", "voc", "rm", "latm", "mxf", "oma", "gsm", "thd", "mlp", "spx",
		"nut", "sox", "wtv", "ircam", "dv", "gxf", "isma", "c2", "spdif", "swf", "dvd",
	} {
		path := filepath.Join(t.TempDir(), "a."+e)
		rate, channels, more := "48000", "2", []string{}
		switch e {
		case "3gp", "3g2", "swf":
			rate = "44100"
		case "c2":
			rate, channels = "8000", "1"
		case "gxf":
			channels, more = "1", []string{"-c:a", "pcm_s16le"}
		case "dv":
			more = []string{"-f", "lavfi", "-i", "color=s=720x576:r=25:d=1", "-target", "pal-dv"}
		}
		args := slices.Concat([]string{"-v", "error", "-f", "lavfi", "-i", "sine=duration=2"}, more,
			[]string{"-ac", channels, "-ar", rate, "-strict", "-2", path})
		err := exec.Command("ffmpeg", args...).Run()
		if info, missing := os.Stat(path); err != nil || missing != nil || info.Size() == 0 {
			continue // this ffmpeg does not write the format
		}
		if !HasEnding(path) {
			t.Errorf("%s is missing", e)
		}
		clip, err := Input{}.Open(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", e, err)
			continue
		}
		clip.Close()
	}
}
