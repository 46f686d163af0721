package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/transcript"
)

// TestObjection goes through everything that keeps a file from being overwritten.
func TestObjection(t *testing.T) {
	dir := t.TempDir()
	path, audio := filepath.Join(dir, "out", "a.txt"), filepath.Join(dir, "a.wav")
	by := transcript.Maker{Model: "small", ModelID: "1", Precision: "int8", Options: map[string]string{"language": "de"}}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	l := openLedger(filepath.Join(dir, "out"))
	if why := l.objection(path, audio, &by); why != "" {
		t.Errorf("nothing is there: %s", why)
	}
	if err := os.WriteFile(path, []byte("text\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if why := l.objection(path, audio, &by); !strings.Contains(why, "nothing says") {
		t.Errorf("a file of somebody else: %q", why)
	}
	h := sha256.New()
	h.Write([]byte("text\n"))
	l.add(path, audio, h, &by)
	l.add(path, audio, h, &by) // the same: no second line

	l = openLedger(filepath.Join(dir, "out"))
	with := func(change func(*transcript.Maker)) *transcript.Maker {
		m := by
		m.Options = map[string]string{"language": "de"}
		change(&m)
		return &m
	}
	for _, tt := range []struct {
		name, audio, want string
		by                *transcript.Maker
	}{
		{"the same", audio, "", &by},
		{"another name of the model", audio, "", with(func(m *transcript.Maker) { m.Model = "~/small" })},
		{"another program", audio, "", with(func(m *transcript.Maker) { m.Program = "2" })},
		{"another assistant", audio, "", with(func(m *transcript.Maker) { m.Assistant = "self" })},
		{"a precision that is not known yet", audio, "", with(func(m *transcript.Maker) { m.Precision = "" })},
		{"another sound", filepath.Join(dir, "b", "a.wav"), "it is the transcript of ../a.wav", &by},
		{"standard input", "-", "it is the transcript of ../a.wav", &by},
		{"another model", audio, "another model, small", with(func(m *transcript.Maker) { m.ModelID = "2" })},
		{"another precision", audio, "another precision, int8", with(func(m *transcript.Maker) { m.Precision = "f32" })},
		{"another language", audio, "made with --language=de", with(func(m *transcript.Maker) { m.Options["language"] = "nl" })},
		{"no language", audio, "made with --language=de", with(func(m *transcript.Maker) { m.Options = nil })},
		{"one more option", audio, "made without --vad", with(func(m *transcript.Maker) { m.Options["vad"] = "true" })},
	} {
		got := l.objection(path, tt.audio, tt.by)
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if err := os.WriteFile(path, []byte("text, corrected\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if why := l.objection(path, audio, &by); !strings.Contains(why, "changed since") {
		t.Errorf("a file that was corrected by hand: %q", why)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "out", ledgerName))
	if err != nil || bytes.Count(raw, []byte("\n")) != 1 {
		t.Errorf("the ledger has not one line: %q, %v", raw, err)
	}
}

// FuzzLedger reads ledgers of any content, and wants back what it writes.
func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"schema":"verity.made/1","file":"a.txt","audio":"a.wav","sha256":"00","made_by":{}}` + "\n{\n\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l := &ledger{entries: map[string]entry{}}
		l.read(bytes.NewReader(raw))
		for name, e := range l.entries {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			again := &ledger{entries: map[string]entry{}}
			again.read(bytes.NewReader(line))
			if got := again.entries[name]; got.Schema == "" || differs(&e.By, &got.By) != "" {
				t.Errorf("%q: %+v became %+v", name, e, again.entries)
			}
		}
	})
}
