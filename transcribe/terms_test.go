package transcribe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"verity/internal/testing/testmodel"
	"verity/tokenizer"
	"verity/transcript"
)

// TestParseTerms: the lines of a file of terms.
func TestParseTerms(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []Term
		err  string
	}{
		{"\ufeff# names\r\n\r\n Anneke Vos \r\nKubernetes:2", []Term{{Text: "Anneke Vos"}, {Text: "Kubernetes", Weight: 2}}, ""},
		{"cooper netties => Kubernetes", []Term{{Text: "Kubernetes", SoundsLike: "cooper netties"}}, ""},
		{"colour->color:0\nsee → sea: 0.5", []Term{{"color", "colour", -1}, {"sea", "see", 0.5}}, ""},
		{"Mission: Impossible\nGenesis 12:30:1", []Term{{Text: "Mission: Impossible"}, {Text: "Genesis 12:30", Weight: 1}}, ""},
		{"C#\nto be => or", []Term{{Text: "C#"}, {Text: "or", SoundsLike: "to be"}}, ""},
		{"", nil, ""},
		{"one\nGenesis 12:30", nil, "line 2: got weight 30"},
		{"=> Kubernetes", nil, "no words before =>"},
		{"Kubernetes =>", nil, "want a term after =>"},
		{":3", nil, "no term to write"},
		{"a:1.2.3", nil, "weight 1.2.3"},
		{strings.Repeat("x", maxTermLength+1), nil, "want at most 200"},
		{"a\x00b", nil, "control character"},
		{"\xff", nil, "UTF-8"},
		{strings.Repeat("x\n", MaxTerms+1), nil, "more than 10000"},
		{strings.Repeat("\n", MaxTermsText+1), nil, "want at most 1048576"},
	} {
		got, err := ParseTerms(tt.text)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%.60q: got %v, %v, want %v, %q", tt.text, got, err, tt.want, tt.err)
		}
	}
}

// FuzzParseTerms: whatever is read can be used, and is the same when it is written and read again.
func FuzzParseTerms(f *testing.F) {
	f.Add("Anneke Vos\nKubernetes:2\ncooper netties => Kubernetes:0\n# comment")
	f.Add("a:b:3 -> c → d => e:1")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseTerms(text)
		if err != nil {
			return
		}
		if err := checkTerms(list); err != nil {
			t.Fatal(err)
		}
		for _, want := range list {
			weight := want.Weight
			switch {
			case weight == 0:
				weight = 1
			case weight < 0:
				weight = 0
			}
			line := fmt.Sprintf("%s:%f", want.Text, weight)
			if want.SoundsLike != "" {
				line = want.SoundsLike + " => " + line
			}
			got, err := ParseTerm(line)
			if err != nil || got.Text != want.Text && !strings.ContainsAny(line, ">→") {
				t.Fatalf("%q: got %+v, %v, want %+v", line, got, err, want)
			}
		}
	})
}

// TestTerms: phrases are replaced once and everywhere: in text, segments, words and what callbacks receive, with
// chunks and without. Later windows see what was decoded.
func TestTerms(t *testing.T) {
	tok := multilingual(t)
	for _, o := range []Options{{}, {WordTimestamps: true}, {Chunked: true, WordTimestamps: true}, {WithoutTimestamps: true}} {
		var prompts []string
		s := scripted{seed: 3, tok: tok, decodeAt: func(_, _ int, so decodeOptions) decodedWindow {
			prompts = append(prompts, tok.Decode(so.Prompt))
			return scriptedText(tok, 0.0, " one two, three", 15.0, 15.0, " four two five six", 29.0)
		}}
		o.Language, o.chunks = "en", 1
		o.Terms = []Term{{Text: "two two", SoundsLike: "two"}, {Text: "Fünf", SoundsLike: "FIVE  six"}, {Text: "Vier"}}
		tr, err := newScripted(s, 3000, 448, o)
		if err != nil {
			t.Fatal(err)
		}
		var reported string
		got, err := tr.transcribeSource(t.Context(), "", ramp{4500, 3000}, time.Now(), Callbacks{Segment: func(s transcript.Segment) { reported += s.Text }})
		if err != nil {
			t.Fatal(err)
		}
		segments, words := "", ""
		for _, s := range got.Segments {
			segments += s.Text
			for _, w := range s.Words {
				words += w.Word
			}
		}
		if !strings.HasPrefix(got.Text, " one two two, three four two two Fünf") || strings.Contains(got.Text, "two two two") {
			t.Errorf("%+v: text %q", o, got.Text)
		}
		if segments != got.Text || reported != got.Text || o.WordTimestamps && words != got.Text {
			t.Errorf("text %q\nsegments %q\nreported %q\nwords %q", got.Text, segments, reported, words)
		}
		if len(prompts) < 2 || !o.Chunked && !strings.Contains(prompts[1], " four two five six") {
			t.Errorf("%+v: prompts %q", o, prompts)
		}
	}
}

// TestTermsUnspellable: the error names the term that a vocabulary without all bytes cannot spell.
func TestTermsUnspellable(t *testing.T) {
	var added []string
	for i, s := range []string{"endoftext", "startoftranscript", "en", "transcribe", "startofprev", "nospeech", "notimestamps"} {
		added = append(added, fmt.Sprintf(`{"id":%d,"content":"<|%s|>","special":true}`, 10+i, s))
	}
	file := `{"added_tokens":[` + strings.Join(added, ",") + `],"pre_tokenizer":{"type":"ByteLevel"},
"model":{"type":"BPE","vocab":{"Ġ":0,"o":1,"O":2},"merges":[]}}`
	tok, err := tokenizer.Load(fstest.MapFS{"tokenizer.json": {Data: []byte(file)}}, "demo", 17+401)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newScripted(scripted{tok: tok}, 3000, 448, Options{Language: "en", Terms: []Term{{Text: "oo"}, {Text: "Łódź"}, {Text: "o"}}})
	var option *OptionError
	if !errors.As(err, &option) || option.Option != "Terms" || option.Value != "Łódź" || strings.HasPrefix(option.Reason, `"Łódź"`) {
		t.Errorf("got %v, want the term as the value", err)
	}
}

// TestTermsHeard: terms become likelier in each way of decoding, and terms that are not said do not appear.
func TestTermsHeard(t *testing.T) {
	testmodel.Serial(t)
	m := demoModels(t, 1)["none"]
	plain := transcribeClip(t, m, Options{}, long(t, 1))
	absent := transcribeClip(t, m, Options{Terms: []Term{{Text: "nineteen eighty"}, {Text: "one million"}}}, long(t, 1))
	if absent.Text != plain.Text {
		t.Errorf("terms that are not said change %q to %q", plain.Text, absent.Text)
	}
	for _, o := range []Options{{}, {BeamSize: 3}, {Temperatures: []float64{0.3}, BestOf: 2}, {Chunked: true}} {
		before := transcribeClip(t, m, o, long(t, 1))
		o.Terms = []Term{{Text: "nine", Weight: 10}}
		after := transcribeClip(t, m, o, long(t, 1))
		if strings.Count(after.Text, "nine") <= strings.Count(before.Text, "nine") {
			t.Errorf("%+v: %q is %q with a term of great weight", o, before.Text, after.Text)
		}
	}
	var option *OptionError
	if _, err := New(m, Options{Terms: []Term{{Text: "one", Weight: 11}}}); !errors.As(err, &option) || option.Option != "Terms" {
		t.Errorf("weight 11: %v", err)
	}
}
