package sniff

import (
	"strings"
	"testing"
)

func TestWhat(t *testing.T) {
	for head, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a": "git lfs pull",
		"\n <!DOCTYPE html><html lang=en>":                            "HTML page",
		"<HTML>":                                                      "HTML page",
		"\ufeff<?xml version='1.0'?><Error><Code>AccessDenied":        "XML document",
		"Entry not found":                                             "no such file",
		"PK\x03\x04rest":                                              "zip file",
		"\x80\x02}q":                                                  "pickle",
		"lmgg\x99\xca":                                                "whisper.cpp",
		"GGUF\x03":                                                    "llama.cpp",
		strings.Repeat("\x00", 64):                                    "file of zeros",
	} {
		k, ok := What([]byte(head))
		if !ok || !strings.Contains(k.String(), want) {
			t.Errorf("What(%.20q) = %v, %v, want %q in it", head, k, ok, want)
		}
	}
	for _, head := range []string{"", "{}", `{"__metadata__"`, "\x10\x00\x00\x00\x00\x00\x00\x00{}", "RIFF", "PK", "\x00\x00"} {
		if k, ok := What([]byte(head)); ok {
			t.Errorf("What(%q) = %v, want nothing", head, k)
		}
	}
}
