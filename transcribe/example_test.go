package transcribe_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"verity/audio"
	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
	"verity/transcript"
)

// From a model and a sound file to lines of text, printed as they come. The demo
// model and its recording are inside the program; model.Open and audio.Open read
// those of a directory and of a file.
func Example() {
	ctx := context.Background()
	checkpoint, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		log.Fatal(err)
	}
	defer checkpoint.Close()
	m, err := transcribe.Load(ctx, checkpoint, transcribe.LoadOptions{
		Assistant: transcribe.AssistantOptions{Method: transcribe.Self},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := transcribe.New(m, transcribe.Options{Language: "en"})
	if err != nil {
		log.Fatal(err)
	}
	clip, err := audio.Input{}.OpenReader(context.Background(), "digits.wav", bytes.NewReader(digits.Sample()))
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	result, err := t.Transcribe(ctx, clip, transcribe.Callbacks{
		Segment: func(s transcript.Segment) { fmt.Printf("%.2f %s\n", s.Start, s.TrimmedText()) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Language, result.Duration)
	// Output:
	// 0.10 one
	// 1.20 nine seven
	// 3.50 six
	// 4.30 eight
	// 5.50 three
	// 6.60 five seven
	// 8.00 seven four
	// en 9.981375
}
