package report

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"verity/transcript"
)

// TestMustAgree checks whose records may not differ.
func TestMustAgree(t *testing.T) {
	run := transcript.Provenance{ModelID: "m", Dataset: "d", Options: map[string]string{"draft-tokens": "auto", "temperature": "0"}}
	tests := []struct {
		name  string
		other transcript.Provenance
		want  bool
	}{
		{"the same", run, true},
		{"another assistant", transcript.Provenance{ModelID: "m", Dataset: "d", Assistant: "a", Options: map[string]string{"draft-tokens": "5", "temperature": "0", "assistant-precision": "f16"}}, true},
		{"another model", transcript.Provenance{ModelID: "n", Dataset: "d", Options: run.Options}, false},
		{"another dataset", transcript.Provenance{ModelID: "m", Dataset: "e", Options: run.Options}, false},
		{"another temperature", transcript.Provenance{ModelID: "m", Dataset: "d", Options: map[string]string{"temperature": "1"}}, false},
	}
	for _, tt := range tests {
		if got := MustAgree(run, tt.other); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestNumbersOfRecords: a time or a count that cannot be, or whose sum with others is no number, is refused.
func TestNumbersOfRecords(t *testing.T) {
	for fields, want := range map[string]bool{
		`"work":{"tokens":1000000}`: true, `"work":{"tokens":-1}`: false, `"work":{"windows":9223372036854775807}`: false,
		`"drafting":{"histogram":[3,-1]}`: false, `"drafting":{"found":1,"accepted":4611686018427387904}`: false,
		`"audio_seconds":-3.5`: false, `"seconds":{"total":-1e-9}`: false, `"wall_seconds":-0.0`: true,
		`"offset_seconds":1e-320,"drafting":{"overlap":1e-320}`: true, // nothing is divided by them
	} {
		for _, err := range Read("x", strings.NewReader(fmt.Sprintf(`{"schema":%q,"id":"a",%s}`+"\n", RecordSchema, fields))) {
			if (err == nil) != want {
				t.Errorf("%s: %v", fields, err)
			}
		}
	}
	for _, fields := range []string{
		`"seconds":{"total":%v}`, `"seconds":{"verify":%v}`, `"wall_seconds":%v`, `"audio_seconds":%v`, `"drafting":{"overlap":%v}`,
		`"audio_damaged":[{"start":0,"end":%v}]`, `"segments":[{"start":%v}]`,
	} {
		for time, want := range map[float64]bool{0: true, 1e8: true, -1e300: false, 2e9: false, 1e308: false} {
			text := fmt.Sprintf(`{"schema":%q,"id":"a",`+fields+"}\n", RecordSchema, time)
			for _, err := range Read("x", strings.NewReader(text)) {
				if (err == nil) != want {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
	// Rates by a time that is next to none were +Inf, which JSON has not.
	for i, seconds := 0, reflect.TypeFor[transcript.Seconds](); i < seconds.NumField()+2; i++ {
		field := `"audio_seconds":%v`
		if i == seconds.NumField() {
			field = `"wall_seconds":%v`
		} else if i < seconds.NumField() {
			name, _, _ := strings.Cut(seconds.Field(i).Tag.Get("json"), ",")
			field = `"seconds":{"` + name + `":%v}`
		}
		for value, want := range map[float64]bool{5e-324: false, 1e-320: false, 1e-31: false, 1e-17: true} {
			text := fmt.Sprintf(`{"schema":%q,"id":"a",`+field+"}\n", RecordSchema, value)
			for _, err := range Read("x", strings.NewReader(text)) {
				if (err == nil) != want {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}
