package transcribe_test

import (
	"context"
	"fmt"
	"log"

	"verity/audio"
	"verity/model"
	"verity/parallel"
	"verity/transcribe"
	"verity/transcript"
)

// From a directory and a sound file to lines of text, printed as they come.
func Example() {
	ctx := context.Background()
	checkpoint, err := model.Open("whisper-small")
	if err != nil {
		log.Fatal(err)
	}
	defer checkpoint.Close()
	pool := parallel.New(0)
	defer pool.Close()

	m, err := transcribe.Load(checkpoint, transcribe.LoadOptions{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	t, err := transcribe.New(m, transcribe.Options{Language: "en"})
	if err != nil {
		log.Fatal(err)
	}
	clip, err := audio.Open("talk.wav")
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	result, err := t.Transcribe(ctx, clip, transcribe.Watch{
		Segment: func(s transcript.Segment) { fmt.Printf("%7.2f %s\n", s.Start, s.Line()) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Language, result.Duration)
}
