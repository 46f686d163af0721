package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// recordSeeds are two files of records: of a run, and of one with times that no run has.
func recordSeeds(f *testing.F) (whole, odd []byte) {
	f.Helper()
	for i, r := range made(6, true) {
		line, err := r.Line()
		if err != nil {
			f.Fatal(err)
		}
		whole = append(whole, line...)
		r.Seconds.Decode = []float64{1e308, 1e-308, -1, 0, math.MaxFloat32, 1}[i]
		r.Drafting.Drafted, r.Drafting.Rounds = math.MaxInt, -i
		r.Duration = -r.Duration
		if line, err = r.Line(); err != nil {
			f.Fatal(err)
		}
		odd = append(odd, line...)
	}
	return whole, odd
}

// FuzzRecords compares two files that may hold anything: an error, or a document that
// can be written in every form.
func FuzzRecords(f *testing.F) {
	whole, odd := recordSeeds(f)
	f.Add([]byte(`{"schema":"verity.record/2","id":"a"}`+"\n"), []byte("{]\n{"))
	f.Add(whole, odd)
	f.Add(odd, whole)
	f.Add([]byte("\ufeff\n"), append([]byte("\ufeff"), whole...))
	f.Add(whole, whole[:len(whole)/2])
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var files [2]Files
		for i, raw := range [][]byte{first, second} {
			path := filepath.Join(dir, []string{"a.jsonl", "b.jsonl"}[i])
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			files[i] = Files{path, []string{path}}
		}
		d, err := Load(t.Context(), files[:], "", "")
		if err != nil {
			return
		}
		var b bytes.Buffer
		for _, write := range []func(io.Writer) error{d.HTML, func(w io.Writer) error { return d.Text(w, true) }, d.JSON} {
			b.Reset()
			var value *json.UnsupportedValueError // a time that is infinite has no JSON
			if err := write(&b); err != nil && !errors.As(err, &value) {
				t.Fatal(err)
			}
		}
	})
}
