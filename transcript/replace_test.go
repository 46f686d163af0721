package transcript

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func timed(words ...string) (list []Word) {
	for i, w := range words {
		list = append(list, Word{Word: w, Start: float64(i), End: float64(i + 1), Probability: 0.5})
	}
	return list
}

// TestReplacer: whole words are replaced, in text and words alike, and times stay.
func TestReplacer(t *testing.T) {
	r := NewReplacer([]Replacement{
		{"cooper netties", "Kubernetes"}, {"cooper", "Cooper"}, {"cube control", "kubectl"}, {"sea plus plus", "C++"},
		{"acme", "Acme Corp"}, {"a b", "A B"}, {"東京", "Tokyo"},
	})
	tests := []struct {
		words       []string
		want        string // words, divided by |
		first, last float64
	}{
		{[]string{" We", " use", " cooper", " netties."}, " We| use| Kubernetes.", 2, 4},
		{[]string{" Cooper", " Netties,", " cooper"}, " Kubernetes,| Cooper", 0, 2},
		{[]string{" cooper", "-netties"}, " Cooper|-netties", 0, 1},
		{[]string{" coopers", " netties"}, " coopers| netties", 0, 1},
		{[]string{" (cube", " control)"}, " (kubectl)", 0, 2},
		{[]string{" sea", " plus", " plus"}, " C++", 0, 3},
		{[]string{" at", " acme's", " door"}, " at| Acme| Corp's| door", 1, 1.4},
		{[]string{" a", " b", " a", " b"}, " A| B| A| B", 0, 1},
		{[]string{"私は", "東京", "に"}, "私は|Tokyo|に", 1, 2},
		{nil, "", 0, 0},
	}
	for _, tt := range tests {
		words := timed(tt.words...)
		s := r.Segment(Segment{Text: strings.Join(tt.words, ""), Words: words})
		var got []string
		for _, w := range s.Words {
			got = append(got, w.Word)
		}
		if strings.Join(got, "|") != tt.want || s.Text != strings.ReplaceAll(tt.want, "|", "") {
			t.Errorf("%q: words %q, text %q, want %q", tt.words, got, s.Text, tt.want)
		}
		for _, w := range s.Words {
			if w.Start == tt.first && w.End < tt.last {
				t.Errorf("%q: %q from %v to %v, want to %v", tt.words, w.Word, w.Start, w.End, tt.last)
			}
		}
		for i, w := range timed(tt.words...) {
			if words[i] != w {
				t.Errorf("%q: the words of the model were changed", tt.words)
			}
		}
	}
}

// TestUnfinished: live text waits for the rest of a phrase.
func TestUnfinished(t *testing.T) {
	r := NewReplacer([]Replacement{{"cooper netties", "Kubernetes"}, {"one two three", "123"}})
	for text, want := range map[string]int{
		" use| cooper": 1, " use| Cooper| netties": 0, " one| two": 2, " one| two| one": 1, " two": 0, " one| two| three": 0,
		" cooper,": 0, "": 0,
	} {
		if got := r.Unfinished(timed(strings.Split(text, "|")...)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	r = NewReplacer([]Replacement{{"cube", "Kube"}, {"cube control", "kubectl"}, {"two", "2"}, {"one two three", "123"},
		{"acme", "Acme Corp"}, {"acme door", "Door"}, {"東京都", "Tokyo"}})
	for text, want := range map[string]int{
		" use| cube": 1, " cube,": 0, " cube| control": 0, " use| (cube": 1, " one| two": 2, " two": 0, " one| two| four": 0,
		" at| acme": 2, " at| acme| gate": 0, " barone| two": 0, "私は東|京": 2,
	} {
		words := r.Segment(Segment{Words: timed(strings.Split(text, "|")...), Text: strings.ReplaceAll(text, "|", "")}).Words
		if got := r.Unfinished(words); got != want {
			t.Errorf("%q became %q: got %d, want %d", text, JoinWords(words), got, want)
		}
	}
	if got := (*Replacer)(nil).Unfinished(timed(" cooper")); got != 0 {
		t.Errorf("without replacements: %d", got)
	}
}

// FuzzReplacer: whatever the phrases and the text, text, words and runs agree, and times run forwards.
func FuzzReplacer(f *testing.F) {
	f.Add("cooper netties=Kubernetes\na=b c", " A| cooper| netties,| a.")
	f.Add("ab=c", "a|b|ab|\xffab")
	f.Add("İ=i\nſ=s", " i̇| İ| S")
	f.Fuzz(func(t *testing.T, table, text string) {
		var list []Replacement
		for line := range strings.SplitSeq(table, "\n") {
			heard, written, _ := strings.Cut(line, "=")
			if strings.TrimSpace(heard) != "" && strings.TrimSpace(written) != "" {
				list = append(list, Replacement{heard, written})
			}
		}
		r, words := NewReplacer(list), timed(strings.Split(text, "|")...)
		whole := JoinWords(words)
		s := r.Segment(Segment{Text: whole, Words: words})
		if got := JoinWords(s.Words); got != s.Text {
			t.Fatalf("words make %q, the text is %q", got, s.Text)
		}
		last := 0.0
		for _, w := range s.Words {
			if !(w.Start >= last-0.01 && w.End >= w.Start-0.01) {
				t.Fatalf("%q from %v to %v follows a word that ends at %v", w.Word, w.Start, w.End, last)
			}
			last = w.End
		}
		if n := r.Unfinished(words); n < 0 || n > len(words) {
			t.Fatalf("%d of %d words are unfinished", n, len(words))
		}
		var runs []TextRun
		for i, w := range words {
			runs = append(runs, TextRun{Text: w.Word, Accepted: i%2 == 0})
		}
		joined := ""
		for _, p := range editRuns(runs, s.edits) {
			joined += p.Text
		}
		if joined != s.Text && utf8.ValidString(text) {
			t.Fatalf("runs make %q, the text is %q", joined, s.Text)
		}
	})
}
