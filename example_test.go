package verity_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"verity"
	"verity/audio"
	"verity/diarize"
	"verity/model/digits"
	"verity/precision"
	"verity/transcribe"
	"verity/transcript"
)

// A file for the examples. It has spoken digits, and so does the model in package digits.
const file = "model/digits/digits.wav"

// Who speaks: each segment and each turn has the name of a speaker.
func ExampleModel_With() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	o := m.Decoding()
	o.Speakers = &diarize.Options{} // Speakers is how many there are, if known; Min and Max bound it
	named, err := m.With(o)
	if err != nil {
		log.Fatal(err)
	}
	t, err := named.Transcribe(ctx, file)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range t.Segments {
		fmt.Printf("%s:%s\n", s.Speaker, s.Text)
	}
	for _, turn := range t.Turns {
		fmt.Printf("%.1f to %.1f s: %s:%s\n", turn.Start, turn.End, turn.Speaker, turn.Text)
	}
}

// Samples that nobody divided by 32768 are an error, which says where they are.
func ExampleModel_TranscribeSamples() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	samples := []float32{0, 12, 300}
	_, err = m.TranscribeSamples(ctx, samples)
	if bad := (*audio.SampleError)(nil); errors.As(err, &bad) {
		fmt.Println("sample", bad.Index, "is", bad.Value)
	}
	// Output: sample 2 is 300
}

// Speakers whose voices are known get their names.
func ExampleModel_Decoding() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{Decoding: transcribe.Options{Speakers: &diarize.Options{}}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	o := m.Decoding()
	clip, err := audio.Open(ctx, "ann.wav")
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	ann, err := diarize.NewVoice(ctx, "Ann", clip, nil)
	if err != nil {
		log.Fatal(err) // *diarize.SampleError: no speech, too short, or two speakers
	}
	o.Speakers.Known = []diarize.Voice{ann}
	if m, err = m.With(o); err != nil {
		log.Fatal(err)
	}
}

// The language and the length of a file before its text, and how far the work is.
func ExampleModel_Transcriber() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	clip, err := audio.Open(ctx, file)
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	t, err := m.Transcriber().Transcribe(ctx, clip, transcribe.Callbacks{
		Begin:    func(language string, _, length float64) { fmt.Printf("%s, %.0f s\n", language, length) },
		Estimate: func(done, total float64) { fmt.Fprintf(os.Stderr, "\r%3.0f %%", 100*done/total) },
		Segment:  func(s transcript.Segment) { fmt.Println(s.TrimmedText()) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(t.Segments), "segments")
	// Output:
	// en, 10 s
	// one
	// nine seven
	// six
	// eight
	// three
	// five seven
	// seven four
	// 7 segments
}

// A text that is known, with the times at which the recording has its words. One of them, "please", is not said.
func ExampleModel_Transcriber_withText() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{Offline: true})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	clip, err := audio.Input{}.OpenReader(ctx, "digits.wav", bytes.NewReader(digits.Sample()))
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	raw := []byte("One, nine, seven, six: please!\nEight three five seven seven four.")
	cues, err := transcript.ReadLines("digits.txt", raw)
	if err != nil {
		log.Fatal(err)
	}
	t, err := m.Transcriber().WithText(cues)
	if err != nil {
		log.Fatal(err)
	}
	tr, err := t.Transcribe(ctx, clip, transcribe.Callbacks{})
	if err != nil {
		log.Fatal(err) // *transcribe.TextError: the text is of another recording
	}
	for _, d := range tr.Differences {
		fmt.Println(d.Line())
	}
	for _, s := range tr.Segments {
		fmt.Printf("%.1f %s\n", s.Start, s.TrimmedText())
	}
	// Output:
	// 00:03.980 in the text, not heard: please!
	// 0.1 One, nine, seven, six: please!
	// 4.0 Eight three five seven seven four.
}

// A published model needs no OpenFS: see the example of Open.
func Example() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := m.Transcribe(ctx, file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Text)
	// Output: one nine seven six eight three five seven seven four
}

// A model by its published name, which is downloaded unless it is in the cache.
func ExampleOpen() {
	ctx := context.Background()
	m, err := verity.Open(ctx, "large-v2", verity.Options{
		Precision: precision.Of(precision.Int8),
		Assistant: "distil-large-v2", // or "auto" (the default), "none", "encoder", "self", "ngram"
		Decoding:  transcribe.Options{Language: "en", WordTimestamps: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
}

// Segments as they come, each as soon as nothing can change it.
func ExampleModel_Segments() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	clip, err := audio.Open(ctx, file)
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	for segment, err := range m.Segments(ctx, clip) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.1f s%s\n", segment.Start, segment.Text)
		if segment.Start > 3 {
			break // ends the work, too
		}
	}
	// Output:
	// 0.1 s one
	// 1.2 s nine seven
	// 3.5 s six
}

// Speculative decoding and subtitles: int8 weights, and drafts by n-grams.
func ExampleModel_TranscribeReader() {
	ctx := context.Background()
	m, err := verity.OpenFS(ctx, digits.Target(), "demo", verity.Options{
		Precision: precision.Of(precision.Int8),
		Assistant: "ngram",
		Decoding:  transcribe.Options{Language: "en", Spans: []transcribe.Span{{Start: 0, End: 3}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := m.TranscribeReader(ctx, "digits.wav", bytes.NewReader(digits.Sample()))
	if err != nil {
		log.Fatal(err)
	}
	if err := transcript.Write(os.Stdout, transcript.SRT, t); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1
	// 00:00:00,100 --> 00:00:00,600
	// one
	//
	// 2
	// 00:00:01,200 --> 00:00:02,800
	// nine seven
}
