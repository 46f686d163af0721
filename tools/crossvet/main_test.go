package main

import (
	"strings"
	"testing"
)

func TestVet(t *testing.T) {
	for _, c := range []struct{ platform, want string }{
		{"windows/arm64", "assign: self-assignment of n"},
		{"darwin/amd64", "cannot use 2 * n"},
		{"linux/arm64", ""},
	} {
		findings, err := vet("testdata", c.platform, "./assigned")
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(findings, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.platform, got, c.want)
		}
	}
}

func TestVetWantsPlatform(t *testing.T) {
	if _, err := vet("", "windows"); err == nil || !strings.Contains(err.Error(), "linux/arm64") {
		t.Errorf("got %v, want an error that names an example", err)
	}
}
