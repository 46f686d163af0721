// Testsummary runs go test with the arguments given, shows a line for each package and everything
// about failures, and ends with what was skipped, counted by what the tests need. It writes a line
// for each skipped test to the file of $VERITY_SKIPPED: need, package and test, separated by tabs.
//
//	go run ./tools/testsummary -short ./...
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"verity/tools/must"
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())
	must.Do(cmd.Start())
	s := summary{out: os.Stdout, lines: map[string][]line{}, skipped: map[string]int{}}
	s.addAll(out)
	err := cmd.Wait()
	s.end()
	if name := os.Getenv("VERITY_SKIPPED"); name != "" {
		must.Do(os.WriteFile(name, []byte(strings.Join(s.names, "")), 0o666))
	}
	must.Do(err)
}

// An event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// A line is what a test wrote.
type line struct{ test, text string }

// A summary holds what may be shown later.
type summary struct {
	out     io.Writer
	lines   map[string][]line // of packages that are not done, without tests that passed
	skipped map[string]int
	names   []string // lines of $VERITY_SKIPPED
	failed  []string
}

func (s *summary) addAll(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		raw, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(raw, &e) == nil {
			s.add(e)
		} else {
			_, _ = s.out.Write(raw) // of go itself
		}
		if err != nil {
			return
		}
	}
}

func (s *summary) add(e event) {
	switch kept := s.lines[e.Package]; e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "output":
		s.lines[e.Package] = append(kept, line{e.Test, e.Output})
	case "pass", "skip", "fail":
		if e.Test != "" {
			s.endTest(e)
			return
		}
		for _, l := range kept {
			if e.Action == "fail" || e.Action == "pass" && strings.HasPrefix(l.text, "ok ") {
				fmt.Fprint(s.out, l.text)
			}
		}
		delete(s.lines, e.Package)
		if e.Action == "fail" {
			s.failed = append(s.failed, e.Package)
		}
	}
}

// reason finds what a skipped test needs, in the form of package needs.
var reason = regexp.MustCompile(`: needs ([^:]+): `)

func (s *summary) endTest(e event) {
	if e.Action == "skip" {
		need := "without a reason"
		for _, l := range s.lines[e.Package] {
			if m := reason.FindStringSubmatch(l.text); l.test == e.Test && m != nil {
				need = m[1]
			}
		}
		s.skipped[need]++
		top, _, _ := strings.Cut(e.Test, "/")
		s.names = append(s.names, fmt.Sprintf("%s\t%s\t%s\n", need, e.Package, top))
	}
	if e.Action != "fail" {
		s.lines[e.Package] = slices.DeleteFunc(s.lines[e.Package], func(l line) bool { return l.test == e.Test })
	}
}

// end writes the summary, the most frequent need first.
func (s *summary) end() {
	if len(s.failed) > 0 {
		fmt.Fprintf(s.out, "FAILED: %s\n", strings.Join(s.failed, ", "))
	}
	total, parts := 0, []string{}
	for _, need := range slices.SortedFunc(maps.Keys(s.skipped), func(a, b string) int {
		return cmp.Or(s.skipped[b]-s.skipped[a], strings.Compare(a, b))
	}) {
		total += s.skipped[need]
		parts = append(parts, fmt.Sprintf("%s %d", need, s.skipped[need]))
	}
	if total > 0 {
		fmt.Fprintf(s.out, "%d tests skipped, as they need: %s\n", total, strings.Join(parts, ", "))
	}
}
