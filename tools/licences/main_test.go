package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTable fails when a module came, went or changed its version or licence.
func TestTable(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: the go command is not in the path")
	}
	t.Chdir("../..")
	modules, err := list(verity)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	writeTable(&got, verity, modules)
	want, err := os.ReadFile("docs/dev/LICENCES.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("docs/dev/LICENCES.md is not current: run go generate ./tools/licences. Want:\n%s", got.Bytes())
	}
	var texts bytes.Buffer
	if err := writeTexts(&texts, modules); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if m.program != strings.Contains(texts.String(), "==== "+m.path+" ") {
			t.Errorf("%s: part of the program: %v, and its text is or is not printed accordingly", m.path, m.program)
		}
	}
}

// TestUnknown wants an error of a module without a licence that is known.
func TestUnknown(t *testing.T) {
	name := t.TempDir() + "/LICENSE"
	if err := os.WriteFile(name, []byte("All rights reserved."), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, files := range [][]string{nil, {name}} {
		m := module{path: "example", files: files}
		if err := m.classify(); err == nil {
			t.Errorf("%v: no error, kinds %v", files, m.kinds)
		}
	}
}
