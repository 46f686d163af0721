package cli

import (
	"strings"
	"testing"
)

// TestHabitsFile checks the columns of habits.tsv. No word stands twice.
func TestHabitsFile(t *testing.T) {
	rows := 0
	for line := range strings.Lines(habitsFile) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 2 || len(f) > 4 || f[0] == "" || f[1] == "" {
			t.Errorf("%q: want program, word, ours or a note", line)
		}
	}
	if rows != len(Habits()) {
		t.Errorf("%d rows hold %d words: some stand twice", rows, len(Habits()))
	}
}
