package zlibsize

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/lengths.txt
var lengths string

// mostBytes is where one block may end.
const mostBytes = 1<<14 - 1

// TestLenGolden compares with the lengths that Python's zlib gave, of texts made
// by the same rule as in tools/reference/zlib_goldens.py.
func TestLenGolden(t *testing.T) {
	digest, want := readGoldens(t)
	hash := sha256.New()
	bad := 0
	for n, want := range want {
		text := ruleText(n)
		hash.Write(text)
		if len(text) > mostBytes { // zlib makes several blocks of most
			continue
		}
		if got := Len(string(text)); got != want {
			if bad++; bad <= 10 {
				t.Errorf("text %d, %d bytes: Len = %d, want %d as zlib", n, len(text), got, want)
			}
		}
	}
	if got := fmt.Sprintf("%x", hash.Sum(nil)); got != digest {
		t.Errorf("the texts are not those of the script: sha256 %s, want %s", got, digest)
	}
	if bad > 0 {
		t.Errorf("%d of %d texts differ", bad, len(want))
	}
}

func readGoldens(t *testing.T) (digest string, want []int) {
	t.Helper()
	for s := bufio.NewScanner(strings.NewReader(lengths)); s.Scan(); {
		line := s.Text()
		if strings.HasPrefix(line, "#") {
			digest = line[strings.LastIndexByte(line, ' ')+1:]
			continue
		}
		n, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, n)
	}
	if len(want) != 4000 {
		t.Fatalf("testdata/lengths.txt has %d lengths, want 4000", len(want))
	}
	return digest, want
}

var ruleWords = strings.Split("the quick zero one two three four five six seven eight nine and so it was said that "+
	"nobody knew why, Thank you. ♪ 日本語 はい だから ёж übergrößenträger I'm sorry... ", " ")

// A rule is a counter run through splitmix64.
type rule uint64

func (r *rule) next(below int) int {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return int((z ^ z>>31) % uint64(below))
}

func (r *rule) length(n int) int {
	switch {
	case n%100 == 99:
		return 20000 + r.next(180000)
	case n%10 == 9:
		return r.next(20000)
	}
	return r.next(600)
}

func (r *rule) noise(size, symbols int) []byte {
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(r.next(symbols)*7 + 33)
	}
	return out
}

func (r *rule) words(size, few int) []byte {
	var out []byte
	for len(out) < size {
		out = append(append(out, ' '), ruleWords[r.next(few)]...)
	}
	return out[:size]
}

func (r *rule) loop(size int) []byte {
	phrase := r.words(1+r.next(400), len(ruleWords))
	var out []byte
	for len(out) < size {
		out = append(out, phrase...)
		if r.next(4) == 0 {
			out = append(out, r.noise(1+r.next(3), 100)...)
		}
	}
	return out[:size]
}

func (r *rule) far(size int) []byte {
	out := r.noise(min(size, 300), 256)
	for len(out) < size {
		if r.next(3) == 0 {
			out = append(out, r.noise(1+r.next(40), 256)...)
			continue
		}
		at := len(out) - 1 - r.next(min(len(out), 40000))
		out = append(out, out[at:min(len(out), at+3+r.next(300))]...)
	}
	return out[:size]
}

func (r *rule) skewed(size int) []byte {
	var out []byte
	for len(out) < size {
		k := byte(0)
		for k < 40 && r.next(13) < 5 {
			k++
		}
		out = append(out, 65+k)
	}
	return out
}

// ruleText returns text n of the goldens.
func ruleText(n int) []byte {
	r := rule(uint64(n) * 0x9E3779B97F4A7C15)
	size := r.length(n)
	switch n % 7 {
	case 0:
		return r.noise(size, 1+r.next(256))
	case 1:
		return r.words(size, len(ruleWords))
	case 2:
		return r.words(size, 1+r.next(4))
	case 3:
		return r.loop(size)
	case 4:
		return r.far(size)
	case 5:
		return r.skewed(size)
	}
	return bytes.Repeat([]byte{byte(33 + r.next(90))}, size)
}
