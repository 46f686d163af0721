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

// TestTimesOfRecords: a time that cannot be, or whose sums or quotients are no numbers, is refused.
func TestTimesOfRecords(t *testing.T) {
	fields := []string{`"audio_seconds":%v`, `"wall_seconds":%v`}
	for f := range reflect.TypeFor[transcript.Seconds]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, `"seconds":{"`+name+`":%v}`)
	}
	for _, field := range fields {
		for value, want := range map[float64]bool{
			-1e-9: false, 0: true, 5e-324: false, 1e-31: false, 1e-17: true, 1e8: true, 2e9: false, 1e308: false,
		} {
			text := fmt.Sprintf(`{"schema":%q,"id":"a",`+field+"}\n", RecordSchema, value)
			for _, err := range Read("x", strings.NewReader(text)) {
				if (err == nil) != want {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}
