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
	predicted, operations := 2.31, 1.5
	identical := compared(t, 40, nil)
	identical.Comparisons[0].Predicted = &predicted
	identical.Comparisons[0].Theory = &Theory{Alpha: 0.8, Cost: 0.1, Length: 3.2, Tokens: 3.1, Ideal: 2.4, Best: 5,
		Lengths: []TheoryLength{{3, 2.95, &predicted, 2.27, &operations}, {12, 4.7, nil, 2.1, nil}}}
	identical.Scores[0].Memory, identical.Scores[1].Memory = 50<<20, 54<<20
	different := compared(t, 12, func(r []*Record) {
		r[3].Hypothesis, r[3].Segments[0].Tokens[0] = "seven | `"+r[3].Hypothesis, 1
		r[7].Error = "audio <file>: unexpected end"
	})
	return map[string]*Document{
		"identical": identical,
		"different": different,
		"single":    {Scores: identical.Scores[:1]},
		"partial":   partial(t),
		"variants":  threeVariants(t, 12),
	}
}

// partial is the document of a run that loops and of which shards are missing.
func partial(t *testing.T) *Document {
	dir, all := t.TempDir(), made(12, false)
	all[2].Hypothesis += strings.Repeat(" one two three four five", 4)
	paths := []string{filepath.Join(dir, "records-1-of-4.jsonl"), filepath.Join(dir, "records-3-of-4.jsonl")}
	writeRecords(t, paths[0], all[:7])
	writeRecords(t, paths[1], all[7:])
	s, err := NewSet("out", "basic")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddAll(t.Context(), Files{"out", paths}); err != nil {
		t.Fatal(err)
	}
	return &Document{Scores: []*Score{s.Score()}}
}

// TestSnapshots compares terminal text and Markdown with testdata; -update writes
// it.
func TestSnapshots(t *testing.T) {
	known := map[string]bool{}
	for name, d := range documents(t) {
		for ext, write := range map[string]func(io.Writer) error{
			"txt": func(w io.Writer) error { return d.Text(w, false) },
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

// TestEveryPage renders a page of every kind of document: a name in the template that is
// no field is found when it is reached.
func TestEveryPage(t *testing.T) {
	all := documents(t)
	assisted := compared(t, 40, nil)
	all["one assisted set"] = &Document{Scores: assisted.Scores[1:]}
	all["of other models"] = compared(t, 40, func(r []*Record) {
		for _, r := range r {
			r.Run.ModelID = "another"
			r.Hypothesis += " nine"
		}
	})
	all["no utterance"] = compared(t, 0, nil)
	all["a set without any"] = &Document{Scores: all["no utterance"].Scores[:1]}
	for name, d := range all {
		var b bytes.Buffer
		if err := d.HTML(&b); err != nil || !strings.HasSuffix(strings.TrimSpace(b.String()), "</html>") {
			t.Errorf("%s: %v, or not whole", name, err)
		}
	}
}

// TestPage checks what a browser is not needed for, and the text: nothing is loaded from
// anywhere, and no text of a record becomes markup.
func TestPage(t *testing.T) {
	evil := `</script><img src=x onerror=alert(1)> "'` + "\x1bc\a\u009b31m\u202e"
	d := compared(t, 5, func(r []*Record) {
		r[1].Hypothesis += evil
		r[2].Error = evil
	})
	d.Scores[0].Name, d.Scores[0].Run.Model = evil, evil
	d.Scores[0].Worst[0].ID = evil
	d.Comparisons[0].Names.Baseline = evil
	var b bytes.Buffer
	if err := d.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexAny(b.String(), "\x1b\a\u009b\u202e"); i >= 0 {
		t.Errorf("the text holds what terminals obey: %q", b.String()[max(0, i-20):i+20])
	}
	b.Reset()
	if err := d.HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<img") {
		t.Error("text has become markup")
	}
	if i := strings.IndexAny(page, "\x1b\a\u009b\u202e"); i >= 0 {
		t.Errorf("the page holds what terminals obey: %q", page[i-20:i+20])
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
	for _, left := range []string{"NaN", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, left) {
			t.Errorf("%q is left in the page", left)
		}
	}
}
