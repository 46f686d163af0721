// Package needs skips a test where a machine lacks what the test needs. All reasons have one
// form, "needs THING: WHY", which the summary of make test counts by THING.
package needs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Shared returns the files of ../shared/data, beside the repository, whose names match a pattern of [filepath.Glob].
// If there is none, it skips the test. docs/dev/TESTING.md lists the sets.
func Shared(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root(t), "..", "shared", "data", filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skipf("needs ../shared: data/%s is not beside the repository", pattern)
	}
	return names
}

// SharedFile returns the one file of Shared.
func SharedFile(t testing.TB, name string) string {
	t.Helper()
	return Shared(t, name)[0]
}

// root returns the directory of the module, from the package's, in which tests run.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if b, _ := os.ReadFile(filepath.Join(dir, "go.mod")); bytes.HasPrefix(b, []byte("module verity\n")) {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod of the module verity above this test")
		}
		dir = up
	}
}

// Program returns the path of a program.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s: it is not installed", name)
	}
	return path
}

// Shell skips where scripts of a shell cannot be run, or one of the programs in it is missing.
func Shell(t testing.TB, programs ...string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs sh: this system has no shell scripts")
	}
	for _, name := range append(programs, "sh") {
		Program(t, name)
	}
}

// Long skips a test of make test-all in make test.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs make test-all: " + why)
	}
}
