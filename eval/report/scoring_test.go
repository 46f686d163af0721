package report

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"verity/wer"
)

// TestScoreInterrupted: a text of many megabytes takes minutes to normalise; a signal ends it.
func TestScoreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	began := time.Now()
	r := &Record{Reference: "one", Hypothesis: strings.Repeat("word ", 1_000_000), Language: "en"}
	_, err := scoreOf(ctx, &wer.Scorer{}, r, "english")
	if took := time.Since(began); !errors.Is(err, context.Canceled) || took > 5*time.Second {
		t.Errorf("error = %v after %v, want the context's at once", err, took)
	}
}
