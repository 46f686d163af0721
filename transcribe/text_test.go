package transcribe

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"verity/audio/vad"
	"verity/internal/testing/testmodel"
	"verity/transcript"
)

// aligned aligns a text with the demo clip.
func aligned(t *testing.T, m *Model, o Options, cues ...transcript.Cue) (*transcript.Transcript, error) {
	t.Helper()
	plain, err := New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := plain.WithText(cues)
	if err != nil {
		t.Fatal(err)
	}
	return tr.Transcribe(t.Context(), demoClip(t), Callbacks{})
}

func wordsOf(tr *transcript.Transcript) (words []transcript.Word) {
	for _, s := range tr.Segments {
		words = append(words, s.Words...)
	}
	return words
}

// TestText aligns the words that are heard, and then texts that have other words: they are reported where they stand, and
// all others keep their times.
func TestText(t *testing.T) {
	testmodel.Serial(t)
	m := demoModels(t, 1)["none"]
	heard := wordsOf(transcribeClip(t, m, Options{WordTimestamps: true}, demoClip(t)))
	if len(heard) < 8 {
		t.Fatalf("only %d words were heard", len(heard))
	}
	const at = 4 // the word that differs
	text := func(words []string) transcript.Cue {
		return transcript.Cue{Text: strings.TrimSpace(strings.Join(words, ""))}
	}
	var all []string
	for _, w := range heard {
		all = append(all, w.Word)
	}
	said := strings.TrimSpace(all[at])
	for _, c := range []struct {
		name  string
		words []string
		want  []transcript.Difference // without times
		other int                     // index of a word that was not said, or -1
	}{
		{"the same", all, nil, -1},
		{"a word is missing", slices.Delete(slices.Clone(all), at, at+1), []transcript.Difference{{Heard: said}}, -1},
		{"a word too many", slices.Insert(slices.Clone(all), at, " xylophone"), []transcript.Difference{{Text: "xylophone"}}, at},
		{"another word", slices.Replace(slices.Clone(all), at, at+1, " xylophone"), []transcript.Difference{{Text: "xylophone", Heard: said}}, at},
		{"capitals and marks", append([]string{"«" + strings.ToUpper(strings.TrimSpace(all[0])) + "»,"}, all[1:]...), nil, -1},
		{"more before and after", slices.Concat([]string{" xylophone, xylophone! "}, all, []string{" xylophone"}),
			[]transcript.Difference{{Text: "xylophone, xylophone!"}, {Text: "xylophone"}}, 0},
	} {
		got, err := aligned(t, m, Options{}, text(c.words))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if want := strings.Join(c.words, ""); strings.TrimSpace(got.Text) != strings.TrimSpace(want) {
			t.Errorf("%s: text %q, want %q", c.name, got.Text, want)
		}
		var found []transcript.Difference
		for _, d := range got.Differences {
			if d.Start > d.End {
				t.Errorf("%s: a difference ends before it begins: %v", c.name, d)
			}
			found = append(found, transcript.Difference{Text: d.Text, Heard: d.Heard})
		}
		if !slices.Equal(found, c.want) {
			t.Errorf("%s: differences %v, want %v", c.name, found, c.want)
		}
		words := wordsOf(got)
		for _, w := range heard {
			same := slices.ContainsFunc(words, func(x transcript.Word) bool {
				return slices.Equal(unitsOf(x.Word), unitsOf(w.Word)) && x.Start == w.Start && x.End == w.End
			})
			if missing := strings.TrimSpace(w.Word) == said && !slices.Contains(c.words, all[at]); !same && !missing {
				t.Errorf("%s: %q has moved from %v to %v: %v", c.name, w.Word, w.Start, w.End, words)
			}
		}
		if c.other >= 0 && words[c.other].Probability != 0 {
			t.Errorf("%s: %v was not said", c.name, words[c.other])
		}
		for i := 1; i < len(words); i++ {
			if words[i].Start < words[i-1].Start || words[i].End < words[i].Start {
				t.Errorf("%s: words go back in time: %v", c.name, words)
				break
			}
		}
	}
}

// TestSubtitleTimes gives subtitles whose times are wrong: their lines stay as they are, and begin with their words.
func TestSubtitleTimes(t *testing.T) {
	testmodel.Serial(t)
	m := demoModels(t, 1)["none"]
	heard := wordsOf(transcribeClip(t, m, Options{WordTimestamps: true}, demoClip(t)))
	half := len(heard) / 2
	second := transcript.JoinWords(heard[half:])
	first := strings.TrimSpace(heard[0].Word) + "\n" + strings.TrimSpace(transcript.JoinWords(heard[1:half]))
	cues := []transcript.Cue{
		{Start: 71, End: 72, Text: "♪"}, {Start: 73, End: 74, Text: first}, {Start: 75, End: 75.5, Text: strings.TrimSpace(second)},
	}
	for name, o := range map[string]Options{"plain": {}, "chunks": {Chunked: true}, "vad": {VAD: &vad.Options{}}} {
		got, err := aligned(t, m, o, cues...)
		if err != nil || len(got.Segments) != 3 || len(got.Differences) > 0 {
			t.Fatalf("%s: %v, %+v", name, err, got)
		}
		for i, s := range got.Segments {
			if s.TrimmedText() != cues[i].Text || !s.Fixed {
				t.Errorf("%s: line %d is %q, want %q as it was", name, i, s.Text, cues[i].Text)
			}
		}
		if o.VAD == nil && (got.Segments[1].Start != heard[0].Start || got.Segments[2].Start != heard[half].Start) {
			t.Errorf("%s: lines begin at %v and %v, want %v and %v", name,
				got.Segments[1].Start, got.Segments[2].Start, heard[0].Start, heard[half].Start)
		}
	}
}

