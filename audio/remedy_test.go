package audio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemedies checks the advice in errors about files that are not read.
func TestRemedies(t *testing.T) {
	t.Setenv("PATH", "") // no ffmpeg is installed
	dir := t.TempDir()
	const m4a, wav = "\x00\x00\x00\x20ftypM4A ", "RIFF\x04\x00\x00\x00WAVEfmt "
	for _, tt := range []struct{ ffmpeg, file, content, want, not string }{
		{FFmpegAuto, "talk.m4a", m4a, "; install ffmpeg, or convert it first: ffmpeg -i " + dir + "/talk.m4a -ar 16000 -ac 1 out.wav", "FILE"},
		{FFmpegAuto, "my talk's.m4a", m4a, `talk'\''s.m4a' -ar 16000`, "FILE"},
		{FFmpegAuto, "cut.wav", wav, "; copy or export it again, or try: ffmpeg -i", "install"},
		{FFmpegNever, "talk.m4a", m4a, "is an MP4 or M4A file, want WAV", "ffmpeg"},
		{FFmpegNever, "talk.m4a", m4a, "; convert it to WAV or FLAC first", "ffmpeg"},
		{FFmpegNever, "cut.wav", wav, "; copy or export it again", "ffmpeg"},
		{FFmpegAuto, "notes.txt", "Grüße, this is no sound", "is a text file", "47 72"},
		{FFmpegAuto, "notes.txt", "Grüße, this is no sound", "is a text file, want WAV", "ffmpeg"},
		{FFmpegNever, "notes.txt", "Grüße, this is no sound", "is a text file, want WAV", "ffmpeg"},
		{FFmpegAuto, "random.bin", "\x01\x02\x03\xff\xfe", "begins with 01 02 03", "text"},
		{FFmpegAuto, "empty.wav", "", "the file is empty", "ffmpeg"},
	} {
		name := filepath.Join(dir, tt.file)
		if err := os.WriteFile(name, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Input{FFmpeg: tt.ffmpeg}.Open(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), tt.not) {
			t.Errorf("%s: %v, want %q without %q", tt.file, err, tt.want, tt.not)
		}
	}
	_, err := Input{FFmpeg: filepath.Join(dir, "absent")}.Open(t.Context(), filepath.Join(dir, "talk.m4a"))
	if err == nil || !strings.HasSuffix(err.Error(), "; want auto, never or the path of the program") {
		t.Errorf("error %v", err)
	}
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	_, err = Input{}.OpenReader(t.Context(), "standard input", folder)
	if want := "standard input: is a directory, want a sound file"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	_, err = Open(t.Context(), filepath.Join(dir, "absent.wav"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), "absent.wav: there is no such sound file") {
		t.Errorf("error %v", err)
	}
}
