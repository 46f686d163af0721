package report_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"verity/eval/report"
)

// Records are scored without a model: raw texts are normalised here.
func ExampleRead() {
	const records = `{"schema":"verity.record/2","id":"a","reference":"Mr. Smith paid $5.","hypothesis":"mister smith paid five dollars","language":"en","audio_seconds":2,"segments":[]}
{"schema":"verity.record/2","id":"b","reference":"good night","hypothesis":"good knight","language":"en","audio_seconds":1,"segments":[]}
`
	set, err := report.NewSet("example", "english")
	if err != nil {
		log.Fatal(err)
	}
	read, _, err := report.Read("records.jsonl", strings.NewReader(records))
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range read {
		if err := set.Add(context.Background(), r); err != nil {
			log.Fatal(err)
		}
	}
	s := set.Score()
	fmt.Printf("%d of %d words right\n", s.Hits, s.ReferenceWords)
	// Output: 5 of 6 words right
}
