package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	when  = time.Unix(1_700_000_000, 0).UTC()
	files = []file{{name: "verity", data: []byte("program"), program: true}, {name: "man/verity.1", data: []byte("page")}}
)

// TestPackTwice wants the same bytes of the same files, wherever the clock and the
// time zone stand.
func TestPackTwice(t *testing.T) {
	for name, pack := range map[string]func(io.Writer, string, []file, time.Time) error{
		"tar": writeTar, "zip": writeZip,
		"deb": func(w io.Writer, version string, files []file, when time.Time) error {
			return writeDebian(w, version, "amd64", files, when)
		},
	} {
		var one, two, other bytes.Buffer
		if err := pack(&one, "top", files, when); err != nil {
			t.Fatal(err)
		}
		if err := pack(&two, "top", files, when.In(time.FixedZone("", 7200))); err != nil {
			t.Fatal(err)
		}
		if err := pack(&other, "top", files, when.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: the same files gave other bytes in another time zone", name)
		}
		if bytes.Equal(one.Bytes(), other.Bytes()) {
			t.Errorf("%s: the time of the files is not in the archive", name)
		}
	}
}

// TestTarHolds reads a tar back.
func TestTarHolds(t *testing.T) {
	var b bytes.Buffer
	if err := writeTar(&b, "top", files, when); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, f := range files {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != "top/"+f.name || h.Mode != int64(f.mode()) || !h.ModTime.Equal(when) || !bytes.Equal(raw, f.data) {
			t.Errorf("%s: got %s, mode %o, %v, %q", f.name, h.Name, h.Mode, h.ModTime, raw)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last file: %v", err)
	}
}

// TestZipHolds reads a zip back.
func TestZipHolds(t *testing.T) {
	var b bytes.Buffer
	if err := writeZip(&b, "top", files, when); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.File) != len(files) {
		t.Fatalf("%d files, want %d", len(r.File), len(files))
	}
	for i, f := range files {
		entry, err := r.File[i].Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(entry)
		if err != nil {
			t.Fatal(err)
		}
		if r.File[i].Name != "top/"+f.name || r.File[i].Mode() != f.mode() || !bytes.Equal(raw, f.data) {
			t.Errorf("%s: got %s, mode %v, %q", f.name, r.File[i].Name, r.File[i].Mode(), raw)
		}
	}
}

// TestRefused wants an error of versions and platforms that cannot be.
func TestRefused(t *testing.T) {
	for _, d := range []dist{
		{version: "v1/../x", out: t.TempDir(), platforms: all},
		{version: "", out: t.TempDir(), platforms: all},
		{version: "v1", out: t.TempDir(), platforms: []string{"plan9/amd64"}},
	} {
		if err := d.run(); err == nil {
			t.Errorf("version %q, platforms %v: no error", d.version, d.platforms)
		}
	}
}

// TestContainerfile: the container is built as archives are, with the Go of go.mod.
func TestContainerfile(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if version == nil || regexp.MustCompile(`(?m)^replace `).Match(mod) {
		t.Fatal("go.mod names no version of Go, or replaces a module, so that go install refuses it")
	}
	raw, err := os.ReadFile("../../examples/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(raw), "\\\n", " ")
	before, after, ok := strings.Cut(text, "RUN go mod download")
	if !ok {
		t.Error("it downloads no modules")
	}
	if want := "FROM golang:" + string(version[1]) + " AS build"; !strings.Contains(before, want) {
		t.Errorf("no %q, the Go of go.mod", want)
	}
	for _, want := range []string{
		`RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="` + linkFlags + `$VERSION" -o /verity ./cmd/verity`,
		"COPY --from=build /verity /verity",
		"ca-certificates ffmpeg", // for downloads, and for what telephones record
	} {
		if !strings.Contains(after, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestDebian has dpkg-deb read a package.
func TestDebian(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("SKIPPED: dpkg-deb is not in the path")
	}
	name := t.TempDir() + "/verity.deb"
	var b bytes.Buffer
	if err := writeDebian(&b, "v1.2-3", "arm64", files, when); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for option, want := range map[string][]string{
		"--info":     {"Version: 1.2+3\n", "Architecture: arm64\n"},
		"--contents": {"-rwxr-xr-x root/root", "./usr/bin/verity\n", "./usr/share/man/man1/verity.1\n"},
	} {
		out, err := exec.Command("dpkg-deb", option, name).CombinedOutput()
		for _, part := range want {
			if err != nil || !strings.Contains(string(out), part) {
				t.Errorf("%s: %v, %s; want %q", option, err, out, part)
			}
		}
	}
}

// TestFormula wants every archive of its systems with its checksum, and of others nothing.
// Where ruby is installed it must be Ruby.
func TestFormula(t *testing.T) {
	f := formula("https://example.org/v1/", "v1", []string{"ca97  verity-v1-darwin-arm64.tar.gz\n", "3e23  verity-v1-linux-amd64.tar.gz\n",
		"0  verity_v1_amd64.deb\n", "0  verity-v1-windows-amd64.zip\n"})
	got := string(f.data)
	for _, want := range []string{"version \"1\"", "on_macos do\n    on_arm do\n      url \"https://example.org/v1/verity-v1-darwin-arm64.tar.gz\"\n      sha256 \"ca97\"",
		"on_linux do\n    on_intel do\n      url \"https://example.org/v1/verity-v1-linux-amd64.tar.gz\"\n      sha256 \"3e23\""} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "url "); n != 2 {
		t.Errorf("%d addresses, want 2", n)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		c := exec.Command(ruby, "-c")
		c.Stdin = bytes.NewReader(f.data)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
