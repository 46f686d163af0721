package models

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// TestDescribeSound describes a file with two tracks, and one of a format that has no tracks.
func TestDescribeSound(t *testing.T) {
	needs.Program(t, "ffmpeg")
	two := needs.SharedFile(t, "reports/two.mka")
	var text, object strings.Builder
	if err := describeSound(t.Context(), &text, two, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 (ger), opus\n", "2 (eng), opus, default, transcribed\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q lacks %q", text.String(), want)
		}
	}
	if err := describeSound(t.Context(), &object, two, true); err != nil {
		t.Fatal(err)
	}
	var p soundProperties
	if err := json.Unmarshal([]byte(object.String()), &p); err != nil || len(p.Tracks) != 2 || p.Track != 2 || p.Tracks[0].Language != "ger" {
		t.Errorf("%s: %v", object.String(), err)
	}
	jfk := filepath.Join("..", "..", "..", "model", "base", "jfk.flac")
	text.Reset()
	if err := describeSound(t.Context(), &text, jfk, false); err != nil || !strings.Contains(text.String(), "audio track      1, transcribed\n") {
		t.Errorf("%q, %v", text.String(), err)
	}
	if !isSound(jfk) || isSound("base") || isSound("absent.wav") {
		t.Error("isSound mistakes one for the other")
	}
}
