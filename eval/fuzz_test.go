package eval

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"verity/eval/report"
	"verity/transcript"
)

// FuzzLog opens a file of records that may hold anything. It is refused, and then not
// changed by a byte, or mended: opened again, it holds the same records and stays as
// it is.
func FuzzLog(f *testing.F) {
	run := transcript.Provenance{Model: "m"}
	var whole []byte
	for _, r := range []report.Record{{ID: "a", Run: run}, {ID: "b", Run: run, Error: "broken"}, {ID: "c", Run: run}} {
		line, err := r.Line()
		if err != nil {
			f.Fatal(err)
		}
		whole = append(whole, line...)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-9])
	f.Add(bytes.ReplaceAll(whole, []byte(`"model":"m"`), []byte(`"model":"n"`)))
	f.Add([]byte(`{"schema":"verity.record/2`))
	f.Add([]byte("\x00\n\n{}"))
	dir := f.TempDir()
	path := filepath.Join(dir, "records.jsonl")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openRecords(dir, []Variant{{Name: "records", Run: run}}, func([]*report.Record) error { return nil })
		if err != nil {
			if got, problem := os.ReadFile(path); problem != nil || !bytes.Equal(got, raw) {
				t.Fatalf("refused (%v), but changed to %q: %v", err, got, problem)
			}
			return
		}
		there, failed := len(l.done), len(l.failed)
		l.close()
		mended, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if l, err = openRecords(dir, []Variant{{Name: "records", Run: run}}, func([]*report.Record) error { return nil }); err != nil {
			t.Fatalf("opened once, but not again: %v\n%q", err, mended)
		}
		defer l.close()
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, mended) || len(l.done) != there || l.torn || len(l.failed) != failed {
			t.Fatalf("opened again: %d records, want %d; torn %v, %d failed, %v", len(l.done), there, l.torn, len(l.failed), err)
		}
	})
}
