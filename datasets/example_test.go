package datasets_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"verity/datasets"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.wav"), nil, 0o644)
	os.WriteFile(filepath.Join(dir, "manifest.jsonl"), []byte(
		`{"audio_filepath": "a.wav", "duration": 2.5, "text": "good morning"}
{"audio_filepath": "lost.wav", "duration": 1, "text": "good night"}
`), 0o644)

	d, err := datasets.Open(context.Background(), dir, datasets.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for u, err := range d.All(context.Background()) {
		var row *datasets.RowError
		if errors.As(err, &row) {
			fmt.Printf("%s:%d is broken\n", filepath.Base(row.File), row.Line)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %.1f s: %s\n", u.ID, u.Duration, u.Text)
	}
	// Output:
	// a.wav, 2.5 s: good morning
	// manifest.jsonl:2 is broken
}
