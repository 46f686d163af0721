package eval_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"verity/audio"
	"verity/datasets"
	"verity/eval"
	"verity/eval/report"
	"verity/transcript"
)

// Any engine can be evaluated. This one always says the same; that of a model is a
// call of its transcriber.
func ExampleRun() {
	engine := func(ctx context.Context, clip *audio.Clip, _ datasets.Utterance) (*transcript.Transcript, error) {
		return &transcript.Transcript{Text: "good morning", Language: "en", Duration: 1}, nil
	}
	data := func(yield func(datasets.Utterance, error) bool) {
		for _, u := range []datasets.Utterance{
			{ID: "a", Text: "Good morning.", Audio: datasets.Source{Path: "a.wav", Data: silence()}},
			{ID: "b", Text: "Good night!", Audio: datasets.Source{Path: "b.wav", Data: silence()}},
		} {
			if !yield(u, nil) {
				return
			}
		}
	}
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	score, err := report.NewSet("example", "")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := eval.Run(context.Background(), engine, data, eval.Options{
		Dir: dir,
		Watch: func(r *report.Record) {
			if err := score.Add(context.Background(), r); err != nil {
				log.Fatal(err)
			}
		},
	}); err != nil {
		log.Fatal(err)
	}
	s := score.Score()
	fmt.Printf("%d utterances, %d words, word error rate %.0f %%\n", s.Utterances, s.ReferenceWords, 100*s.WER)
	// Output: 2 utterances, 4 words, word error rate 25 %
}

// silence returns a WAV file of 0.1 s at 16 kHz.
func silence() []byte {
	const n = 3200
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\x80\x0c\x00\x00")
	b[4], b[5] = byte((n+36)&0xff), byte((n+36)>>8)
	return append(b, make([]byte, n)...)
}
