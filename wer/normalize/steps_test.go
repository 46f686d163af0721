package normalize

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLower(t *testing.T) {
	tests := []struct{ in, want, why string }{
		{"ΟΔΥΣΣΕΥΣ", "οδυσσευς", "sigma at the end of a word"},
		{"ΑΣ.Β Σ ΑΣ'", "ασ.β σ ας'", "a full stop and an apostrophe do not end a word"},
		{"İI", "i̇i", "two characters for one"},
		{"ẞǅ", "ßǆ", "title case"},
	}
	for _, tt := range tests {
		if got := lower(tt.in); got != tt.want {
			t.Errorf("lower(%q) = %q, want %q: %s", tt.in, got, tt.want, tt.why)
		}
	}
}

func TestBeyondUpstream(t *testing.T) {
	if got := English("\xff9\xfe th"); got != " 9th" && got != "9th" {
		t.Errorf("bytes that are not UTF-8: %q", got)
	}
	long := strings.Repeat("9", maxDigits+1)
	if got := English(long + " thousand"); got != long+" 1000" {
		t.Errorf("a number of %d digits: %d characters", len(long), len(got))
	}
	long = strings.Repeat("1", maxDigits)
	if got := English(long + " thousand"); got != long[6:]+"222000" {
		t.Errorf("a number of %d digits: %d characters", maxDigits, len(got))
	}
}

// TestLongTexts checks that every step takes linear time: these take minutes if one is
// quadratic.
func TestLongTexts(t *testing.T) {
	for _, piece := range []string{"one ", "(", "[", "and a ", "1 ", "$0", "Σ", "'", " ", ".", "%", "uh ", "double one ", "point five ", "thousand ", "two thousand three ", "1.5 thousand "} {
		s := strings.Repeat(piece, 100_000/len(piece))
		English(s)
		withoutDiacritics(s)
		spelled(s)
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "one hundred and a half percent", "$2 and ¢7", "İΣ\u0301", "double \xff", "per", "point 1.", "1.2.3 million", "minus $5 dollars"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, fn := range variants {
			got := fn(s)
			if !utf8.ValidString(got) {
				t.Errorf("variant %d of %q is not UTF-8: %q", i, s, got)
			}
			if strings.Contains(got, "  ") || strings.IndexFunc(got, func(r rune) bool { return r != ' ' && isSpace(r) }) >= 0 {
				t.Errorf("variant %d of %q has white space that is not single spaces: %q", i, s, got)
			}
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	const text = "Mr. Smith didn't realise that twenty-one thousand, three hundred and five people — roughly $2.5 million worth — had come."
	for _, name := range Names() {
		fn, _ := ByName(name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				fn(text)
			}
		})
	}
}
