package report

import (
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
