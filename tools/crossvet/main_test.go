package main

import (
	"strings"
	"testing"
)

func TestVet(t *testing.T) {
	for _, c := range []struct{ platform, pattern, tags, want string }{
		{"windows/arm64", "./assigned", "", "assign: self-assignment of n"},
		{"darwin/amd64", "./assigned", "", "cannot use 2 * n"},
		{"linux/arm64", "./assigned", "", ""},
		{"linux/amd64", "./printed", "", "strangers: v may hold any number of values"},
		{"linux/amd64", "./printed", "", "strangers: list may hold"},
		{"linux/amd64", "./assembly", "", "asmdecl: [amd64] Add: unknown variable c"},
		{"linux/arm64", "./assembly", "", ""},
		{"linux/arm64", "./assembly", "odd", "assign: self-assignment of n"},
	} {
		findings, err := vet("testdata", c.tags, c.platform, c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(findings, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s on %s: got %q, want %q", c.pattern, c.platform, got, c.want)
		}
	}
}

func TestVetWantsPlatform(t *testing.T) {
	if _, err := vet("", "", "windows"); err == nil || !strings.Contains(err.Error(), "linux/arm64") {
		t.Errorf("got %v, want an error that names an example", err)
	}
}
