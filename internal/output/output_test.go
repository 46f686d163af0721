package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func put(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// alone fails if a temporary file was left in dir.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("in the directory: %v, want %v", names, want)
	}
}

// TestWrite replaces a file, and leaves it as it was if what writes fails.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txt")
	for _, text := range []string{"one", "two two"} {
		if err := Write(name, nil, put(text)); err != nil || read(t, name) != text {
			t.Fatalf("%v, %q", err, read(t, name))
		}
	}
	broken := errors.New("broken")
	err := Write(name, nil, func(w io.Writer) error { io.WriteString(w, "half"); return broken })
	if !errors.Is(err, broken) || read(t, name) != "two two" {
		t.Errorf("%v, %q", err, read(t, name))
	}
	alone(t, dir, "a.txt")
	var b strings.Builder
	if err := Write("-", &b, put("out")); err != nil || b.String() != "out" {
		t.Errorf("standard output: %v, %q", err, b.String())
	}
}

// TestRenameFails: the old file stays, or none is there, and no temporary one is left.
func TestRenameFails(t *testing.T) {
	whole := rename
	defer func() { rename = whole }()
	broken := errors.New("input/output error")
	rename = func(from, to string) error { return &os.LinkError{Op: "rename", Old: from, New: to, Err: broken} }
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(old, []byte("what was there"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, fresh} {
		err := Write(name, nil, put("new"))
		if !errors.Is(err, broken) || err.Error() != name+": cannot be written: input/output error" {
			t.Errorf("got %v", err)
		}
	}
	if got := read(t, old); got != "what was there" {
		t.Errorf("the old file now holds %q", got)
	}
	alone(t, dir, "old")
}

// TestMissingDirectory: the message names the file that was asked for, and no
// temporary one.
func TestMissingDirectory(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "nope", "x.html")
	for _, err := range []error{Check(name), Write(name, nil, put("x"))} {
		if err == nil || !strings.HasPrefix(err.Error(), name+": cannot be written: ") || strings.Contains(err.Error(), ".verity") {
			t.Errorf("%v", err)
		}
	}
	if err := Check(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	for _, name := range []string{filepath.Join(dir, "new.html"), "", "-"} {
		if err := Check(name); err != nil {
			t.Error(err)
		}
	}
	alone(t, dir)
}

// TestLink: a symbolic link stays, its target is replaced. One that leads nowhere is replaced
// itself.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("target", filepath.Join(dir, "link")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	for _, text := range []string{"replaced", "and again"} {
		if err := os.WriteFile(filepath.Join(dir, "target"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := Write(filepath.Join(dir, "link"), nil, put(text)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(dir, "target")); got != text {
			t.Errorf("target = %q, want %q", got, text)
		}
		if to, err := os.Readlink(filepath.Join(dir, "link")); err != nil || to != "target" {
			t.Errorf("the link: %q, %v", to, err)
		}
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "loop"), nil, put("x")); err == nil {
		t.Error("a loop of links: no error")
	}
	alone(t, dir, "link", "loop", "target")
}

// TestWriteModel: the files of a checkpoint come together, or what was there stays.
func TestWriteModel(t *testing.T) {
	above := t.TempDir()
	dir, broken := filepath.Join(above, "new", "model"), errors.New("broken")
	write := func(end error) error {
		return WriteModel(dir, func(p FileWriter) error { return errors.Join(p("config", put("c")), p("weights", put("w")), end) })
	}
	if err := write(broken); !errors.Is(err, broken) {
		t.Error(err)
	}
	alone(t, above)
	if err := write(nil); err != nil {
		t.Fatal(err)
	}
	err := WriteModel(dir, func(p FileWriter) error { return errors.Join(p("config", put("other")), p("more", put("m")), broken) })
	if !errors.Is(err, broken) || read(t, filepath.Join(dir, "config")) != "c" {
		t.Errorf("%v, and config holds %q", err, read(t, filepath.Join(dir, "config")))
	}
	alone(t, dir, "config", "weights")
}

// TestMakeDir: a directory is made, with those above it; a file in its place is an error.
func TestMakeDir(t *testing.T) {
	dir := t.TempDir()
	undo, err := MakeDir(filepath.Join(dir, "a", "b"))
	if err != nil {
		t.Error(err)
	}
	alone(t, filepath.Join(dir, "a", "b"))
	undo()
	alone(t, dir)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(file, "below")} {
		if _, err := MakeDir(name); err == nil || strings.Contains(err.Error(), "mkdir") {
			t.Errorf("MakeDir(%s): %v", name, err)
		}
	}
	if runtime.GOOS == "linux" {
		if _, err := MakeDir("/proc/x"); err == nil {
			t.Error("a directory that cannot be made: no error")
		}
	}
}

// TestLinkInDirectory: under a name that the program chose, nothing is written where a link leads.
func TestLinkInDirectory(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	precious := filepath.Join(outside, "notes.txt")
	if err := os.WriteFile(precious, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": precious, "dangling": filepath.Join(outside, "new"), "loop": "loop"} {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
		if f, err := Open(path, os.O_WRONLY|os.O_APPEND); err == nil {
			f.Close()
			t.Errorf("%s is opened", name)
		}
		if err := Replace(path, put("new")); err != nil || read(t, path) != "new" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := read(t, precious); got != "precious" {
		t.Errorf("the file outside holds %q", got)
	}
	alone(t, outside, "notes.txt")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "folder"), put("x")); err == nil {
		t.Error("a directory was replaced")
	}
	for range 2 {
		f, err := Open(filepath.Join(dir, "kept"), os.O_WRONLY|os.O_APPEND)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("kept"); err != nil {
			t.Error(err)
		}
		f.Close()
	}
	if got := read(t, filepath.Join(dir, "kept")); got != "keptkept" {
		t.Errorf("got %q", got)
	}
}
