package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the snapshots of testdata anew")

// documents are those of which snapshots are kept.
func documents(t *testing.T) map[string]*Document {
	predicted := 2.31
	identical := compared(t, 40, nil)
	identical.Comparisons[0].Predicted = &predicted
	identical.Comparisons[0].Memory = &Pair[int64]{50 << 20, 54 << 20}
	different := compared(t, 12, func(r []*Record) {
		r[3].Hypothesis, r[3].Segments[0].Tokens[0] = "seven | `"+r[3].Hypothesis, 1
		r[7].Error = "audio <file>: unexpected end"
	})
	return map[string]*Document{
		"identical": identical,
		"different": different,
		"single":    {Title: "One set", Scores: identical.Scores[:1]},
	}
}

// TestSnapshots compares terminal text and Markdown with testdata; -update writes
// it.
func TestSnapshots(t *testing.T) {
	known := map[string]bool{}
	for name, d := range documents(t) {
		for ext, write := range map[string]func(io.Writer) error{
			"txt": func(w io.Writer) error { return d.Text(w, false) },
			"md":  d.Markdown,
		} {
			path := filepath.Join("testdata", name+"."+ext)
			known[path] = true
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
	}
	all, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if !known[path] {
			t.Errorf("%s is of no test", path)
		}
	}
}

// TestPlanted checks that no form leaves out that the text is planted.
func TestPlanted(t *testing.T) {
	d := compared(t, 3, nil)
	d.Scores[1].Run.Planted = true
	for name, write := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return d.Text(w, false) }, "Markdown": d.Markdown, "HTML": d.HTML, "JSON": d.JSON,
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "planted") {
			t.Errorf("%s does not say that the model is planted", name)
		}
	}
}

func TestColor(t *testing.T) {
	var b strings.Builder
	if err := documents(t)["different"].Text(&b, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[1;31m2 of 12 utterances") {
		t.Errorf("no red verdict in %q", b.String()[:200])
	}
}

// TestPage checks what a browser is not needed for: nothing is loaded from
// anywhere, and no text of a record becomes markup.
func TestPage(t *testing.T) {
	evil := `</script><img src=x onerror=alert(1)> "'`
	d := compared(t, 5, func(r []*Record) {
		r[1].Hypothesis += evil
		r[2].Error = evil
	})
	d.Title = evil
	d.Scores[0].Name, d.Scores[0].Run.Model = evil, evil
	d.Scores[0].Worst[0].ID = evil
	var b bytes.Buffer
	if err := d.HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<img") {
		t.Error("text has become markup")
	}
	b.Reset()
	if err := compared(t, 5, nil).HTML(&b); err != nil {
		t.Fatal(err)
	}
	page = b.String()
	links := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]|@import|https?://[^"' <]+`)
	for _, found := range links.FindAllString(page, -1) {
		if found != "http://www.w3.org/2000/svg" && found != "http://www.w3.org/1999/xlink" {
			t.Errorf("the page refers to %q", found)
		}
	}
	if n := strings.Count(page, "<svg"); n != 3 {
		t.Errorf("%d plots, want 3", n)
	}
	for _, left := range []string{"#010203", "#010204", "#010205", "#010206", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, left) {
			t.Errorf("%q is left in the page", left)
		}
	}
}

func TestReplay(t *testing.T) {
	c := compared(t, 40, nil).Comparisons[0]
	v := replayOf(c)
	if v == nil || len(v.Panes[0].Lines) != 20 || v.Marked {
		t.Fatalf("replay = %+v", v)
	}
	for _, p := range v.Panes {
		last := 0.0
		for _, line := range p.Lines {
			for _, w := range line {
				if !(w.At > last && w.At <= p.Total) {
					t.Fatalf("%s: a word at %v after one at %v, total %v", p.Name, w.At, last, p.Total)
				}
				last = w.At
			}
		}
	}
	c.scenes[0].Assisted.Segments[0].Pieces = []Piece{{" two three", true}, {" four", false}}
	if v := replayOf(c); !v.Marked || v.Panes[1].Lines[0][0].Text != "two three" {
		t.Errorf("pieces: %+v", v.Panes[1].Lines[0])
	}
	if v := replayOf(&Comparison{}); v != nil {
		t.Errorf("replay of nothing = %+v", v)
	}
}

func TestBins(t *testing.T) {
	for _, values := range [][]float64{{1}, {1, 1, 1}, {0.5, 9}, {1, 1.001}, {2, 2.1, 2.3, 40}} {
		low, width, n := bins(values)
		if n < 1 || n > 25 || low > values[0] && len(values) < 100 || !(width > 0) {
			t.Errorf("%v: %d bins of %v from %v", values, n, width, low)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":"verity.record/1","id":"a"}` + "\n"))
	f.Add([]byte("{]\n{"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := NewSet("fuzz", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range Read("fuzz", bytes.NewReader(raw)) {
			if err == nil {
				if _, err := s.Add(r); err != nil {
					return
				}
			}
		}
		var b bytes.Buffer
		d := &Document{Scores: []*Score{s.Score()}}
		if err := d.HTML(&b); err != nil {
			t.Fatal(err)
		}
	})
}
