package audio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemedies checks what errors about files that are not read advise.
func TestRemedies(t *testing.T) {
	t.Setenv("PATH", "") // no ffmpeg is installed
	dir := t.TempDir()
	const m4a, wav = "\x00\x00\x00\x20ftypM4A ", "RIFF\x04\x00\x00\x00WAVEfmt "
	install := "; install ffmpeg to read it: " + installFFmpeg()
	for _, tt := range []struct{ ffmpeg, file, content, want string }{
		{FFmpegAuto, "talk.m4a", m4a, "is an MP4 or M4A file" + install},
		{FFmpegAuto, "memo.qta", "\x00\x00\x00\x08wide", "is a QuickTime file" + install},
		{FFmpegNever, "talk.m4a", m4a, "is an MP4 or M4A file; convert it to WAV or FLAC first"},
		{FFmpegAuto, "talk.sph", "NIST_1A\n   1024\nsample_count -i 30400\n", "is a NIST SPHERE file" + install},
		{FFmpegAuto, "adpcm.wav", string(riff(chunk("fmt ", fmtBody(2, 1, 8000, 4)), chunk("data", nil))), "got 0x0002, want PCM, float, A-law or mu-law" + install},
		{FFmpegAuto, "cut.wav", wav, "want sound after the header; copy or export it again"},
		{FFmpegNever, "notes.txt", "Grüße, this is no sound", "notes.txt: is a text file, not a sound file"},
		{FFmpegAuto, "fake.mp3", "Grüße, this is no sound", "fake.mp3: is a text file, not a sound file"},
		{FFmpegAuto, "talk.pdf", "%PDF-1.4", "talk.pdf: is a PDF document, not a sound file"},
		{FFmpegAuto, "random.bin", "\x01\x02\x03\xff\xfe", "is a file of no known format, which begins with 01 02 03 ff fe" + install},
		{FFmpegAuto, "empty.wav", "", "empty.wav: is empty; record or copy it again"},
		{filepath.Join(dir, "absent"), "talk.m4a", m4a, "; want auto, never or the path of the program"},
	} {
		name := filepath.Join(dir, tt.file)
		if err := os.WriteFile(name, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Input{FFmpeg: tt.ffmpeg}.Open(t.Context(), name)
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) || strings.Count(err.Error(), name) != 1 {
			t.Errorf("%s: %v, want %q", tt.file, err, tt.want)
		}
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
