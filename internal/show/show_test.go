package show

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNumbers(t *testing.T) {
	for _, tt := range [][2]string{
		{Bytes(0), "0 bytes"}, {Bytes(1), "1 byte"}, {Bytes(999), "999 bytes"}, {Bytes(6_300_000), "6.30 MB"}, {Bytes(999_400), "999 kB"},
		{Bytes(999_600), "1.00 MB"}, {Bytes(3_087_000_000), "3.09 GB"}, {Bytes(1_234_000_000_000), "1234 GB"},
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(-1234567), "-1,234,567"}, {Count(-123), "-123"},
		{Rounded(512), "512"}, {Rounded(3_100_000), "3.10 million"}, {Rounded(1_543_000_000), "1.54 billion"},
		{Some(1, "word"), "1 word"}, {Some(2000, "word"), "2,000 words"}, {Some(0, "word"), "0 words"},
		{Seconds(0), "0 s"}, {Seconds(820e-6), "820 µs"}, {Seconds(0.051), "51.0 ms"}, {Seconds(0.9996), "1.00 s"}, {Seconds(13.1), "13.1 s"},
		{Seconds(99.96), "1 min 39 s"}, {Seconds(3725), "62 min 05 s"}, {Seconds(7500), "2 h 05 min"},
		{Times(2.314), "2.31×"}, {Times(12.34), "12.3×"}, {Times(123.4), "123×"}, {Percent(0.0435), "4.35 %"},
	} {
		if tt[0] != tt[1] {
			t.Errorf("got %q, want %q", tt[0], tt[1])
		}
	}
}

func TestShort(t *testing.T) {
	for _, n := range []int{0, 2000, 2900} {
		if s := strings.Repeat("x", n); Short(s) != s {
			t.Errorf("%d bytes are not left alone", n)
		}
	}
	for shift := range 3 { // cut amid a character
		s := Short("model " + strings.Repeat("x", shift) + strings.Repeat("語", 1e5) + ": want another\n")
		if !strings.HasPrefix(s, "model ") || !strings.HasSuffix(s, ": want another\n") || len(s) > 2900 || !utf8.ValidString(s) || !strings.Contains(s, " … (297 kB) … ") {
			t.Errorf("%d bytes: %.10s … %s", len(s), s, s[len(s)-60:])
		}
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ in, name, line string }{
		{"talk.wav", "talk.wav", "talk.wav"},
		{"größe 日本.wav", "größe 日本.wav", "größe 日本.wav"},
		{"\x1b[31mred", `"\x1b[31mred"`, `\x1b[31mred`},
		{"a\nverity: all good", `"a\nverity: all good"`, `a\nverity: all good`},
		{"a\u202egnp.wav", `"a\u202egnp.wav"`, `a\u202egnp.wav`},
		{"\x9b31m", `"\x9b31m"`, "\ufffd31m"},
		{"\u009b31m", `"\u009b31m"`, `\u009b31m`},
	} {
		if got := Name(tt.in); got != tt.name {
			t.Errorf("Name(%q) = %s, want %s", tt.in, got, tt.name)
		}
		if got := Line(tt.in); got != tt.line {
			t.Errorf("Line(%q) = %s, want %s", tt.in, got, tt.line)
		}
	}
	if got := Text("one\ttwo\nthree\a"); got != "one\ttwo\nthree"+`\a` {
		t.Errorf("Text = %q", got)
	}
}