// TestOtherText: a text of another recording, or none, is an error.
func TestOtherText(t *testing.T) {
	m := demoModels(t, 1)["none"]
	_, err := aligned(t, m, Options{}, transcript.Cue{Text: "every measure pursued by the commons and still more every attempt made by their partisans"})
	if other, ok := errors.AsType[*TextError](err); !ok || other.Words < 5 || !strings.Contains(err.Error(), "is not that of the recording: 0 of ") {
		t.Errorf("another recording: %v", err)
	}
	plain, err := New(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.WithText([]transcript.Cue{{Text: " \n"}}); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("no text: %v", err)
	}
}

// TestRelease: ten words that were left out between two others do not fit there; they fit with the pause beside one of these.
func TestRelease(t *testing.T) {
	const missing = 10
	for _, c := range []struct {
		name                string
		before, a, b, after float64 // starts of the words around the gap; each takes 0.2 s
		from, to            int     // the gap, in 14 words
	}{
		{"no pause", 1, 1.3, 1.6, 1.9, 2, 12},
		{"a pause before", 1, 5, 5.3, 5.6, 1, 12},
		{"a pause after", 1, 1.3, 1.6, 5, 2, 13},
		{"in the gap", 1, 1.3, 5, 5.3, 2, 12},
	} {
		var given []textWord
		var heard []transcript.Word
		for i, at := range []float64{c.before, c.a, c.b, c.after} {
			word := " " + string(rune('a'+i))
			given = append(given, textWord{wordTime: wordTime{word: word}})
			heard = append(heard, transcript.Word{Word: word, Start: at, End: at + 0.2})
			for n := 0; i == 1 && n < missing; n++ {
				given = append(given, textWord{wordTime: wordTime{word: " missing"}})
			}
		}
		m, err := matchText(t.Context(), given, heard, 6)
		if err != nil || len(m.gaps) != 1 || m.gaps[0].from != c.from || m.gaps[0].to != c.to ||
			m.gaps[0].heardTo-m.gaps[0].heardFrom != c.to-c.from-missing {
			t.Errorf("%s: %+v, %v; want words %d to %d", c.name, m.gaps, err, c.from, c.to)
			continue
		}
		if m.judge(m.gaps[0]); !slices.Equal([]float64{given[1].start, given[12].start}, []float64{c.a, c.b}) || !given[1].timed || !given[12].timed {
			t.Errorf("%s: words that were heard have moved: %+v", c.name, given)
		}
	}
}

func TestUnits(t *testing.T) {
	for word, want := range map[string]string{
		" Don’t,": "dont", " well-known": "well known", " $43,000.": "43 000", "今天": "今 天", " —": "", " naïve": "naïve", " GPT4日本x": "gpt4 日 本 x",
	} {
		if got := strings.Join(unitsOf(word), " "); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// TestChance: common words that two texts have in the same order by chance do not count; those amid errors do.
func TestChance(t *testing.T) {
	for _, c := range []struct {
		name, given, heard string
		found              float64 // share of the words
	}{
		{"two texts", "a quick brown fox jumps over the lazy old dog of a man who sleeps all day in his bed",
			"when we had eaten the good soup that you made for us last week in our small house by the sea", 0},
		{"every third word wrong", "one two three four five six seven eight nine", "one two x four five x seven eight x", 2. / 3},
		{"a passage that was not said", "one two three the a b c d e f g h in four five six", "one two three four five six", 1},
	} {
		words := func(text string) (list []transcript.Word) {
			for i, w := range strings.Fields(text) {
				list = append(list, transcript.Word{Word: " " + w, Start: float64(i), End: float64(i + 1)})
			}
			return list
		}
		var given []textWord
		for _, w := range words(c.given) {
			given = append(given, textWord{wordTime: wordTime{word: w.Word}})
		}
		m, err := matchText(t.Context(), given, words(c.heard), 100)
		timed := 0.
		for _, w := range given {
			if w.timed {
				timed++
			}
		}
		if n := float64(min(len(given), len(strings.Fields(c.heard)))); timed != c.found*n || (err != nil) != (c.found == 0) {
			t.Errorf("%s: %v of %v words found, %v; %+v", c.name, timed, n, err, m)
		}
	}
}
