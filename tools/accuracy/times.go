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
	"verity/wer"
	"verity/wer/normalize"
)

// timed returns the recordings whose words have times.
func timed(items []item) []item {
	return slices.DeleteFunc(items, func(i item) bool { return i.Words == nil })
}

// transcript runs a system with some options on a recording. It returns the transcript, and the words of all its segments.
func (s *system) transcript(sound string, options ...string) (t transcript.Transcript, words []transcript.Word) {
	command := slices.Concat(s.command, options, []string{"--output-format", "json", "--quiet", sound})
	must.Do(json.Unmarshal(must.Get(exec.Command(command[0], command[1:]...).Output()), &t))
	for _, segment := range t.Segments {
		words = append(words, segment.Words...)
	}
	return t, words
}

// timing is how far the starts and ends of words are from where they are known to be.
type timing struct{ starts, ends distances }

func (t *timing) add(found transcript.Word, known timedWord) {
	t.starts = append(t.starts, math.Abs(found.Start-known.Start))
	t.ends = append(t.ends, math.Abs(found.End-known.End))
}

type distances []float64 // in seconds

// within returns how many distances are no longer than a limit, and their percentage.
func (d distances) within(limit float64) (n int, percent float64) {
	for _, x := range d {
		if x <= limit+1e-9 {
			n++
		}
	}
	return n, 100 * float64(n) / float64(len(d))
}

// compareTimes prints how far words are off, by kind: those that the alignment of both texts finds in both of them.
func compareTimes(dir string, items []item, all []*system) {
	fmt.Println("| system, words | number | starts off, s: mean | within 0.1 s | over 0.3 s | ends off, s: mean | within 0.1 s | over 0.3 s |\n|---|---|---|---|---|---|---|---|")
	const half = 0.0005 // distances count in whole milliseconds
	kinds := []string{"all", "after a pause", "before a pause"}
	for _, s := range all {
		times := make([]timing, len(kinds))
		for _, i := range items {
			_, words := s.transcript(filepath.Join(dir, i.Audio), "--word-timestamps")
			for _, p := range sameWords(i.Words, words) {
				beforePause := p.Ref+1 == len(i.Words) || i.Words[p.Ref+1].AfterPause
				for k, is := range []bool{true, i.Words[p.Ref].AfterPause, beforePause} {
					if is {
						times[k].add(words[p.Hyp], i.Words[p.Ref])
					}
				}
			}
		}
		for k, t := range times {
			fmt.Printf("| %s, %s | %d |", s.name, kinds[k], len(t.starts))
			for _, d := range []distances{t.starts, t.ends} {
				_, close := d.within(0.1 + half)
				near, _ := d.within(0.3 + half)
				fmt.Printf(" %.3f | %.1f %% | %d |", stat.Mean(d, nil), close, len(d)-near)
			}
			fmt.Println()
		}
	}
}

// sameWords aligns two texts and returns the pairs of equal words.
func sameWords(known []timedWord, found []transcript.Word) []wer.Pair {
	var vocabulary wer.Vocabulary
	number := func(dst []int32, word string) []int32 { // always one, also if normalizing makes two words or none of it
		return vocabulary.Words(dst, "="+strings.ReplaceAll(normalize.English(word), " ", "="))
	}
	var ref, hyp []int32
	for _, w := range known {
		ref = number(ref, w.Word)
	}
	for _, w := range found {
		hyp = number(hyp, w.Word)
	}
	return slices.DeleteFunc(wer.Align(ref, hyp), func(p wer.Pair) bool { return p.Op != wer.Hit })
}

// A givenWord is a word of a text with the index of the word that is said, or -1.
type givenWord struct {
	text string
	said int
}

// A change makes a text out of what is said.
type change struct {
	name string
	make func(said givenWord, other string) []givenWord // of a word that changes; nil: none does
}

var changes = []change{
	{"as said", nil},
	{"10 % deleted", func(givenWord, string) []givenWord { return nil }},
	{"10 % inserted", func(said givenWord, other string) []givenWord { return []givenWord{{other, -1}, said} }},
	{"10 % replaced", func(_ givenWord, other string) []givenWord { return []givenWord{{other, -1}} }},
}

// apply changes a tenth of the words of a text. It returns how many.
func (c change) apply(text string, others []string, r *rand.Rand) (given []givenWord, wrong int) {
	for k, w := range strings.Fields(text) {
		said, other := givenWord{w, k}, others[r.IntN(len(others))]
		if r.IntN(10) > 0 || c.make == nil {
			given = append(given, said)
		} else {
			given, wrong = append(given, c.make(said, other)...), wrong+1
		}
	}
	return given, wrong
}

// compareAligned aligns the texts of the set whose words have times, and texts with wrong words. It prints how far the words
// that are said are from where they are known to be, how many move by more than 0.1 s if other words are wrong, and how many
// words are reported as different.
func compareAligned(dir string, seed uint64, items []item, all []*system) {
	var vocabulary []string
	for _, i := range items {
		vocabulary = append(vocabulary, strings.Fields(i.Text)...)
	}
	fmt.Println("| system | text | words | starts within 0.1, 0.2 s | off, mean | ends within 0.1, 0.2 s | off, mean | moved by others | wrong words | reported |\n" +
		"|---|---|---|---|---|---|---|---|---|---|")
	for _, s := range all {
		right := map[[2]int]float64{} // starts with the text as said, by recording and word
		for _, c := range changes {
			var times timing
			moved, wrong, reported := 0, 0, 0
			for n, i := range items {
				given, changed := c.apply(i.Text, vocabulary, rand.New(rand.NewPCG(seed, uint64(n))))
				wrong += changed
				t, words := s.align(filepath.Join(dir, i.Audio), given)
				for _, d := range t.Differences {
					reported += max(len(strings.Fields(d.Text)), len(strings.Fields(d.Heard)))
				}
				for k, g := range given {
					if g.said < 0 {
						continue
					}
					times.add(words[k], i.Words[g.said])
					key := [2]int{n, g.said}
					if c.make == nil {
						right[key] = words[k].Start
					} else if math.Abs(words[k].Start-right[key]) > 0.1 {
						moved++
					}
				}
			}
			fmt.Printf("| %s | %s | %d |", s.name, c.name, len(times.starts))
			for _, d := range []distances{times.starts, times.ends} {
				_, close := d.within(0.1)
				_, near := d.within(0.2)
				fmt.Printf(" %.1f, %.1f %% | %.3f s |", close, near, stat.Mean(d, nil))
			}
			fmt.Printf(" %.1f %% | %d | %d |\n", 100*float64(moved)/float64(len(times.starts)), wrong, reported)
		}
	}
}

// align runs a system on a recording and a text, and returns the words of the text with their times.
func (s *system) align(sound string, given []givenWord) (t transcript.Transcript, words []transcript.Word) {
	f := must.Get(os.CreateTemp("", "text-*.txt"))
	defer os.Remove(f.Name())
	for _, g := range given {
		fmt.Fprint(f, g.text, " ")
	}
	must.Do(f.Close())
	t, parts := s.transcript(sound, "--align", f.Name())
	for _, w := range parts {
		if last := len(words) - 1; last >= 0 && !strings.HasPrefix(w.Word, " ") { // words have a space between them
			words[last].End = w.End
		} else {
			words = append(words, w)
		}
	}
	if len(words) != len(given) {
		must.Do(fmt.Errorf("%s: %s: got %d words, want %d", s.name, sound, len(words), len(given)))
	}
	return t, words
}
