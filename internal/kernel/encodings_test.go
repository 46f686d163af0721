package kernel

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// verifiedEncodings is the hash of all words of arm64's assembly and their texts, in order, as
// llvm-mc (LLVM 14 and 19) agreed to them. TestEncodings prints the one to put here.
const verifiedEncodings = "d4fb7404e1f1c6e02e6fc41dd6b266424c99a30c1f6c1908544fc720797f1458"

// TestEncodings holds each instruction that the generator of arm64 writes as a word against
// llvm-mc, where that is installed, and against what it said elsewhere.
func TestEncodings(t *testing.T) {
	files, err := filepath.Glob("*_arm64.s")
	if err != nil || len(files) == 0 {
		t.Fatal("no assembly of arm64", err)
	}
	words := map[string]string{}
	line := regexp.MustCompile(`(?m)^\tWORD \$0x([0-9a-f]{8}) // (.*)$`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			if old, ok := words[m[2]]; ok && old != m[1] {
				t.Errorf("%s: %s is both %s and %s", name, m[2], old, m[1])
			}
			words[m[2]] = m[1]
		}
	}
	texts := slices.Sorted(maps.Keys(words))
	hash := sha256.New()
	for _, text := range texts {
		fmt.Fprintln(hash, words[text], text)
	}
	sum := fmt.Sprintf("%x", hash.Sum(nil))
	assembler, err := exec.LookPath("llvm-mc")
	if err != nil {
		if sum != verifiedEncodings {
			t.Errorf("the words of arm64 are not those that llvm-mc agreed to: run this test where it is installed")
		}
		return
	}
	c := exec.Command(assembler, "-triple=aarch64", "-mattr=+dotprod,+i8mm,+fullfp16", "-show-encoding")
	c.Stdin = strings.NewReader(strings.Join(texts, "\n"))
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	encoding := regexp.MustCompile(`encoding: \[0x(..),0x(..),0x(..),0x(..)\]`)
	found := encoding.FindAllSubmatch(out, -1)
	if len(found) != len(texts) {
		t.Fatalf("llvm-mc knows %d of %d instructions", len(found), len(texts))
	}
	for i, m := range found {
		if want := string(bytes.Join([][]byte{m[4], m[3], m[2], m[1]}, nil)); words[texts[i]] != want {
			t.Errorf("%s is %s, want %s", texts[i], words[texts[i]], want)
		}
	}
	if sum != verifiedEncodings && !t.Failed() {
		t.Errorf("all %d instructions are right; verifiedEncodings must be %s", len(texts), sum)
	}
}

// TestNoEVEX assembles the functions of amd64: those that are not for AVX-512 hold no instruction with
// the prefix of AVX-512, as the assembler writes it without a word for a register above Y15. A
// processor without it stops the program there, one with it hides that from all other tests.
func TestNoEVEX(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "tool", "asm", "-S", "-p", "kernel", "-I", filepath.Join(strings.TrimSpace(string(root)), "pkg", "include"),
		"-o", filepath.Join(t.TempDir(), "kernels.o"), "kernels_amd64.s")
	c.Env = append(os.Environ(), "GOARCH=amd64")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	name := ""
	starts := map[int]string{} // of the instructions of a function
	evex := map[bool]int{}
	instruction := regexp.MustCompile(`^\t0x[0-9a-f]+ (\d+) \((\S+)\)\t(.*)$`)
	listed := regexp.MustCompile(`^\t0x([0-9a-f]+)((?: [0-9a-f]{2})+)`)
	for line := range strings.SplitSeq(string(out), "\n") {
		if function, _, ok := strings.Cut(line, " STEXT "); ok {
			name = strings.TrimPrefix(function, "kernel.")
			clear(starts)
		} else if m := instruction.FindStringSubmatch(line); m != nil {
			at, _ := strconv.Atoi(m[1])
			starts[at] = m[2] + " " + m[3]
		} else if m := listed.FindStringSubmatch(line); m != nil {
			at, _ := strconv.ParseInt(m[1], 16, 64)
			for i, b := range strings.Fields(m[2]) {
				text, ok := starts[int(at)+i]
				if !ok || b != "62" {
					continue
				}
				wide := strings.HasSuffix(name, "AVX512") || strings.HasSuffix(name, "AMX")
				if evex[wide]++; !wide {
					t.Errorf("%s: %s is an instruction of AVX-512", name, text)
				}
			}
		}
	}
	if evex[true] < 1000 {
		t.Errorf("%d instructions of AVX-512 in all: the listing of the assembler is not understood here", evex[true])
	}
}
