package text

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestLimits: 0 means no limit of lines, also where --subtitles has one; a flag overrides the rules of a service.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		flags        string
		width, lines int
		wrong        string
	}{
		{"", 0, 0, ""}, {"--max-line-width=0 --max-line-count=0", 0, 0, ""}, {"--max-line-width=30 --max-line-count=0", 30, 0, ""},
		{"--subtitles", 0, 0, ""}, {"--subtitles --max-line-width=0", unlimited, 0, ""}, {"--subtitles=bbc", 37, 2, ""},
		{"--subtitles=bbc --max-line-width=50 --max-line-count=0", 50, unlimited, ""},
		{"--max-line-count=2", 0, 2, "--max-line-count needs"}, {"--max-line-width=0 --max-line-count=2", 0, 2, "--max-line-count needs"},
	} {
		run, f := &fileRun{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		run.registerSubtitles(f)
		if err := f.Parse(strings.Fields(tt.flags)); err != nil {
			t.Fatal(err)
		}
		if o := run.written().Subtitles; o.MaxLineWidth != tt.width || o.MaxLineCount != tt.lines {
			t.Errorf("%s: lines of %d, %d of them, want %d, %d", tt.flags, o.MaxLineWidth, o.MaxLineCount, tt.width, tt.lines)
		}
		if err := run.checkLimits(); (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: error %v, want %q", tt.flags, err, tt.wrong)
		}
	}
}
