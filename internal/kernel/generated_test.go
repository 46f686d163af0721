//go:build !purego

package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGenerated runs the commands of go:generate on a copy of the generators and
// compares what they write with the files of this directory: assembly that was edited by
// hand, or not written again after its generator changed, fails.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "_asm"), os.DirFS("_asm")); err != nil {
		t.Fatal(err)
	}
	download := exec.Command("go", "mod", "download")
	download.Dir = filepath.Join(dir, "_asm")
	if out, err := download.CombinedOutput(); err != nil {
		t.Skipf("needs the network: the modules of the generators are not here and cannot be fetched: %v\n%s", err, out)
	}
	for _, command := range generators(t) {
		c := exec.Command("sh", "-c", command)
		// Generators run on the host. Their library is large, and compiled in half the time like this.
		quickly := "GOFLAGS=" + os.Getenv("GOFLAGS") + " '-gcflags=github.com/mmcloughlin/avo/...=-N -l'"
		c.Dir, c.Env = dir, append(os.Environ(), "GOOS=", "GOARCH=", quickly)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	written, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range written {
		name := filepath.Base(path)
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); !bytes.Equal(got, want) {
			t.Errorf("%s is not what its generator writes (%v): run go generate ./internal/kernel", name, err)
		}
	}
	assembly, err := filepath.Glob("*.s")
	if err != nil {
		t.Fatal(err)
	}
	byHand := 0
	for _, name := range assembly {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			byHand++
			t.Logf("%s has no generator", name)
		}
	}
	if byHand == len(assembly) {
		t.Error("no assembly was generated")
	}
}

// generators returns the commands of all go:generate lines.
func generators(t *testing.T) (commands []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^//go:generate sh -c "(.*)"$`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range line.FindAllStringSubmatch(string(text), -1) {
			commands = append(commands, match[1])
		}
		if n := strings.Count(string(text), "\n//go:generate "); n != len(line.FindAllString(string(text), -1)) {
			t.Fatalf("%s has a go:generate line that is not understood here", name)
		}
	}
	return commands
}
