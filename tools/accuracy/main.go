// Accuracy builds sets of hard recordings from real speech, and compares the words of programs on them.
//
//	go run ./tools/accuracy -build -data ../shared/data -words 1000 DIR
//	go run ./tools/accuracy -systems 'base=bin/verity -m DIR --precision int8;inside=bin/verity' DIR
//	go run ./tools/accuracy -align -systems 'base=bin/verity …' DIR
//	go run ./tools/accuracy -systems 'base=bin/verity …;faster-whisper=peer MODEL;whisper.cpp=peer q8_0' DIR
//
// A system is a name and a command, which gets the files and options for JSON appended. "peer" and a model run another
// program by peers.py: faster-whisper, openai-whisper or whisper.cpp. The table has a row for each set: the word error
// rate in percent, with substitutions, deletions and insertions, and for all systems but the first the difference to it
// with an interval of 95 % over recordings; for recordings without speech, the words that the program invented. English
// is normalized as English, all else by the basic rules. Processor time is of one run, and includes loading.
//
// "two languages" is transcribed with --multilingual too, if the program has that. -keep stores every
// text, so that a second run transcribes only what is new. -words 60 reads only the first 60 words or so of each set.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/gonum/stat"

	"verity/tools/must"
	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

var (
	build   = flag.Bool("build", false, "build the sets, then stop")
	data    = flag.String("data", "../shared/data", "`directory` of the recordings that the sets are made of")
	words   = flag.Int("words", 0, "with -build, the smallest `number` of words in a set, if there are enough recordings (1000); without, how many words of each set to use (all)")
	seed    = flag.Uint64("seed", 1, "build: `seed` of noise and cuts")
	systems = flag.String("systems", "inside=bin/verity", "`NAME=COMMAND`s to compare, separated by semicolons")
	python  = flag.String("python", "bin/peers/venv/bin/python", "the Python `program` that has the peers")
	peers   = flag.String("peers", "tools/accuracy/peers.py", "the `script` that runs them")
	only    = flag.String("only", "", "only these `sets`, separated by commas")
	keep    = flag.String("keep", "", "`file` in which texts are stored")
	starts  = flag.Bool("starts", false, "print how far the starts and ends of words are off, of the set whose words have times")
	aligned = flag.Bool("align", false, "align the texts of that set, also with wrong words, and print how far words are off (--align)")
	show    = flag.Bool("v", false, "show every text with errors")
)

func main() {
	flag.Parse()
	log.SetOutput(io.Discard) // the FLAC library writes there
	if flag.NArg() != 1 {
		must.Do(fmt.Errorf("got %d arguments, want the directory of the sets", flag.NArg()))
	}
	if *build {
		(&builder{data: *data, out: flag.Arg(0), words: cmp.Or(*words, 1000), seed: *seed}).build()
		return
	}
	compare(flag.Arg(0))
}

// wanted reports whether -only allows a set.
func wanted(set string) bool { return *only == "" || slices.Contains(strings.Split(*only, ","), set) }

// A system is a program to compare.
type system struct {
	name    string
	command []string
	seconds map[string]float64      // of processor time, by set
	texts   map[string]string       // by path of the recording
	counts  map[string][]wer.Counts // by set
}

// compare transcribes the sets with every system and prints the table.
func compare(dir string) {
	items := must.Get(readLines[item](filepath.Join(dir, "manifest.jsonl")))
	for _, i := range items { // a second time
		if i.Set == "two languages" {
			i.Set = "two languages --multilingual"
			items = append(items, i)
		}
	}
	var all []*system
	for text := range strings.SplitSeq(*systems, ";") {
		name, command, ok := strings.Cut(text, "=")
		if !ok {
			must.Do(fmt.Errorf("systems: got %q, want NAME=COMMAND", text))
		}
		all = append(all, &system{name: name, command: strings.Fields(command)})
	}
	if *aligned {
		compareAligned(dir, items, all)
		return
	}
	if *starts {
		compareTimes(dir, items, all)
		return
	}
	var sets []string
	of, length := map[string][]item{}, map[string]int{} // recordings and words, by set
	for _, i := range items {
		if !wanted(i.Set) || *words > 0 && length[i.Set] >= *words {
			continue
		}
		if of[i.Set] == nil {
			sets = append(sets, i.Set)
		}
		of[i.Set], length[i.Set] = append(of[i.Set], i), length[i.Set]+len(strings.Fields(i.Text))
	}
	for _, s := range all {
		s.seconds, s.texts, s.counts = map[string]float64{}, map[string]string{}, map[string][]wer.Counts{}
		for _, set := range sets {
			s.transcribeSet(dir, set, of[set])
			s.score(set, of[set])
		}
	}
	printTable(all, sets)
}

