package ctc

import (
	"os"
	"testing"
)

// BenchmarkWords measures how long it takes to read the words of English.
func BenchmarkWords(b *testing.B) {
	a := &Assistant{files: os.DirFS("base")}
	for b.Loop() {
		if a.readWords("en") == nil {
			b.Fatal("no words")
		}
	}
}
