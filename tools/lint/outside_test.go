package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutside compiles the examples of every package in a module of their own: what
// they show must be possible without the internal packages.
func TestOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the module a second time")
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	examples, err := filepath.Glob("*/example_test.go")
	deeper, _ := filepath.Glob("[^i]*/*/example_test.go") // but for internal
	if examples = append(examples, deeper...); err != nil || len(examples) < 10 {
		t.Fatalf("%d examples %v: %v", len(examples), examples, err)
	}
	for _, name := range append(examples, "example_test.go") {
		copyFile(t, name, filepath.Join(dir, filepath.Dir(name), filepath.Base(name)))
	}
	copyFile(t, "go.sum", filepath.Join(dir, "go.sum"))
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// The same versions of everything, so that nothing has to be fetched.
	outside := strings.Replace(string(mod), "module verity\n", "module outside\n", 1)
	outside = strings.ReplaceAll(outside, "=> ./", "=> "+filepath.ToSlash(here)+"/") +
		"\nrequire verity v0.0.0\n\nreplace verity => " + here + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(outside), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "-mod=mod", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
