package datasets

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestTurns: a row of a manifest may say who says what.
func TestTurns(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("a.wav", "")
	for _, tt := range []struct {
		why, row, err string
		text          string
		turns         []Turn
	}{
		{"names of whisperX", `"segments": [{"speaker": "A", "text": " Hi. ", "start": 0.5, "end": 1}, {"speaker": "B", "text": "No."}]`,
			"", "Hi. No.", []Turn{{"A", " Hi. ", 0.5, 1}, {"B", "No.", 0, 0}}},
		{"names of SegLST", `"text": "Hi!", "segments": [{"speaker": "A", "words": "Hi", "start_time": "1", "end_time": "2"}]`,
			"", "Hi!", []Turn{{"A", "Hi", 1, 2}}},
		{"segments without speakers", `"text": "Hi!", "segments": [{"text": "Hi"}]`, "", "Hi!", nil},
		{"neither text nor speakers", `"segments": []`, "has no field of text", "", nil},
		{"end before start", `"segments": [{"speaker": "A", "text": "x", "start": 2, "end": 1}]`, "turn 1", "", nil},
		{"no time", `"segments": [{"speaker": "A", "text": "x", "start": "soon"}]`, "turn 1", "", nil},
		{"turns around a part", `"offset": 1, "duration": 2, "segments": [` +
			`{"speaker": "A", "text": "before", "start": 0, "end": 1}, {"speaker": "A", "text": "into", "start": 0.5, "end": 1.5}, ` +
			`{"speaker": "B", "text": "out", "start": 2.5, "end": 4}, {"speaker": "B", "text": "after", "start": 3, "end": 4}, ` +
			`{"speaker": "B", "text": "sometime"}]`,
			"", "into out sometime", []Turn{{"A", "into", 0.5, 1.5}, {"B", "out", 2.5, 4}, {"B", "sometime", 0, 0}}},
		{"no turn in the part", `"offset": 5, "duration": 1, "segments": [{"speaker": "A", "text": "x", "start": 0, "end": 1}]`,
			"", "", []Turn{}},
	} {
		name := write("m.jsonl", `{"audio": "a.wav", `+tt.row+"}\n")
		d, err := Open(context.Background(), name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for u, err := range d.All(context.Background()) {
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%s: got error %v, want %q", tt.why, err, tt.err)
				}
				continue
			}
			if err != nil || u.Text != tt.text || !reflect.DeepEqual(u.Turns, tt.turns) {
				t.Errorf("%s: got %q, %v, error %v; want %q, %v", tt.why, u.Text, u.Turns, err, tt.text, tt.turns)
			}
		}
	}
}

// TestBrokenTurns: a row with a text is usable without its turns, and has the reason why they are not.
func TestBrokenTurns(t *testing.T) {
	for segments, reason := range map[string]string{
		`{"speaker": "A", "text": "x", "start": "00:01", "end": "00:02"}`: "not a time in seconds",
		`{"speaker": "A", "text": "x", "start": 2, "end": 1}`:             "before start",
		`{"speaker": "A", "words": [{"word": "x"}]}`:                      "want a string",
		`{"speaker": {}}`: "want a string",
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"a.wav": "", "m.jsonl": `{"audio": "a.wav", "text": "Hi!", "segments": [` + segments + "]}\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Open(context.Background(), filepath.Join(dir, "m.jsonl"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for u, err := range d.All(context.Background()) {
			rows++
			if err != nil || u.Text != "Hi!" || u.Turns != nil || u.TurnsErr == nil ||
				!strings.Contains(u.TurnsErr.Error(), reason) {
				t.Errorf("%.60s: got %q, turns %v, %v, error %v; want the text and %q", segments, u.Text, u.Turns, u.TurnsErr, err, reason)
			}
		}
		if rows != 1 {
			t.Errorf("%.60s: got %d rows, want 1", segments, rows)
		}
	}
}

// TestRTTMBeside: who speaks when beside a sound is a reference, also without a text.
func TestRTTMBeside(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.wav", "a.rttm", "b.wav"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for u, err := range d.All(context.Background()) {
		switch {
		case err != nil:
			got = append(got, "error")
		case u.NoText:
			got = append(got, "no text: "+u.ID)
		}
	}
	if want := []string{"no text: a.wav", "error"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
