package report

import (
	"strings"
	"testing"

	"verity/transcript"
)

// TestOldRecord reads a line as written before records and transcripts shared one
// set of counters.
func TestOldRecord(t *testing.T) {
	const line = `{"schema":"verity.record/1","id":"u1","reference":"a","hypothesis":"a","audio_seconds":2,"segments":[],` +
		`"seconds":{"mel":1,"encode":2,"cross_kv":3,"decode":4,"draft":0.5,"verify":0.25,"rules":0.125,"total":10},` +
		`"work":{"windows":1,"silent":0,"attempts":2,"tokens":7},` +
		`"drafting":{"rounds":3,"drafted":6,"accepted":4,"kept":7,"refused":2,"histogram":[1,0,2]},` +
		`"proof":{"tokens":"x","logprobs":"y"},"run":{"code":"old","model":"m"}}` + "\n"
	for r, err := range Read("old", strings.NewReader(line)) {
		if err != nil {
			t.Fatal(err)
		}
		if want := (transcript.Seconds{Mel: 1, Encode: 2, CrossKV: 3, Decode: 4, Draft: 0.5, Verify: 0.25, Rules: 0.125, Total: 10}); r.Seconds != want {
			t.Errorf("seconds = %+v, want %+v", r.Seconds, want)
		}
		if want := (transcript.Work{Windows: 1, Attempts: 2, Tokens: 7}); r.Work != want {
			t.Errorf("work = %+v, want %+v", r.Work, want)
		}
		d := r.Drafting
		if d.Rounds != 3 || d.Drafted != 6 || d.Accepted != 4 || d.Kept != 7 || d.Refused != 2 || len(d.Histogram) != 3 || r.Proof == nil {
			t.Errorf("drafting = %+v, proof %v", d, r.Proof)
		}
	}
}
