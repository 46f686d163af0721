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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"verity/tools/must"
	"verity/wer"
	"verity/wer/normalize"
)

// options are the flags, and the directory of the sets.
type options struct {
	dir                       string
	build, starts, align      bool
	data, python, peers, keep string
	words                     int
	seed                      uint64
	systems, sets             string
	errors                    bool
}

func main() {
	var o options
	flag.BoolVar(&o.build, "build", false, "build the sets, then stop")
	flag.StringVar(&o.data, "data", "../shared/data", "`directory` of the recordings that the sets are made of")
	flag.IntVar(&o.words, "words", 0, "with -build, the smallest `number` of words in a set, if there are enough recordings (1000); without, how many words of each set to use (all)")
	flag.Uint64Var(&o.seed, "seed", 1, "build: `seed` of noise and cuts")
	flag.StringVar(&o.systems, "systems", "inside=bin/verity", "`NAME=COMMAND`s to compare, separated by semicolons")
	flag.StringVar(&o.python, "python", "bin/peers/venv/bin/python", "the Python `program` that has the peers")
	flag.StringVar(&o.peers, "peers", "tools/accuracy/peers.py", "the `script` that runs them")
	flag.StringVar(&o.sets, "only", "", "only these `sets`, separated by commas")
	flag.StringVar(&o.keep, "keep", "", "`file` in which texts are stored")
	flag.BoolVar(&o.starts, "starts", false, "print how far the starts and ends of words are off, of the set whose words have times")
	flag.BoolVar(&o.align, "align", false, "align the texts of that set, also with wrong words, and print how far words are off (--align)")
	flag.BoolVar(&o.errors, "v", false, "show every text with errors")
	flag.Parse()
	log.SetOutput(io.Discard) // the FLAC library writes there
	if flag.NArg() != 1 {
		must.Do(fmt.Errorf("got %d arguments, want the directory of the sets", flag.NArg()))
	}
	o.dir = flag.Arg(0)
	if o.build {
		o.words = cmp.Or(o.words, 1000)
		(&builder{options: o}).build()
		return
	}
	items := must.Get(readLines[item](filepath.Join(o.dir, "manifest.jsonl")))
	switch systems := o.readSystems(); {
	case o.align:
		compareAligned(o.dir, o.seed, timed(items), systems)
	case o.starts:
		compareTimes(o.dir, timed(items), systems)
	default:
		o.compare(items, systems)
	}
}

// wanted reports whether -only allows a set.
func (o *options) wanted(set string) bool {
	return o.sets == "" || slices.Contains(strings.Split(o.sets, ","), set)
}

// A system is a program to compare.
type system struct {
	name    string
	command []string
	seconds map[string]float64      // of processor time, by set
	texts   map[string]string       // by path of the recording
	counts  map[string][]wer.Counts // by set
}

func (o *options) readSystems() (all []*system) {
	for text := range strings.SplitSeq(o.systems, ";") {
		name, command, ok := strings.Cut(text, "=")
		if !ok {
			must.Do(fmt.Errorf("systems: got %q, want NAME=COMMAND", text))
		}
		all = append(all, &system{name, strings.Fields(command), map[string]float64{}, map[string]string{}, map[string][]wer.Counts{}})
	}
	return all
}

// compare transcribes the sets with every system and prints the table.
func (o *options) compare(items []item, all []*system) {
	for _, i := range items { // a second time
		if i.Set == "two languages" {
			i.Set = "two languages --multilingual"
			items = append(items, i)
		}
	}
	var sets []string
	of, length := map[string][]item{}, map[string]int{} // recordings and words, by set
	for _, i := range items {
		if !o.wanted(i.Set) || o.words > 0 && length[i.Set] >= o.words {
			continue
		}
		if of[i.Set] == nil {
			sets = append(sets, i.Set)
		}
		of[i.Set], length[i.Set] = append(of[i.Set], i), length[i.Set]+len(strings.Fields(i.Text))
	}
	for _, s := range all {
		for _, set := range sets {
			o.transcribeSet(s, set, of[set])
			o.score(s, set, of[set])
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
func (o *options) transcribeSet(s *system, set string, items []item) {
	if o.keep != "" {
		rows, err := readLines[stored](o.keep)
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
	r.Texts, r.Seconds = o.transcribe(s, set, items)
	s.store(r)
	if o.keep == "" {
		return
	}
	f := must.Get(os.OpenFile(o.keep, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644))
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
func (o *options) transcribe(s *system, set string, items []item) (texts []string, seconds float64) {
	arguments := slices.Clone(s.command[1:])
	multilingual := strings.HasSuffix(set, "--multilingual")
	program := s.command[0]
	if program == "peer" {
		program, arguments = o.python, append([]string{o.peers, s.name}, append(arguments, fmt.Sprint(multilingual))...)
	} else if arguments = append(arguments, "--output-format", "json", "--quiet"); multilingual {
		arguments = append(arguments, "--multilingual")
	}
	for _, i := range items {
		arguments = append(arguments, filepath.Join(o.dir, i.Audio))
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
func (o *options) score(s *system, set string, items []item) {
	var scorer wer.Scorer
	for _, i := range items {
		normalized := normalize.Basic
		if i.Lang == "en" {
			normalized = normalize.English
		}
		text := s.texts[set+"/"+i.Audio]
		score := must.Get(scorer.Score(context.Background(), normalized(i.Text), normalized(text)))
		s.counts[set] = append(s.counts[set], score.Words)
		if o.errors && score.Words.Errors() > 0 {
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
			if wer.Sum(s.counts[set]).Ref() > 0 && !strings.HasSuffix(set, "--multilingual") {
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
				fmt.Printf("| %s | %d, %d |", set, len(c), wer.Sum(c).Ref())
			}
			fmt.Printf(" %s", cell(wer.Sum(c)))
			if i > 0 && wer.Sum(c).Ref() > 0 {
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

// cell is the rate with its substitutions, deletions and insertions.
func cell(c wer.Counts) string {
	if c.Ref() == 0 {
		return fmt.Sprintf("%d words", c.Ins)
	}
	return fmt.Sprintf("%.2f (%d/%d/%d)", 100*c.Rate(), c.Subs, c.Dels, c.Ins)
}
