package zlibsize

import (
	"strings"
	"testing"
)

func TestLen(t *testing.T) {
	tests := []struct {
		name, text string
		want       int // of Python's zlib.compress
		why        string
	}{
		{"empty", "", 8, "a fixed block of nothing but its end"},
		{"byte", "a", 9, "the last literal is written after the loop"},
		{"loop", strings.Repeat(" Thank you.", 40), 24, "the case the gate is there for"},
		{"speech", "And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country.", 80,
			"ordinary text stays far below the threshold"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Len(tt.text); got != tt.want {
				t.Errorf("Len = %d, want %d (%s)", got, tt.want, tt.why)
			}
		})
	}
}

// FuzzLen checks what holds for every text: the length is within zlib's own
// bound, and no shorter than the best that matches of 258 bytes could do.
func FuzzLen(f *testing.F) {
	for n := range 21 {
		f.Add(string(ruleText(n)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, got := len(text), Len(text)
		if n > mostBytes {
			return
		}
		if bound := n + n>>12 + n>>14 + n>>25 + 13; got > bound {
			t.Errorf("Len = %d, more than compressBound(%d) = %d", got, n, bound)
		}
		if least := 8 + n/1032 - 1; got < least {
			t.Errorf("Len = %d of %d bytes, deflate cannot go below %d", got, n, least)
		}
	})
}

// FuzzHuffman checks that the lengths make a complete code within the limit.
func FuzzHuffman(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte{1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233}, true)
	f.Fuzz(func(t *testing.T, freq []byte, short bool) {
		if len(freq) > 19 {
			freq = freq[:19] // more would not fit in 7 bits
		}
		counts := make([]int, 19)
		for i, f := range freq {
			counts[i] = int(f) * int(f)
		}
		limit := 15
		if short {
			limit = 7
		}
		room := 0 // in units of the longest code
		for s, n := range huffman(counts, limit) {
			if n > limit || n == 0 && counts[s] > 0 {
				t.Fatalf("symbol %d of frequency %d has %d bits, limit %d", s, counts[s], n, limit)
			}
			if n > 0 {
				room += 1 << (limit - n)
			}
		}
		if room != 1<<limit {
			t.Errorf("the code fills %d of %d", room, 1<<limit)
		}
	})
}

func BenchmarkLen(b *testing.B) {
	text := string(ruleText(1))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Len(text)
	}
}