// A stored line of the file of -keep: recordings of a set, transcribed in one run.
type stored struct {
	System, Set  string
	Audio, Texts []string
	Seconds      float64
}

// transcribeSet transcribes the recordings of a set whose texts are not stored.
func (s *system) transcribeSet(dir, set string, items []item) {
	if *keep != "" {
		rows, err := readLines[stored](*keep)
		if !errors.Is(err, os.ErrNotExist) {
			must.Do(err)
		}
		for _, r := range rows {
			if r.System == s.name && r.Set == set {
				s.store(r)
			}
		}
	}
	items = slices.DeleteFunc(slices.Clone(items), func(i item) bool { _, ok := s.texts[set+"/"+i.Audio]; return ok })
	if len(items) == 0 {
		return
	}
	r := stored{System: s.name, Set: set}
	for _, i := range items {
		r.Audio = append(r.Audio, i.Audio)
	}
	r.Texts, r.Seconds = s.transcribe(dir, set, items)
	s.store(r)
	if *keep == "" {
		return
	}
	f := must.Get(os.OpenFile(*keep, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644))
	must.Do(json.NewEncoder(f).Encode(r))
	must.Do(f.Close())
}

// store adds the texts of a run.
func (s *system) store(r stored) {
	for i, name := range r.Audio {
		s.texts[r.Set+"/"+name] = r.Texts[i]
	}
	s.seconds[r.Set] += r.Seconds
}

// transcribe runs the program and returns the texts and the seconds of processor time.
func (s *system) transcribe(dir, set string, items []item) (texts []string, seconds float64) {
	arguments := slices.Clone(s.command[1:])
	multilingual := strings.HasSuffix(set, "--multilingual")
	program := s.command[0]
	if program == "peer" {
		program, arguments = *python, append([]string{*peers, s.name}, append(arguments, fmt.Sprint(multilingual))...)
	} else if arguments = append(arguments, "--output-format", "json", "--quiet"); multilingual {
		arguments = append(arguments, "--multilingual")
	}
	for _, i := range items {
		arguments = append(arguments, filepath.Join(dir, i.Audio))
	}
	command := exec.Command(program, arguments...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		must.Do(fmt.Errorf("%s: %s: %w", s.name, set, err))
	}
	for d := json.NewDecoder(&out); d.More(); {
		var t struct{ Text string }
		must.Do(d.Decode(&t))
		texts = append(texts, t.Text)
	}
	if len(texts) != len(items) {
		must.Do(fmt.Errorf("%s: %s: got %d texts, want %d", s.name, set, len(texts), len(items)))
	}
	used := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return texts, used.Seconds()
}

// score counts the errors in the texts of a set.
func (s *system) score(set string, items []item) {
	var scorer wer.Scorer
	for _, i := range items {
		normalized := normalize.Basic
		if i.Lang == "en" {
			normalized = normalize.English
		}
		text := s.texts[set+"/"+i.Audio]
		score := must.Get(scorer.Score(context.Background(), normalized(i.Text), normalized(text)))
		s.counts[set] = append(s.counts[set], score.Words)
		if *show && score.Words.Errors() > 0 {
			fmt.Printf("%s, %s: %+v\n  want %s\n  got  %s\n", s.name, i.Audio, score.Words,
				normalized(i.Text), normalized(text))
		}
	}
}

