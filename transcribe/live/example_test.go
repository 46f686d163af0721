package live_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"verity"
	"verity/audio"
	"verity/diarize"
	"verity/model/digits"
	"verity/transcribe"
	"verity/transcribe/live"
)

// Words as soon as they are final. OpenStream reads sound that arrives, such as os.Stdin.
func ExampleTranscriber_Listen() {
	ctx, stdin := context.Background(), bytes.NewReader(digits.Sample())
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := live.New(m.Model, transcribe.Options{Language: "en"})
	if err != nil {
		log.Fatal(err)
	}
	clip, err := audio.Input{}.OpenStream(ctx, "stdin", stdin)
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	for r, err := range t.Listen(ctx, clip, live.DefaultTurns()) {
		if err != nil {
			log.Fatal(err)
		}
		for _, w := range r.Confirmed { // r.Tentative is text that may still change
			fmt.Print(w.Word)
		}
	}
	// Output: one nine seven six eight three five seven seven four
}

// Who speaks, at the end of each utterance.
func ExampleResult() {
	ctx, stdin := context.Background(), bytes.NewReader(digits.Sample())
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	clip, err := audio.Input{}.OpenStream(ctx, "stdin", stdin)
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	t, err := live.New(m.Model, transcribe.Options{Speakers: &diarize.Options{}})
	if err != nil {
		log.Fatal(err)
	}
	speaker := ""
	for r, err := range t.Listen(ctx, clip, live.DefaultTurns()) {
		if err != nil {
			log.Fatal(err)
		}
		for _, w := range r.Words { // of an utterance that has ended
			if w.Speaker != speaker {
				speaker = w.Speaker
				fmt.Printf("\n%s:", speaker)
			}
			fmt.Print(w.Word)
		}
	}
}
