package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"verity/datasets"
	"verity/eval/report"
	"verity/transcript"
)

// TestReferTo: who speaks comes from the row if it has times, else from the RTTM file beside the sound.
func TestReferTo(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line := func(file, start, length, who string) string {
		return strings.Join([]string{"SPEAKER", file, "1", start, length, "<NA>", "<NA>", who, "<NA>", "<NA>"}, " ") + "\n"
	}
	write("call.rttm", line("call", "2", "3", "Bob")+line("call", "0", "2.5", "Ann"))
	write("renamed.rttm", line("original", "0", "1", "Ann"))
	write("several.rttm", line("a", "0", "1", "Ann")+line("b", "0", "1", "Bob"))
	write("silence.rttm", "\ufeff\r\n")
	write("bad.rttm", "SPEAKER bad 1 x")
	turns := []transcript.Turn{{Start: 0, End: 2.5, Speaker: "Ann"}, {Start: 2, End: 5, Speaker: "Bob"}}
	said := []datasets.Turn{{Speaker: "Ann", Text: "Hi."}, {Speaker: "Bob", Text: "Hello."}}
	timed := []datasets.Turn{{Speaker: "Ann", Text: "Hi.", Start: 0, End: 1}, {Speaker: "Bob", Text: "Hello.", Start: 1, End: 2}}
	speech := []report.Speech{{Speaker: "Ann", Text: "Hi."}, {Speaker: "Bob", Text: "Hello."}}
	for _, tt := range []struct {
		file   string
		u      datasets.Utterance
		turns  []transcript.Turn
		speech []report.Speech
		err    string
	}{
		{"call.wav", datasets.Utterance{}, turns, nil, ""},
		{"call.wav", datasets.Utterance{Part: true, Offset: 1, Duration: 2},
			[]transcript.Turn{{Start: 0, End: 1.5, Speaker: "Ann"}, {Start: 1, End: 2, Speaker: "Bob"}}, nil, ""},
		{"call.wav", datasets.Utterance{Turns: said}, turns, speech, ""},
		{"call.wav", datasets.Utterance{Turns: timed},
			[]transcript.Turn{{Start: 0, End: 1, Speaker: "Ann"}, {Start: 1, End: 2, Speaker: "Bob"}}, speech, ""},
		{"renamed.wav", datasets.Utterance{}, []transcript.Turn{{Start: 0, End: 1, Speaker: "Ann"}}, nil, ""},
		{"none.wav", datasets.Utterance{}, nil, nil, ""},
		{"silence.wav", datasets.Utterance{}, []transcript.Turn{}, nil, ""},
		{"silence.wav", datasets.Utterance{Part: true, Duration: 1}, []transcript.Turn{}, nil, ""},
		{"several.wav", datasets.Utterance{}, nil, nil, "want those of several"},
		{"bad.wav", datasets.Utterance{}, nil, nil, "line 1"},
		{"call.wav", datasets.Utterance{Audio: datasets.Source{Data: []byte{0}}}, nil, nil, ""}, // only named so
		{"call.wav", datasets.Utterance{TurnsErr: errors.New("no time")}, nil, nil, "no time"},
	} {
		r := &report.Record{}
		tt.u.Audio.Path = filepath.Join(dir, tt.file)
		err := referTo(context.Background(), r, tt.u)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got error %v, want %q", tt.file, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(r.ReferenceTurns, tt.turns) || !reflect.DeepEqual(r.Speech, tt.speech) {
			t.Errorf("%s: turns %v, speech %v, error %v; want %v, %v", tt.file, r.ReferenceTurns, r.Speech, err, tt.turns, tt.speech)
		}
	}
}

// TestSizeOfReference: a dataset cannot make scoring take hours.
func TestSizeOfReference(t *testing.T) {
	for _, tt := range []struct {
		turns, speakers int
		err             string
	}{
		{maxTurns, maxSpeakers, ""},
		{maxTurns + 1, 2, "got 20001 turns, want at most 20000"},
		{maxSpeakers + 1, maxSpeakers + 1, "got 1001 speakers, want at most 1000"},
	} {
		dir := t.TempDir()
		sound := datasets.Source{Path: filepath.Join(dir, "a.wav")}
		row := datasets.Utterance{Audio: sound}
		var rttm strings.Builder
		for i := range tt.turns {
			start, who := float64(i), fmt.Sprint("S", i%tt.speakers)
			row.Turns = append(row.Turns, datasets.Turn{Speaker: who, Text: "x", Start: start, End: start + 1})
			fmt.Fprintf(&rttm, "SPEAKER a 1 %v 1 <NA> <NA> %s <NA> <NA>\n", start, who)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.rttm"), []byte(rttm.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		untimed := row
		untimed.Turns = nil
		for _, turn := range row.Turns {
			untimed.Turns = append(untimed.Turns, datasets.Turn{Speaker: turn.Speaker, Text: turn.Text})
		}
		for source, u := range map[string]datasets.Utterance{"row": row, "row without times": untimed, "RTTM": {Audio: sound}} {
			r := &report.Record{}
			err := referTo(context.Background(), r, u)
			switch {
			case tt.err == "" && (err != nil || len(r.ReferenceTurns) != tt.turns):
				t.Errorf("%s: got %d turns, error %v; want %d", source, len(r.ReferenceTurns), err, tt.turns)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || r.Speech != nil || r.ReferenceTurns != nil):
				t.Errorf("%s: got %d turns, error %v; want %q and an unchanged record", source, len(r.ReferenceTurns), err, tt.err)
			}
		}
		part := datasets.Utterance{Audio: sound, Part: true, Offset: 10, Duration: 5}
		if r := new(report.Record); referTo(context.Background(), r, part) != nil || len(r.ReferenceTurns) != 5 {
			t.Errorf("a part of %d turns: got %d, want 5", tt.turns, len(r.ReferenceTurns))
		}
	}
}
