package lint_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestContainerfile checks that containers are built like release archives, with the Go of go.mod.
func TestContainerfile(t *testing.T) {
	text := func(name string) string {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	mod := text("go.mod")
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(mod)
	if version == nil || strings.Contains(mod, "\nreplace ") {
		t.Fatal("go.mod names no version of Go, or replaces a module, so that go install refuses it")
	}
	container := text("examples/Containerfile")
	for _, want := range []string{
		"FROM golang:" + version[1] + " AS build",
		"CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags=\"-s -w -buildid= -X main.version=$VERSION\"",
		"ca-certificates ffmpeg", // for downloads, and for what phones record
	} {
		if !strings.Contains(container, want) {
			t.Errorf("examples/Containerfile: no %q", want)
		}
	}
	if want := `-ldflags "-s -w -buildid= -X main.version=$version"`; !strings.Contains(text("tools/dist.sh"), want) {
		t.Errorf("tools/dist.sh: no %q, which examples/Containerfile has", want)
	}
}
