package text

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAddressIsNoPattern: characters of a pattern have no meaning in an address.
func TestAddressIsNoPattern(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1/a.wav?x=1", "https://example.org/a[1]*.mp3"} {
		if got, err := inputs([]string{address}, nil, false); err != nil || !slices.Equal(got.names, []string{address}) {
			t.Errorf("%s: got %v, %v", address, got, err)
		}
	}
}

// TestPatternIgnoresCase: where the system does, *.mp3 is also TALK.MP3, as recorders write it.
func TestPatternIgnoresCase(t *testing.T) {
	defer func(was bool) { ignoresCase = was }(ignoresCase)
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.mp3", "B.MP3", "c.wav"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for ignores, want := range map[bool][]string{true: {"B.MP3", "a.mp3"}, false: {"a.mp3"}} {
		ignoresCase = ignores
		got, err := inputs([]string{"*.mp3"}, nil, false)
		if err != nil || !slices.Equal(got.names, want) {
			t.Errorf("case ignored %t: %q, %v; want %q", ignores, got.names, err, want)
		}
	}
}

// TestInputs: directories stand for the sound in them, and what is passed over is counted.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.mka", "b.m4b", "c.TXT", "d", "e.wav.part", ".f.wav", "sub/g.amr", "sub/h.jpg", "x[1].wav"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args, list []string
		recursive  bool
		want       []string
		others     string
	}{
		{[]string{"."}, nil, false, []string{"a.mka", "b.m4b", "x[1].wav"}, "3 other files passed over"},
		{[]string{"."}, nil, true, []string{"a.mka", "b.m4b", "sub/g.amr", "x[1].wav"}, "4 other files passed over"},
		{[]string{"*.m*", "d"}, nil, false, []string{"a.mka", "b.m4b", "d"}, ""},
		{nil, []string{"*.m*", "sub", "x[1].wav"}, false, []string{"*.m*", "sub/g.amr", "x[1].wav"}, "1 other file passed over"},
	} {
		t.Chdir(dir)
		got, err := inputs(tt.args, tt.list, tt.recursive)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.names {
			got.names[i] = filepath.ToSlash(got.names[i])
		}
		if !slices.Equal(got.names, tt.want) || got.others.String() != tt.others {
			t.Errorf("%q and %q: %q, %s; want %q, %s", tt.args, tt.list, got.names, got.others, tt.want, tt.others)
		}
	}
}

// TestList: the names of a list.
func TestList(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
		err  string
	}{
		{"a b.wav\n\nc\r\nd", []string{"a b.wav", "c", "d"}, ""},
		{"a\nb\x00c\x00", []string{"a\nb", "c"}, ""},
		{"a\x00b", []string{"a", "b"}, ""},
		{"\xff\xfea\x00.\x00\r\x00\n\x00", []string{"a."}, ""}, // as PowerShell writes it
		{"a\x00.\x00\r\x00\n\x00", []string{"a."}, ""},         // as other programs do
		{"a\x00b\x00c\nd\x00", []string{"a", "b", "c\nd"}, ""},
		{"\n\n", nil, "it names no file"},
		{strings.Repeat("\n", longestList+1), nil, "want at most 64 MiB"},
	} {
		path := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"-", path} {
			got, err := readList(t.Context(), name, bytes.NewReader([]byte(tt.text)))
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%.20q: %.40q, %v; want %.40q, %s", tt.text, got, err, tt.want, tt.err)
			}
		}
	}
	for _, name := range []string{t.TempDir(), "absent"} {
		if _, err := readList(t.Context(), name, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
