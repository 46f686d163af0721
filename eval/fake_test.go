package eval

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"verity/audio"
	"verity/datasets"
	"verity/tokenizer"
	"verity/transcript"
)

// A hearer is an engine whose text is a function of the sound: a word for every
// hundred samples. What it takes is made up, so that runs are the same bytes.
type hearer struct {
	drafts bool
	wrong  func(pcm []float32) bool // where a wrong verifier keeps what was drafted
	fail   func(pcm []float32) bool
}

func (h hearer) engine(ctx context.Context, clip *audio.Clip, _ datasets.Utterance) (*transcript.Transcript, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pcm, err := clip.Samples(1 << 20)
	if err != nil {
		return nil, err
	}
	if h.fail != nil && h.fail(pcm) {
		return nil, errors.New("the engine is out of order")
	}
	t := &transcript.Transcript{Name: clip.Name(), Language: "en", Duration: float64(len(pcm)) / audio.SampleRate}
	var words []string
	s := transcript.Segment{End: t.Duration, AvgLogProb: -0.25, NoSpeechProb: 0.125, CompressionRatio: 1}
	for i := 0; i < len(pcm); i += 100 {
		n := int(pcm[i]*32768) % 10
		words = append(words, fmt.Sprintf("word%d", n))
		s.Tokens = append(s.Tokens, tokenizer.Token(n))
	}
	if h.wrong != nil && h.wrong(pcm) {
		s.Tokens[0]++
	}
	t.Text = " " + strings.Join(words, " ")
	s.Text = t.Text
	t.Segments = []transcript.Segment{s}
	n := len(words)
	t.Stats = transcript.Stats{Work: transcript.Work{Windows: 1, Attempts: 1, Tokens: n + 1}, Seconds: transcript.Seconds{Encode: 0.5, Decode: 0.25, Verify: 0.25, Total: 1}}
	t.Stats.Drafts = transcript.Drafts{Rounds: n + 1, Tokens: n + 1, Histogram: []int{n + 1}}
	if h.drafts {
		t.Stats.Drafts = transcript.Drafts{Rounds: 1, Drafted: n + 1, Accepted: n, Tokens: n + 1, Histogram: append(make([]int, n), 1)}
		t.Stats.Seconds = transcript.Seconds{Encode: 0.5, Decode: 0.125, Draft: 0.0625, Verify: 0.0625, Total: 0.875}
	}
	return t, nil
}

// sound returns a WAV file of n samples that say who they are.
func sound(key, n int) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data")
	binary.LittleEndian.PutUint32(b[4:], uint32(36+2*n))
	b = binary.LittleEndian.AppendUint32(b, uint32(2*n))
	for i := range n {
		b = binary.LittleEndian.AppendUint16(b, uint16((key*31+i)%3000))
	}
	return b
}

// The broken rows of a shelf.
const (
	brokenRow = 3 // no utterance at all
	badSound  = 5 // sound that is none
)

// shelf is a dataset of n rows.
func shelf(n int) Dataset {
	return func(yield func(datasets.Utterance, error) bool) {
		for i := range n {
			u := datasets.Utterance{ID: fmt.Sprintf("u%03d", i), Text: fmt.Sprintf("word%d word1", i%10)}
			u.Audio = datasets.Source{Path: u.ID + ".wav", Data: sound(i, 200+100*(i%3))}
			var err error
			switch i {
			case brokenRow:
				u, err = datasets.Utterance{}, &datasets.RowError{File: "shelf.jsonl", Line: i + 1, Err: errors.New("has no text")}
			case badSound:
				u.Audio = datasets.Source{Path: u.ID + ".wav", Data: []byte("RIFF, but no more")}
			}
			if !yield(u, err) {
				return
			}
		}
	}
}
