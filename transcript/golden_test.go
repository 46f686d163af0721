package transcript

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/tokenizer"
)

//go:embed testdata/golden
var golden embed.FS

// load reads a transcript as upstream's JSON writer left it, without word times.
func load(t *testing.T, name string) *Transcript {
	t.Helper()
	raw, err := golden.ReadFile("testdata/golden/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	tr := new(Transcript)
	if err := json.Unmarshal(raw, tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestWriteGolden compares with the files of openai-whisper's own writers
// (tools/reference/transcribe_goldens.py).
func TestWriteGolden(t *testing.T) {
	tests := []struct{ name, why string }{
		{"mixed", "times of every size and rounding, tabs, all kinds of space"},
		{"none", "no segments: VTT and TSV still have their heads"},
	}
	for _, tt := range tests {
		for _, f := range []Format{TXT, SRT, VTT, TSV} {
			t.Run(fmt.Sprintf("%s.%s", tt.name, f), func(t *testing.T) {
				want, err := golden.ReadFile(fmt.Sprintf("testdata/golden/%s.%s", tt.name, f))
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				if err := (Options{Lines: true}).Write(&got, f, load(t, tt.name)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got.String()); diff != "" {
					t.Errorf("(-upstream +got):\n%s", diff)
				}
			})
		}
	}
}

// TestSubtitlesGolden compares with upstream's writers over segments with word times.
func TestSubtitlesGolden(t *testing.T) {
	raw, err := golden.ReadFile("testdata/golden/subtitles.json")
	if err != nil {
		t.Fatal(err)
	}
	var options []struct {
		Width     int  `json:"max_line_width"`
		Count     int  `json:"max_line_count"`
		Words     int  `json:"max_words_per_line"`
		Highlight bool `json:"highlight_words"`
	}
	if err := json.Unmarshal(raw, &options); err != nil || len(options) < 5 {
		t.Fatal(err, len(options))
	}
	for i, o := range options {
		for _, f := range []Format{SRT, VTT} {
			t.Run(fmt.Sprintf("%+v.%s", o, f), func(t *testing.T) {
				want, err := golden.ReadFile(fmt.Sprintf("testdata/golden/words%d.%s", i, f))
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				if err := (Options{Subtitles: Subtitles{MaxLineWidth: o.Width, MaxLineCount: o.Count, MaxWordsPerLine: o.Words, HighlightWords: o.Highlight}}).Write(&got, f, load(t, "words")); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got.String()); diff != "" {
					t.Errorf("(-upstream +got):\n%s", diff)
				}
			})
		}
	}
}

// TestLyrics: LRC and CSV, which openai/whisper has not. CSV has what was said, whatever a spreadsheet makes of it.
func TestLyrics(t *testing.T) {
	tr := &Transcript{Segments: []Segment{
		{Start: 0.005, End: 1, Text: " one, \"two\""}, {Start: 1, End: 1, Text: ""}, {Start: 3723.4567, End: 3724, Text: " =a\nb"},
	}}
	for f, want := range map[Format]string{
		LRC: "[00:00.00]one, \"two\"\n[62:03.46]=a b\n",
		CSV: "\ufeffstart,end,text\n5,1000,\"one, \"\"two\"\"\"\n3723457,3724000,=a b\n",
	} {
		var got bytes.Buffer
		if err := Write(&got, f, tr); err != nil || got.String() != want {
			t.Errorf("%s: %v, %q, want %q", f, err, got.String(), want)
		}
	}
}

// TestWriteJSON checks that everything upstream writes is there, unchanged, and
// what is ours besides.
func TestWriteJSON(t *testing.T) {
	for _, name := range []string{"mixed", "none"} {
		t.Run(name, func(t *testing.T) {
			in := load(t, name)
			in.Name, in.Duration, in.Stats.Windows = "a<b>&.wav", 2.5, 3
			for i := range in.Segments {
				if in.Segments[i].Text == "" {
					in.Segments[i].Tokens = nil
				}
			}
			var out bytes.Buffer
			if err := Write(&out, JSON, in); err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(out.Bytes(), []byte("\n")); n != 1 {
				t.Errorf("%d lines, want one", n)
			}
			got, want := object(t, out.Bytes()), upstream(t, name)
			for _, s := range want["segments"].([]any) {
				if s := s.(map[string]any); s["text"] == "" {
					s["tokens"] = []any{}
				}
			}
			for key, v := range want {
				if diff := cmp.Diff(v, got[key]); diff != "" {
					t.Errorf("%s (-upstream +got):\n%s", key, diff)
				}
			}
			if got["schema"] != Schema || got["audio"] != "a<b>&.wav" || got["duration"] != 2.5 {
				t.Errorf("schema, audio, duration = %v, %v, %v", got["schema"], got["audio"], got["duration"])
			}
			if got["stats"].(map[string]any)["windows"] != 3.0 {
				t.Errorf("stats = %v", got["stats"])
			}
		})
	}
}

// Times in JSON have no digits that are only errors of floating point, and the transcript
// keeps what was computed.
func TestWriteJSONTimes(t *testing.T) {
	start, end := 0.8400000000000014, 1.8800000000000001
	tr := &Transcript{Segments: []Segment{{Start: start, End: end, Words: []Word{{Word: " one", Start: start, End: end}}}, {Start: end, End: 36000.000000000007}}, Damaged: []Gap{{start, end}}}
	var got bytes.Buffer
	if err := Write(&got, JSON, tr); err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`"(?:start|end)":[^,}]*`).FindAllString(got.String(), -1)
	want := []string{`"start":0.84`, `"end":1.88`, `"start":0.84`, `"end":1.88`, `"start":1.88`, `"end":36000`, `"start":0.84`, `"end":1.88`}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := tr.Segments[0]; s.Start != start || s.End != end || s.Words[0].Start != start || s.Words[0].End != end || tr.Damaged[0] != (Gap{start, end}) {
		t.Errorf("writing changed the transcript: %+v, %v", s, tr.Damaged)
	}
}

func upstream(t *testing.T, name string) map[string]any {
	t.Helper()
	raw, err := golden.ReadFile("testdata/golden/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return object(t, raw)
}

func object(t *testing.T, raw []byte) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return m
}

// TestWriteError checks that every writer reports a full disk, and that an unknown format is an error.
func TestWriteError(t *testing.T) {
	tr := &Transcript{Segments: []Segment{{End: 1, Text: " one", Tokens: []tokenizer.Token{1}, Speaker: "A"}}}
	for _, f := range Formats() {
		if err := Write(full{}, f, tr); err == nil {
			t.Errorf("%s: no error from a writer that fails", f)
		}
	}
	if err := Write(new(bytes.Buffer), "doc", tr); err == nil || !strings.Contains(err.Error(), "want one of txt, md, docx") {
		t.Errorf("format doc: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left") }
