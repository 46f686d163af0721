package live_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"verity"
	"verity/audio"
	"verity/model/digits"
	"verity/transcribe"
	"verity/transcribe/live"
)

// Words as soon as they stand. Sound is anything with samples to read: here standard input
// would do as well as these bytes.
func ExampleTranscriber_Listen() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := live.New(m.Model, transcribe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	clip, err := audio.Input{}.OpenStream(ctx, "digits", bytes.NewReader(digits.Sample()))
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	for said, err := range t.Listen(ctx, clip, live.DefaultTurns()) {
		if err != nil {
			log.Fatal(err)
		}
		for _, w := range said.Confirmed { // and said.Tentative may still change
			fmt.Print(w.Word)
		}
	}
	// Output: one nine seven six eight three five seven seven four
}
