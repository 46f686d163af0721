package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestGroup reads row groups one by one: the same rows, sounds and broken rows as All,
// each at the place that All says.
func TestGroup(t *testing.T) {
	type row struct {
		Audio []byte `parquet:"audio,optional"`
		ID    string `parquet:"id"`
		Text  string `parquet:"text"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	for i := range 10 {
		r := row{[]byte(fmt.Sprintf("sound %d", i)), fmt.Sprint("u", i), "said"}
		if i == 4 {
			r.Audio = nil
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	line := func(u Utterance, err error) string {
		return fmt.Sprintf("%s %s %v %v", u.ID, u.Audio.Data, u.Audio.Place, err)
	}
	var want, got []string
	for u, err := range d.All(t.Context()) {
		want = append(want, line(u, err))
	}
	for group := range 3 {
		for u, err := range d.Group(t.Context(), file, group) {
			if err == nil && u.Audio.Place.Group != group {
				t.Errorf("row %s is in group %d, want %d", u.ID, u.Audio.Place.Group, group)
			}
			got = append(got, line(u, err))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 10 {
		t.Errorf("groups hold\n%q, want\n%q", got, want)
	}
	for _, group := range []int{-1, 3} {
		for _, err := range d.Group(t.Context(), file, group) {
			if err == nil || errors.As(err, new(*RowError)) {
				t.Errorf("group %d: error %v, want one that says there is none", group, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range d.Group(ctx, file, 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after an interrupt: %v", err)
		}
	}
}
