package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/models"
	"verity/model"
	"verity/precision"
)

// TestMemory runs the program on two planted models of size small and tiny, and measures its
// largest resident memory from loading to the first text, mapped pages of the files
// included. What does not grow with the model (the program, the
// tokenizer, the log-mel) is in both, so the difference may be
//
//	1.15 × (weights as stored) + caches + activations
//
// of one less those of the other. Holding a copy of the file beside the packed
// weights, or a model in float32 before it is int8, takes as much again or more.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: writes a model of 0.5 GB")
	}
	dir := t.TempDir()
	if code, _, stderr := program(t, nil, "synth", "--size", "small", "--assistant", "tiny", "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "verity") // the name makes the test binary the program
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	sound := filepath.Join(dir, "sound.wav")
	if err := os.WriteFile(sound, wav(30), 0o600); err != nil {
		t.Fatal(err)
	}
	small, tiny := filepath.Join(dir, "target"), filepath.Join(dir, "assistant")
	for precision, size := range map[string]int64{"f32": 4, "f16": 2, "int8": 1} {
		all := peak(t, program, small, sound, precision)
		if precision == "f16" {
			checkEstimate(t, small, all)
		}
		got := all - peak(t, program, tiny, sound, precision)
		a, b := needed(t, small, size), needed(t, tiny, size)
		weights, rest := a.weights-b.weights, a.rest-b.rest
		most := weights*115/100 + rest
		t.Logf("%s: %d MB more than tiny; weights %d MB, caches and activations %d MB; allowed %d MB", precision, got>>20, weights>>20, rest>>20, most>>20)
		if got > most {
			t.Errorf("%s: small takes %d bytes more than tiny, at most %d are allowed", precision, got, most)
		}
		if got < weights {
			t.Errorf("%s: small takes %d bytes more than tiny, less than its weights, %d: what was counted?", precision, got, weights)
		}
	}
}

// checkEstimate compares what info says of memory, for weights as stored, with what it is.
func checkEstimate(t *testing.T, dir string, got int64) {
	t.Helper()
	i, err := models.Inspect(t.Context(), &cli.ModelFlags{Name: dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("info estimates %d MB, it is %d MB", i.Memory>>20, got>>20)
	if ratio := float64(i.Memory) / float64(got); !(ratio > 0.75 && ratio < 1.33) {
		t.Errorf("info estimates %d bytes in %s, it is %d", i.Memory, i.Auto.Precision, got)
	}
}

// need is what a model must hold in memory.
type need struct{ weights, rest int64 }

// needed derives it from the sizes of the network.
func needed(t *testing.T, dir string, size int64) need {
	t.Helper()
	c, err := model.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := precision.Of(map[int64]precision.Format{4: precision.F32, 2: precision.F16, 1: precision.Int8}[size])
	if size == 1 {
		p.Cache = precision.F16 // TestMemory allows for it
	}
	return need{c.Params() * size, models.ActivationBytes(c.Dims, p)}
}

// peak runs the program until it has written the first line, and returns how many
// bytes it had resident at most. It then waits for a second file, on its standard
// input, so that it is there to be asked.
func peak(t *testing.T, program, dir, sound, precision string) int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "transcribe", "--model", dir, "--precision", precision, "--threads", "2",
		"--language", "en", "--temperature-increment-on-fallback=none", sound, "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		io.Copy(io.Discard, out)
		cmd.Wait() // it was killed
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%v: %s", err, problem.String())
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		t.Skip("needs Linux: this system does not count resident memory")
	}
	kb, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
