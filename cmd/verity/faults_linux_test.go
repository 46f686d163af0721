package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram returns a name under which the test binary is the program, also to itself when it
// runs itself again.
func asProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "verity")
	if os.Link(self, name) != nil { // another file system
		b, err := os.ReadFile(self)
		if err := errors.Join(err, os.WriteFile(name, b, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// TestShrinkingModel truncates the weights as soon as the program has mapped them. It must end
// with one line and status 1, not with a bus error.
func TestShrinkingModel(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := program(t, nil, "synth", "--size", "tiny", "--assistant", "tiny", "--tokens", "12", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	sound := filepath.Join(dir, "sound.wav")
	if err := os.WriteFile(sound, wav(1), 0o600); err != nil {
		t.Fatal(err)
	}
	program, model := asProgram(t), filepath.Join(dir, "target")
	weights := filepath.Join(model, "model.safetensors")
	whole, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	var problem bytes.Buffer
	err = nil
	for try := 0; err == nil && try < 20; try++ { // no error: the weights were loaded before they were cut
		if err := os.WriteFile(weights, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		problem.Reset()
		cmd := exec.CommandContext(t.Context(), program, "transcribe", "-q", "-l", "en", "-m", model, sound)
		cmd.Stderr = &problem
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		waitForMap(t, cmd.Process.Pid, weights)
		if err := os.Truncate(weights, 4096); err != nil {
			t.Fatal(err)
		}
		err = <-ended
	}
	var status *exec.ExitError
	if said := problem.String(); !errors.As(err, &status) || status.ExitCode() != 1 || strings.Count(said, "\n") != 1 ||
		!strings.Contains(said, "model.safetensors: changed or could not be read while it was loaded") {
		t.Errorf("%v, want status 1 and one line:\n%.2000s", err, said)
	}
}

// waitForMap returns when a process has mapped a file, or has ended.
func waitForMap(t *testing.T, pid int, file string) {
	t.Helper()
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil || len(b) == 0 {
			t.Logf("the program ended before it had mapped %s: %v", file, err)
			return
		}
		if bytes.Contains(b, []byte(file)) {
			return
		}
	}
}
