package report

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/tokenizer"
	"verity/transcript"
)

// crowd writes records of as many utterances as one likes, of the size and shape
// that eval writes: some twenty words of a vocabulary of sixty thousand by Zipf's
// law, one in twenty of them wrong, half of the wrong ones no word at all, so that
// the number of distinct confusions grows with that of the utterances.
func crowd(w io.Writer, n int, assistant string) error {
	rng := rand.New(rand.NewPCG(9, 9))
	zipf := rand.NewZipf(rng, 1.1, 3, 60_000)
	run := transcript.Provenance{Program: "test", Model: "whisper", ModelID: "0b90784b7678f6f5", Assistant: assistant, Dataset: "crowd", Machine: "linux/amd64", Threads: 2, Options: map[string]string{}}
	for i := range 36 {
		run.Options[fmt.Sprintf("some-decoding-option-%d", i)] = fmt.Sprint(i)
	}
	b := bufio.NewWriter(w)
	for i := range n {
		r := &Record{ID: fmt.Sprintf("test-other/%04d/%06d/%04d-%06d-%04d", i/999, i/33, i/999, i/33, i%33), Language: "en", Run: run}
		var said, heard []string
		for range 10 + rng.IntN(20) {
			word := syllables(zipf.Uint64())
			said = append(said, word)
			switch x := rng.IntN(40); {
			case x == 0:
				word = syllables(zipf.Uint64())
			case x == 1:
				word = syllables(rng.Uint64N(1 << 40))
			}
			heard = append(heard, word)
		}
		r.Reference, r.Hypothesis, r.Duration = strings.Join(said, " "), strings.Join(heard, " "), 0.4*float64(len(said))
		for from := 0; from < len(heard); from += 10 {
			words := heard[from:min(from+10, len(heard))]
			s := transcript.Segment{Start: 4 * float64(from), End: 4*float64(from) + 4, Text: " " + strings.Join(words, " "), AvgLogProb: -rng.Float64(), CompressionRatio: 1.1, NoSpeechProb: rng.Float64() / 100}
			for j, word := range words {
				s.Tokens = append(s.Tokens, tokenizer.Token(rng.IntN(51866)), tokenizer.Token(rng.IntN(51866)))
				s.Runs = append(s.Runs, transcript.TextRun{Text: " " + word, Accepted: j%3 > 0})
			}
			r.Segments = append(r.Segments, s)
		}
		spend(r, rng, assistant != "")
		r.Run = run
		line, err := r.Line()
		if err != nil {
			return err
		}
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// syllables returns the word of a number.
func syllables(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b []byte
	for n++; n > 0; n /= 70 {
		b = append(b, consonants[n%70/5], vowels[n%5])
	}
	return string(b)
}

// crowded writes a file of n records and returns its name.
func crowded(tb testing.TB, n int, assistant string) string {
	tb.Helper()
	f, err := os.Create(filepath.Join(tb.TempDir(), "records.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := crowd(f, n, assistant); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.Name()
}
