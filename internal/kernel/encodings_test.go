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
	"strings"
	"testing"
)

// verifiedEncodings is the hash of all words of arm64's assembly and their texts, in order, as
// llvm-mc (LLVM 14 and 19) agreed to them. TestEncodings prints the one to put here.
const verifiedEncodings = "af93601ba1d0d9e33735a84409cf9eb489e25389f5cad291a987c58c0e6053e8"

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