// printTable prints a Markdown table.
func printTable(all []*system, sets []string) {
	pooled := make([][]wer.Counts, len(all))
	fmt.Print("| set | recordings, words |")
	for i, s := range all {
		fmt.Printf(" %s |", s.name)
		for _, set := range sets {
			if sum(s.counts[set]).Ref() > 0 && !strings.HasSuffix(set, "--multilingual") {
				pooled[i] = append(pooled[i], s.counts[set]...)
			}
		}
	}
	fmt.Println("\n|---|---|" + strings.Repeat("---|", len(all)))
	for _, set := range append(slices.Clone(sets), "all") {
		for i, s := range all {
			c, first := s.counts[set], all[0].counts[set]
			if set == "all" {
				c, first = pooled[i], pooled[0]
			}
			if i == 0 {
				fmt.Printf("| %s | %d, %d |", set, len(c), sum(c).Ref())
			}
			fmt.Printf(" %s", cell(sum(c)))
			if i > 0 && sum(c).Ref() > 0 {
				d := wer.Difference(c, first)
				fmt.Printf(", %+.2f to %+.2f", 100*d.Low, 100*d.High)
			}
			fmt.Print(" |")
		}
		fmt.Println()
	}
	fmt.Print("| processor seconds | |")
	for _, s := range all {
		total := 0.0
		for _, set := range sets {
			total += s.seconds[set]
		}
		fmt.Printf(" %.0f |", total)
	}
	fmt.Println()
}

func sum(counts []wer.Counts) (c wer.Counts) {
	for _, x := range counts {
		c = c.Plus(x)
	}
	return c
}

// compareTimes prints how far the starts and ends of words are from where they are known to be. Every word that the
// alignment of both texts finds in both of them counts.
func compareTimes(dir string, items []item, all []*system) {
	items = slices.DeleteFunc(items, func(i item) bool { return i.Words == nil })
	fmt.Println("| system, words | number | starts off, s: mean | within 0.1 s | over 0.3 s | ends off, s: mean | within 0.1 s | over 0.3 s |\n|---|---|---|---|---|---|---|---|")
	for _, s := range all {
		starts, ends := map[string][]float64{}, map[string][]float64{} // by kind of word
		for _, i := range items {
			command := append(slices.Clone(s.command), "--word-timestamps", "--output-format", "json", "--quiet", filepath.Join(dir, i.Audio))
			out := must.Get(exec.Command(command[0], command[1:]...).Output())
			var t transcript.Transcript
			must.Do(json.Unmarshal(out, &t))
			var found []transcript.Word
			for _, segment := range t.Segments {
				found = append(found, segment.Words...)
			}
			ids := map[string]int32{}
			id := func(word string) int32 {
				word = normalize.English(word)
				if _, ok := ids[word]; !ok {
					ids[word] = int32(len(ids))
				}
				return ids[word]
			}
			var ref, hyp []int32
			for _, w := range i.Words {
				ref = append(ref, id(w.Word))
			}
			for _, w := range found {
				hyp = append(hyp, id(w.Word))
			}
			for _, p := range wer.Align(ref, hyp) {
				if p.Op != wer.Hit {
					continue
				}
				kinds := []string{"all"}
				if i.Words[p.Ref].AfterPause {
					kinds = append(kinds, "after a pause")
				}
				if p.Ref+1 == len(i.Words) || i.Words[p.Ref+1].AfterPause {
					kinds = append(kinds, "before a pause")
				}
				for _, kind := range kinds {
					starts[kind] = append(starts[kind], distance(found[p.Hyp].Start, i.Words[p.Ref].Start))
					ends[kind] = append(ends[kind], distance(found[p.Hyp].End, i.Words[p.Ref].End))
				}
			}
		}
		for _, kind := range []string{"all", "after a pause", "before a pause"} {
			fmt.Printf("| %s, %s | %d |", s.name, kind, len(starts[kind]))
			for _, off := range [][]float64{starts[kind], ends[kind]} {
				slices.Sort(off)
				fmt.Printf(" %.3f | %.1f %% | %d |", stat.Mean(off, nil), 100*stat.CDF(0.1, stat.Empirical, off, nil), len(off)-sort.SearchFloat64s(off, 0.3))
			}
			fmt.Println()
		}
	}
}

// distance returns how far two times are apart, in whole milliseconds: 0.1 s is within 0.1 s.
func distance(a, b float64) float64 { return math.Round(math.Abs(a-b)*1000) / 1000 }

// cell is the rate with its substitutions, deletions and insertions.
func cell(c wer.Counts) string {
	if c.Ref() == 0 {
		return fmt.Sprintf("%d words", c.Ins)
	}
	return fmt.Sprintf("%s (%d/%d/%d)", cmp.Or(fmt.Sprintf("%.2f", 100*c.Rate()), "0"), c.Subs, c.Dels, c.Ins)
}
