package lint_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// commandWords is what only commands say: a flag, or a command of the program.
var commandWords = regexp.MustCompile(`(^|[^-\w])--[a-z]{2,}|\bverity (info|models|transcribe|listen|watch|serve|eval|compare|report|bench|selftest|quantize|synth)\b`)

// TestLibraryFlags checks that nothing below cmd speaks of command-line flags: an error has a
// field or a cause, and the command adds the flag.
func TestLibraryFlags(t *testing.T) {
	for text, want := range map[string]bool{"name it with --model": true, "(--offline)": true, "verity info lists them": true, "a--b": false, "the verity program": false} {
		if commandWords.MatchString(text) != want {
			t.Fatalf("%q: want %v", text, want)
		}
	}
	for _, s := range sources(t) {
		if s.test() || strings.HasPrefix(s.dir, "cmd") || strings.HasPrefix(s.dir, "tools") || strings.HasPrefix(s.dir, "internal/kernel/_asm") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && commandWords.MatchString(text) {
				t.Errorf("%s: %s: name the field or the cause; commands add their flags", s.set.Position(literal.Pos()), literal.Value)
			}
			return true
		})
	}
}
