package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"verity/tools/must"
	"verity/transcript"
)

// A givenWord is a word of a text with the index of the word that is said, or -1.
type givenWord struct {
	text string
	said int
}

// changes make a text out of what is said: a tenth of the words deleted, inserted or replaced.
var changes = []struct {
	name string
	make func(said givenWord, other string) []givenWord // of a word that changes; nil: none does
}{
	{"as said", nil},
	{"10 % deleted", func(givenWord, string) []givenWord { return nil }},
	{"10 % inserted", func(said givenWord, other string) []givenWord { return []givenWord{{other, -1}, said} }},
	{"10 % replaced", func(_ givenWord, other string) []givenWord { return []givenWord{{other, -1}} }},
}

// compareAligned aligns the texts of the set whose words have times, and texts with wrong words. It prints how far the words
// that are said are from where they are known to be, how many move by more than 0.1 s if other words are wrong, and how many
// words are reported as different.
func compareAligned(dir string, items []item, all []*system) {
	items = slices.DeleteFunc(items, func(i item) bool { return i.Words == nil })
	var vocabulary []string
	for _, i := range items {
		vocabulary = append(vocabulary, strings.Fields(i.Text)...)
	}
	fmt.Println("| system | text | words | starts within 0.1, 0.2 s | off, mean | ends within 0.1, 0.2 s | off, mean | moved by others | wrong words | reported |\n" +
		"|---|---|---|---|---|---|---|---|---|---|")
	for _, s := range all {
		right := map[[2]int]float64{} // starts with the text as said, by recording and word
		for _, c := range changes {
			var starts, ends []float64
			moved, wrong, reported := 0, 0, 0
			for n, i := range items {
				r := rand.New(rand.NewPCG(*seed, uint64(n)))
				var given []givenWord
				for k, w := range strings.Fields(i.Text) {
					said, other := givenWord{w, k}, vocabulary[r.IntN(len(vocabulary))]
					if r.IntN(10) > 0 || c.make == nil {
						given = append(given, said)
					} else {
						given, wrong = append(given, c.make(said, other)...), wrong+1
					}
				}
				t := align(s, filepath.Join(dir, i.Audio), given)
				for _, d := range t.Differences {
					reported += max(len(strings.Fields(d.Text)), len(strings.Fields(d.Heard)))
				}
				words := t.words()
				if len(words) != len(given) {
					must.Do(fmt.Errorf("%s: %s: got %d words, want %d", s.name, i.Audio, len(words), len(given)))
				}
				for k, g := range given {
					if g.said < 0 {
						continue
					}
					known, key := i.Words[g.said], [2]int{n, g.said}
					starts, ends = append(starts, math.Abs(words[k].Start-known.Start)), append(ends, math.Abs(words[k].End-known.End))
					if c.make == nil {
						right[key] = words[k].Start
					} else if math.Abs(words[k].Start-right[key]) > 0.1 {
						moved++
					}
				}
			}
			fmt.Printf("| %s | %s | %d | %s | %.3f s | %s | %.3f s | %.1f %% | %d | %d |\n", s.name, c.name, len(starts), within(starts),
				stat.Mean(starts, nil), within(ends), stat.Mean(ends, nil), 100*float64(moved)/float64(len(starts)), wrong, reported)
		}
	}
}

// within returns the shares of values up to 0.1 and up to 0.2.
func within(values []float64) string {
	share := func(most float64) float64 {
		n := 0
		for _, v := range values {
			if v <= most+1e-9 {
				n++
			}
		}
		return 100 * float64(n) / float64(len(values))
	}
	return fmt.Sprintf("%.1f, %.1f %%", share(0.1), share(0.2))
}

// An alignedText is what a system writes.
type alignedText struct {
	Segments    []transcript.Segment
	Differences []transcript.Difference
}

// words returns the words with a space between them.
func (t alignedText) words() (words []transcript.Word) {
	for _, s := range t.Segments {
		for _, w := range s.Words {
			if last := len(words) - 1; last >= 0 && !strings.HasPrefix(w.Word, " ") {
				words[last].End = w.End
			} else {
				words = append(words, w)
			}
		}
	}
	return words
}

// align runs a system on a recording and a text.
func align(s *system, sound string, given []givenWord) (t alignedText) {
	f := must.Get(os.CreateTemp("", "text-*.txt"))
	defer os.Remove(f.Name())
	for _, g := range given {
		fmt.Fprint(f, g.text, " ")
	}
	must.Do(f.Close())
	command := append(slices.Clone(s.command), "--align", f.Name(), "--output-format", "json", "--quiet", sound)
	must.Do(json.Unmarshal(must.Get(exec.Command(command[0], command[1:]...).Output()), &t))
	return t
}
