package text

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"verity/cmd/internal/cli"
	"verity/transcribe"
	"verity/transcript"
)

// TestWatch: a file is transcribed once, when it is complete, and again only if it has failed
// and then changed.
func TestWatch(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	var stderr bytes.Buffer
	begin := func() *watchCommand {
		w := &watchCommand{fileRun: fileRun{Run: cli.Run{Env: cli.Env{Err: &stderr}}}}
		w.root, w.dir, w.recursive, w.seen, w.reported = in, out, true, map[string]fileState{}, map[string]bool{}
		return w
	}
	w, now := begin(), time.Now()
	write := func(dir, name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scan := func(why string, seconds float64, want ...string) {
		t.Helper()
		now = now.Add(time.Duration(seconds * float64(time.Second)))
		var got []string
		for _, name := range w.scan(now) {
			below, _ := filepath.Rel(in, name)
			got = append(got, filepath.ToSlash(below))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
	}
	write(in, "a.wav", "1")
	write(in, "empty.wav", "")
	write(in, ".part.wav", "1")
	write(in, "notes.txt", "1")
	scan("just seen", 0)
	scan("too soon", 4)
	write(in, "a.wav", "12")
	scan("it grows", 2)
	write(in, "deep/b.flac", "1")
	scan("too soon after it has grown", 4)
	scan("whole", 1.5, "a.wav")
	w.markFailed([]string{filepath.Join(in, "a.wav")}, now) // no output
	scan("it has failed; the other is whole", 4, "deep/b.flac")
	write(out, "deep/b.txt", "done")
	w.markFailed([]string{filepath.Join(in, "deep", "b.flac")}, now)
	scan("nothing to do", 100)
	write(in, "a.wav", "123")
	scan("it has changed", 0)
	scan("whole again", 6, "a.wav")

	w = begin() // a restart
	scan("after a restart", 0)
	scan("what is not done", 6, "a.wav")
	write(in, "a.mp3", "1")
	scan("one of the same name: the text of both gets another", 0, "a.wav")
	scan("when that is whole, too", 6, "a.mp3", "a.wav")
	write(out, "a.mp3.txt", "done")
	write(out, "a.wav.txt", "done")
	scan("both are done", 6)
	if text := stderr.String(); strings.Count(text, "1 other file passed over") != 2 {
		t.Errorf("stderr %q, want a line at each start", text)
	}
}

// TestWatchUnwritten: a text that cannot be written, since the disk is full or gone, is tried again
// later. A file that cannot be transcribed is skipped until it changes.
func TestWatchUnwritten(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	names := []string{filepath.Join(in, "a.wav"), filepath.Join(in, "b.wav"), filepath.Join(in, "noise.wav")}
	for _, name := range names {
		if err := os.WriteFile(name, []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &watchCommand{fileRun: fileRun{Run: cli.Run{Env: cli.Env{Err: new(bytes.Buffer)}}}}
	w.root, w.dir, w.seen, w.reported = in, out, map[string]fileState{}, map[string]bool{}
	w.formats = []transcript.Format{"none"} // which cannot be written
	now := time.Now()
	w.scan(now)
	try := func(after time.Duration, want int, written bool) {
		t.Helper()
		now = now.Add(after)
		got := w.scan(now)
		if len(got) != want {
			t.Errorf("after %v: %q, want %d", after, got, want)
		}
		for _, name := range got {
			if name == names[2] {
				continue // it could not be transcribed
			}
			if err := w.writeWhole(name, &transcript.Transcript{}); (err == nil) != written {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.markFailed(got, now)
	}
	try(5*time.Second, 3, false)
	try(minWait-time.Second, 0, false)
	try(time.Second, 2, false)
	try(2*minWait-time.Second, 0, false)
	for range 10 {
		try(maxWait, 2, false)
	}
	w.formats = nil
	try(maxWait, 2, true)
	try(maxWait, 0, false)
	if err := os.WriteFile(names[2], []byte("12"), 0o600); err != nil {
		t.Fatal(err)
	}
	try(time.Second, 0, false)
	try(5*time.Second, 1, false)
}

// TestOutputNames: no two inputs have the same output.
func TestOutputNames(t *testing.T) {
	defer func(was bool) { ignoresCase = was }(ignoresCase)
	long := strings.Repeat("ж", 125) // 250 bytes
	for _, tt := range []struct {
		why    string
		folds  bool
		inputs []string
		want   []string
	}{
		{"as they are", false, []string{"a/x.wav", "b/y.z.mp3", "-", "https://example.org/a%20b.mp3?x=1"}, []string{"x", "y.z", "stdin", "a b"}},
		{"characters that Windows lacks", false, []string{"https://example.org/10%3A30%3F.mp3"}, []string{"10_30_"}},
		{"one name, two endings", false, []string{"x.wav", "y.wav", "x.mp3"}, []string{"x.wav", "y", "x.mp3"}},
		{"two directories", false, []string{"a/x.wav", "b/x.wav", "c/x.wav"}, []string{"a/x", "b/x", "c/x"}},
		{"a directory with two, and the current one", false, []string{"a/x.wav", "a/x.mp3", "x.wav", "../x.wav"}, []string{"x.wav", "x.mp3", "x.wav-2", "x.wav-3"}},
		{"one is called like the new name of another", false, []string{"x.wav", "x.mp3", "x.wav.mp3"}, []string{"x.wav", "x.mp3", "x.wav-2"}},
		{"where Talk and talk are one", true, []string{"Talk.wav", "talk.mp3"}, []string{"Talk.wav", "talk.mp3"}},
		{"where they are two", false, []string{"Talk.wav", "talk.mp3"}, []string{"Talk", "talk"}},
		{"255 bytes", false, []string{long + ".wav", long + "a.wav", long + "bc.wav"}, []string{long, long + "-2", long + "-3"}},
		{"a directory in one of its name", false, []string{"root/x.wav", "root/root/x.wav"}, []string{"x", "root/x"}},
		{"a tree", false, []string{"in/x.wav", "in/a/x.wav", "in/a/x.mp3"}, []string{"x", "a/x.wav", "a/x.mp3"}},
	} {
		ignoresCase = tt.folds
		below := map[string]string{"root/x.wav": ".", "root/root/x.wav": "root", "in/x.wav": ".", "in/a/x.wav": "a", "in/a/x.mp3": "a"}
		names := outputNames(tt.inputs, below, []transcript.Format{"srt", "json"}, nameField)
		for i, in := range tt.inputs {
			want := tt.want[i]
			if strings.HasPrefix(want, "ж") { // .json needs five bytes of 255
				number := strings.TrimLeft(want, "ж")
				want = strings.Repeat("ж", (250-len(number))/2) + number
			}
			if got := filepath.ToSlash(names[in]); got != want || len(got) > 250 {
				t.Errorf("%s: %s is written to %s, want %s", tt.why, in, got, want)
			}
		}
	}
}

// TestNamePattern: names with the language of the text, which is known only when it is written.
func TestNamePattern(t *testing.T) {
	dir := t.TempDir()
	f := &outputDir{outputFlags: &outputFlags{dir: dir, formats: []transcript.Format{"srt"}}}
	f.names = outputNames([]string{"film.mkv"}, nil, f.formats, "{name}.{language}")
	for language, want := range map[string]string{"nl": "film.nl.srt", "": "film.und.srt"} {
		if err := f.write("film.mkv", &transcript.Transcript{Language: language}); err != nil {
			t.Fatal(err)
		}
		if !exists(filepath.Join(dir, want)) {
			t.Errorf("%s is missing", want)
		}
		code := cmp.Or(language, "und")
		if f.write("film.mkv", &transcript.Transcript{Language: language}) == nil {
			t.Errorf("%s would be overwritten", want)
		}
		for _, known := range []outputDir{{}, {language: code}, {language: "de"}} {
			flags := *f.outputFlags
			known.outputFlags, known.names = &flags, f.names
			if _, err := known.missing([]string{"film.mkv"}); (err == nil) != (known.language != code) {
				t.Errorf("%s exists, all texts are in %q: %v", want, known.language, err)
			}
			known.skip = true
			if todo, err := known.missing([]string{"film.mkv"}); (len(todo) == 1) != (known.language == "de") || err != nil {
				t.Errorf("--skip-existing, %s exists, all texts are in %q: %q, %v", want, known.language, todo, err)
			}
		}
		os.Remove(filepath.Join(dir, want))
	}
	if todo, err := f.missing([]string{"film.mkv"}); err != nil || len(todo) != 1 {
		t.Errorf("%v, %v", todo, err)
	}
	f.language = textLanguage(transcribe.Options{Task: transcribe.Translate, Language: "nl"})
	if err := f.write("film.mkv", &transcript.Transcript{Language: "nl"}); err != nil || !exists(filepath.Join(dir, "film.en.srt")) {
		t.Errorf("a translation is not English: %v", err)
	}
	for pattern, ok := range map[string]bool{"{name}": true, "{name}.{language}": true, "{language}": false, "{name}/x": false, "{nam}": false, "{name}{x}": false, "a{name}": true} {
		if err := checkName(pattern, false); (err == nil) != ok {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if err := checkName("out", true); err != nil {
		t.Errorf("of a single file: %v", err)
	}
}

// TestWatchLink: a link among the directories of texts is not followed out of them.
func TestWatchLink(t *testing.T) {
	in, out, other := t.TempDir(), t.TempDir(), t.TempDir()
	name := filepath.Join(in, "sub", "a.wav")
	if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(out, "sub")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	var stderr bytes.Buffer
	w := &watchCommand{fileRun: fileRun{Run: cli.Run{Env: cli.Env{Err: &stderr}}}}
	w.recursive = true
	w.root, w.dir, w.seen, w.reported = in, out, map[string]fileState{}, map[string]bool{}
	w.scan(time.Now())
	err := w.writeWhole(name, &transcript.Transcript{})
	if written, _ := os.ReadDir(other); err == nil || !strings.Contains(stderr.String(), "a link") || len(written) > 0 {
		t.Errorf("error = %v, stderr %q, %d files are written", err, stderr.String(), len(written))
	}
}

// TestWatchGone: the watched directory may be moved away and come back.
func TestWatchGone(t *testing.T) {
	in, out, away := filepath.Join(t.TempDir(), "in"), t.TempDir(), filepath.Join(t.TempDir(), "away")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(in, "a.wav")
	if err := os.WriteFile(name, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	w := &watchCommand{fileRun: fileRun{Run: cli.Run{Env: cli.Env{Err: &stderr}}}}
	w.root, w.dir, w.seen, w.reported = in, out, map[string]fileState{}, map[string]bool{}
	now := time.Now()
	w.scan(now)
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := w.scan(now.Add(6 * time.Second)); len(got) > 0 {
			t.Errorf("while it is away: %q", got)
		}
	}
	if text := stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, in) {
		t.Errorf("stderr %q, want one line with %s", text, in)
	}
	if err := os.Rename(away, in); err != nil {
		t.Fatal(err)
	}
	w.scan(now.Add(7 * time.Second))
	if got := w.scan(now.Add(13 * time.Second)); !slices.Equal(got, []string{name}) {
		t.Errorf("when it is back: %q, want %s", got, name)
	}
}

// TestSoundInUnreadable: a directory that cannot be read does not hide the others.
func TestSoundInUnreadable(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.wav", "b/2.wav", "c/3.wav"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	locked := filepath.Join(dir, "b")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(locked, 0o755)
	if _, err := os.ReadDir(locked); err == nil {
		t.Skip("needs a user other than root: this user may read every directory")
	}
	files, _, err := soundIn(dir, true)
	if want := []string{filepath.Join(dir, "a", "1.wav"), filepath.Join(dir, "c", "3.wav")}; !slices.Equal(files, want) || err == nil || !strings.Contains(err.Error(), locked) {
		t.Errorf("%q, %v, want %q and the name of %s", files, err, want, locked)
	}
}
