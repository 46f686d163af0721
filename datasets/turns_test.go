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
		{"neither text nor speakers", `"segments": []`, "has no text", "", nil},
		{"end before start", `"segments": [{"speaker": "A", "text": "x", "start": 2, "end": 1}]`, "turn 1", "", nil},
		{"no time", `"segments": [{"speaker": "A", "text": "x", "start": "soon"}]`, "turn 1", "", nil},
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
