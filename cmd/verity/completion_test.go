package main

import (
	"strings"
	"testing"
)

// TestCompletion completes command lines as shells do.
func TestCompletion(t *testing.T) {
	for _, tt := range []struct{ args, want, not string }{ // shells leave out what does not begin as typed
		{"transcribe --language |d", "\nde\tgerman", "\nxx"},
		{"transcribe --language |au", "auto\tdetect it", "\nxx"},
		{"transcribe --assistant |", "\nself\n", "auto\nauto"},
		{"transcribe --model |la", "\nlarge-v2\n", "\n\n"},
		{"transcribe -f |v", "\nvtt\n", "wav"},
		{"transcribe |", "\nflac\n", "txt"},
		{"|germ", "\n:0\n", "\ngerm"},
		{"|se", "\nserve\t", "flac"},
		{"|--lang", "\n--language\tspoken language", "--listen"},
		{"--language |d", "\nde\tgerman", "\nxx"},
		{"talk.wav |", "\nflac\n", "\nserve"},
		{"eval --normalizer |e", "\nenglish\n", "\nflac"},
		{"info |la", "\nlarge-v2\n", "\n\n"},
		{"info |", ":0", ":16"},
		{"models pull |la", "\nlarge-v2\n", "\n\n"},
		{"transcribe |--show-drafts=", "\nauto\nalways\nnever\n", "wav"},
		{"transcribe |--lang", "\n--language\tspoken language, such as", "`"},
		{"transcribe |--assistant", "\n--assistant\tsource of the draft tokens that the model verifies; auto: the model's own", "`"},
	} {
		args := strings.Fields(strings.Split(tt.args, "|")[0])
		_, last, _ := strings.Cut(tt.args, "|")
		code, out, stderr := program(t, nil, append(append([]string{"__complete"}, args...), last)...)
		out = "\n" + out
		if code != 0 || !strings.Contains(strings.ToLower(out), tt.want) || strings.Contains(out, tt.not) {
			t.Errorf("%s: status %d, %q, want %q without %q: %s", tt.args, code, out, tt.want, tt.not, stderr)
		}
	}
}
