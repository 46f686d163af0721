// Dist builds release archives. For each system and processor: the program, its man
// pages and shell completions, examples, and the licences; for Linux a package of Debian
// too; with -url a formula of Homebrew that installs them from there. A file of checksums
// covers all.
//
//	go run ./tools/dist -version v1.2.3 -out dist -url https://example.org/v1.2.3
//
// The same revision and Go version give the same bytes on any machine: the files
// contain no paths, times or users of the building machine (make reproducible).
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	var d dist
	var platforms string
	flag.StringVar(&d.version, "version", "source", "`version` that the program says and archives are named by")
	flag.StringVar(&d.out, "out", "dist", "`directory` to write to")
	flag.StringVar(&platforms, "platforms", strings.Join(all, ","), "system/processor pairs, separated by commas")
	flag.StringVar(&d.address, "url", "", "`address` from which archives will be fetched, for a formula of Homebrew")
	flag.Parse()
	d.platforms = strings.Split(platforms, ",")
	if err := d.run(); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// all are the platforms of a release.
var all = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// A dist is the state of one release.
type dist struct {
	version, out, address string
	platforms             []string
	when                  time.Time // time of every file in archives
	extras                []file    // files in all archives
	sums                  []string  // lines of SHA256SUMS
}

var goodVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]*$`)

func (d *dist) run() error {
	if !goodVersion.MatchString(d.version) {
		return fmt.Errorf("version %q: want letters, digits, dots and hyphens", d.version)
	}
	for _, p := range d.platforms {
		if !slices.Contains(all, p) {
			return fmt.Errorf("platform %q: want some of %s", p, strings.Join(all, ", "))
		}
	}
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "verity-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if d.when, err = commitTime(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "man pages, completions, licences")
	if err := d.gather(work); err != nil {
		return err
	}
	for _, p := range d.platforms {
		fmt.Fprintln(os.Stderr, p)
		packages, err := d.archive(work, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, f := range packages {
			if err := d.write(f); err != nil {
				return err
			}
		}
	}
	if d.address != "" {
		if err := d.write(formula(d.address, d.version, d.sums)); err != nil {
			return err
		}
	}
	list := strings.Join(d.sums, "")
	fmt.Print(list)
	return os.WriteFile(filepath.Join(d.out, "SHA256SUMS"), []byte(list), 0o644)
}

// write writes a file of the release, and a line of its checksum.
func (d *dist) write(f file) error {
	d.sums = append(d.sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(f.data), f.name))
	return os.WriteFile(filepath.Join(d.out, f.name), f.data, 0o644)
}

// commitTime returns SOURCE_DATE_EPOCH, or the time of the last commit.
func commitTime() (time.Time, error) {
	stamp := os.Getenv("SOURCE_DATE_EPOCH")
	if stamp == "" {
		out, err := command(nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, errors.Join(err, errors.New("outside git SOURCE_DATE_EPOCH must be set"))
		}
		stamp = strings.TrimSpace(string(out))
	}
	var seconds int64
	if _, err := fmt.Sscan(stamp, &seconds); err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q: want seconds since 1970: %w", stamp, err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// gather creates the files that are the same on all platforms.
func (d *dist) gather(work string) error {
	for _, pattern := range []string{"LICENSE", "NOTICE", "tools/dist/README.md", "docs/*.md", "docs/reference/*.md", "examples/*.*", "examples/Caddyfile", "examples/go/*.*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			return errors.Join(err, fmt.Errorf("%s: there are no such files", pattern))
		}
		for _, name := range names {
			if err := d.extra(strings.TrimPrefix(filepath.ToSlash(name), "tools/dist/"), name); err != nil {
				return err
			}
		}
	}
	texts, err := command(nil, "go", "run", "./tools/licences", "-texts")
	if err != nil {
		return err
	}
	d.extras = append(d.extras, file{name: "THIRD_PARTY_LICENCES.txt", data: texts})

	man := filepath.Join(work, "man")
	env := []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", d.when.Unix())}
	if _, err := command(env, "go", "run", "./cmd/verity", "manual", "man", man); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil || len(pages) == 0 {
		return errors.Join(err, fmt.Errorf("%s: no man pages were written", man))
	}
	slices.Sort(pages)
	for _, page := range pages {
		if err := d.extra("man/"+filepath.Base(page), page); err != nil {
			return err
		}
	}
	return d.completions(work)
}

// extra adds a file to all archives.
func (d *dist) extra(name, from string) error {
	raw, err := os.ReadFile(from)
	d.extras = append(d.extras, file{name: name, data: raw})
	return err
}

// completions generates the shell completions with the program, built for this machine.
func (d *dist) completions(work string) error {
	program, err := d.build(work, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return err
	}
	for _, shell := range []struct{ name, file string }{
		{"bash", "verity.bash"}, {"zsh", "_verity"}, {"fish", "verity.fish"}, {"powershell", "verity.ps1"},
	} {
		raw, err := command(nil, program, "completion", shell.name)
		if err != nil {
			return err
		}
		d.extras = append(d.extras, file{name: "completions/" + shell.file, data: raw})
	}
	return nil
}

// linkFlags leave out what depends on the building machine; the version follows.
const linkFlags = "-s -w -buildid= -X main.version="

// build compiles the program for a platform and returns its path.
func (d *dist) build(work, platform string) (string, error) {
	system, processor, _ := strings.Cut(platform, "/")
	program := filepath.Join(work, system+"-"+processor, "verity")
	if system == "windows" {
		program += ".exe"
	}
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + processor, "GOFLAGS=-trimpath -buildvcs=false"}
	link := linkFlags + d.version
	_, err := command(env, "go", "build", "-ldflags", link, "-o", program, "./cmd/verity")
	return program, err
}

// archive builds for a platform and packs all files: zip for Windows, tar elsewhere, and
// for Linux a package of Debian too.
func (d *dist) archive(work, platform string) ([]file, error) {
	program, err := d.build(work, platform)
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	top := "verity-" + d.version + "-" + strings.ReplaceAll(platform, "/", "-")
	files := append([]file{{name: filepath.Base(program), data: binary, program: true}}, d.extras...)
	var b bytes.Buffer
	if strings.HasPrefix(platform, "windows/") {
		err = writeZip(&b, top, files, d.when)
		return []file{{name: top + ".zip", data: b.Bytes()}}, err
	}
	if err = writeTar(&b, top, files, d.when); err != nil {
		return nil, err
	}
	all := []file{{name: top + ".tar.gz", data: b.Bytes()}}
	if processor, ok := strings.CutPrefix(platform, "linux/"); ok {
		var deb bytes.Buffer
		err = writeDebian(&deb, d.version, processor, files, d.when)
		all = append(all, file{name: fmt.Sprintf("verity_%s_%s.deb", d.version, processor), data: deb.Bytes()})
	}
	return all, err
}

// command runs a program and returns its standard output.
func command(env []string, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out, nil
}
