package normalize

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// open returns the lines of a golden file; its first is the header.
func open(t testing.TB, name string) *bufio.Scanner {
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		t.Fatalf("%s: empty", name)
	}
	return lines
}

// A golden is an input and upstream's result.
type golden struct {
	S    string
	E, B string
	D, L *string // nil for ASCII inputs
}

func goldens(t testing.TB) []golden {
	lines := open(t, "strings.jsonl.gz")
	t.Logf("goldens: %s", lines.Text())
	var all []golden
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

var variants = []func(string) string{
	English, Basic, withoutDiacritics, spelled,
}

// withoutDiacritics is upstream's remove_diacritics: é as e, ø as o and ß as ss.
func withoutDiacritics(s string) string {
	return slices.Concat(steps{lowerValid}, withoutBrackets,
		steps{func(s string) string { return dropSymbolsAndDiacritics(s, "") }, lower}, singleSpaces).apply(s)
}

// spelled is upstream's split_letters: a space between all grapheme clusters.
func spelled(s string) string {
	last := len(basic) - len(singleSpaces)
	return slices.Concat(basic[:last], steps{func(s string) string {
		var b strings.Builder
		for letters := uniseg.NewGraphemes(s); letters.Next(); {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(letters.Str())
		}
		return b.String()
	}}, singleSpaces).apply(s)
}

func TestUpstream(t *testing.T) {
	all := goldens(t)
	wrong, changed := 0, 0
	for _, g := range all {
		for i, want := range []*string{&g.E, &g.B, g.D, g.L} {
			if want == nil {
				continue
			}
			if *want != g.S {
				changed++
			}
			if got := variants[i](g.S); got != *want {
				if wrong++; wrong < 20 {
					t.Errorf("variant %d of %q\n got %q\nwant %q", i, g.S, got, *want)
				}
			}
		}
	}
	t.Logf("%d strings, %d results differ from their input, %d mismatches", len(all), changed, wrong)
	if len(all) < 5000 || changed < len(all) {
		t.Error("the fixture is too small to mean anything")
	}
}

// TestEveryCodePoint puts every character of Unicode 14 through all variants,
// alone, between letters and digits, and around capital sigma. With -short it is
// one block of 256 in sixteen.
func TestEveryCodePoint(t *testing.T) {
	var want struct {
		Ranges [][2]rune
		Hashes []string
	}
	if err := json.Unmarshal(open(t, "codepoints.json.gz").Bytes(), &want); err != nil {
		t.Fatal(err)
	}
	var block []rune
	n := 0
	check := func() {
		if testing.Short() && n%16 != 0 {
			block = block[:0]
			n++
			return
		}
		h := sha256.New()
		for _, r := range block {
			for _, f := range variants {
				h.Write([]byte(f(probe(r)) + "\n"))
			}
		}
		if got := hex.EncodeToString(h.Sum(nil))[:16]; got != want.Hashes[n] {
			t.Errorf("block %d, U+%04X to U+%04X: not what upstream makes of it", n, block[0], block[len(block)-1])
		}
		block = block[:0]
		n++
	}
	for _, rg := range want.Ranges {
		for r := rg[0]; r <= rg[1]; r++ {
			if block = append(block, r); len(block) == 256 {
				check()
			}
		}
	}
	check()
	if n != len(want.Hashes) {
		t.Errorf("checked %d of %d blocks", n, len(want.Hashes))
	}
}

// probe is probe of normalize_goldens.py.
func probe(r rune) string {
	const pattern = "_a_1_ AΣ_B A_Σ ._mr_2,_ it_'s Σ_"
	return strings.ReplaceAll(pattern, "_", string(r))
}
