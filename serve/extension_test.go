package serve

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestProgress: a stream that asks for it has the seconds that are done, the stage, and the times of words.
func TestProgress(t *testing.T) {
	for _, x := range [][2]string{{"", "text"}, {"voice", "text speakers"}} {
		testProgress(t, x[0], x[1])
	}
}

func testProgress(t *testing.T, speakers, wantStages string) {
	h, _ := newServer(t, Options{})
	segments, done, stages := 0, 0.0, []string{}
	_, body := post(t, h.URL+transcriptions, wav(t), field{"stream", "true"}, field{"speakers", speakers},
		field{"include[]", withProgress}, field{"timestamp_granularities[]", "word"})
	for line := range strings.SplitSeq(body, "\n") {
		var e struct {
			Type, Text  string
			Stage       string
			Words       []word
			Done, Total float64
		}
		data, _ := strings.CutPrefix(line, "data: ")
		if json.Unmarshal([]byte(data), &e) != nil {
			continue // an empty line, [DONE]
		}
		switch e.Type {
		case "verity.progress":
			if stages = append(stages, e.Stage); e.Done < done || e.Done > e.Total || e.Total != want().Duration {
				t.Errorf("progress %v of %v after %v", e.Done, e.Total, done)
			}
			done = e.Done
		case "transcript.text.segment":
			segments++
			if len(e.Words) != len(strings.Fields(e.Text)) {
				t.Errorf("%q: words %+v", e.Text, e.Words)
			}
		}
	}
	if got := strings.Join(slices.Compact(stages), " "); got != wantStages {
		t.Errorf("speakers %q: stages %s, want %s", speakers, got, wantStages)
	}
	if segments == 0 || done < want().Duration-0.01 { // progress counts frames of 10 ms
		t.Errorf("%d segments, progress to %v of %v", segments, done, want().Duration)
	}
}
