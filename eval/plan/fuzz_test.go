package plan

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead reads arbitrary files of measurements, of the model and of the assistant: the
// result is an error, or a forecast that can be written.
func FuzzRead(f *testing.F) {
	bench := `{"schema":"verity.bench/1","model":"m","precision":"f16","step":{"seconds":0.1,"bytes":1000,"flops":2000},` +
		`"verify":[{"rows":1,"seconds":0.1,"ratio":1},{"rows":2,"seconds":0.11,"ratio":1.1}]}`
	compare := `{"schema":"verity.compare/2","pairs":[{"acceptance":{"drafted":10,"accepted":8,"rounds":5,"mean_kept":2.6,"alpha_agreement":0.8},` +
		`"seconds":{"draft":{"baseline":0,"assisted":1},"verify":{"baseline":10,"assisted":6}}}]}`
	transcribe := `{"schema":"verity.transcribe/1","stats":{"drafts":{"rounds":5,"drafted":10,"accepted":8},"alpha_overlap":0.7}}`
	for _, seed := range [][2]string{{bench, bench}, {compare, bench}, {transcribe, ""}, {bench, compare}, {"[]", "{"}, {
		`{"schema":"verity.bench/1","step":{"seconds":1e-300,"bytes":-1},"verify":[{"ratio":1e-308},{"ratio":9.3e18},{"ratio":-1}]}`, bench,
	}} {
		f.Add([]byte(seed[0]), []byte(seed[1]), 0.8)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, model, small []byte, alpha float64) {
		a := Assumptions{Alpha: alpha, Cost: 0.1, Operations: 0.1, Bytes: 0.1}
		paths := [2]string{filepath.Join(dir, "model.json"), filepath.Join(dir, "small.json")}
		for i, raw := range [][]byte{model, small} {
			if err := os.WriteFile(paths[i], raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Read(t.Context(), paths[0]); err != nil {
			return
		}
		if len(small) > 0 && a.Read(t.Context(), paths[1]) != nil {
			return
		}
		if a.Check() != nil {
			return
		}
		forecast := New(a, 16)
		if err := forecast.Write(io.Discard); err != nil {
			t.Fatal(err)
		}
		var value *json.UnsupportedValueError // an infinite speed-up has no JSON
		if err := json.NewEncoder(io.Discard).Encode(forecast); err != nil && !errors.As(err, &value) {
			t.Fatal(err)
		}
	})
}
