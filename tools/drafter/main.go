// Drafter prepares the training of drafting heads (train.py) and measures them.
//
//	go run ./tools/drafter features -model base -out DIR -language en FILE…
//	go run ./tools/drafter measure -model base -features DIR -head assistant/ctc/base -language en NAME…
//
// features writes, for the first window of each file, NAME.f16 (the encoder's output as binary16), NAME.txt
// and NAME.tokens (what the model itself writes). measure simulates the rounds of assisted decoding
// against those tokens, without running the decoder.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/x448/float16"

	"verity/assistant"
	"verity/assistant/ctc"
	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/model"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcribe"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("drafter: want a command: features or measure")
	}
	var run func(context.Context, []string) error
	switch os.Args[1] {
	case "features":
		run = features
	case "measure":
		run = measure
	default:
		log.Fatalf("drafter: got %q, want features or measure", os.Args[1])
	}
	if err := run(context.Background(), os.Args[2:]); err != nil {
		log.Fatal("drafter: ", err)
	}
}

// features writes the encoder's output and the model's text of each file.
func features(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("features", flag.ExitOnError)
	name := f.String("model", "", "directory or file of the model")
	out := f.String("out", "", "directory to write to")
	language := f.String("language", "en", "language of the files")
	f.Parse(args)
	c, err := model.Open(ctx, *name)
	if err != nil {
		return err
	}
	defer c.Close()
	o := transcribe.LoadOptions{Precision: precision.Of(precision.Int8), Assistant: transcribe.AssistantOptions{Method: transcribe.None}}
	m, err := transcribe.Load(ctx, c, o)
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := transcribe.New(m, transcribe.Options{Language: *language, SkipSpeechCheck: true})
	if err != nil {
		return err
	}
	for _, path := range f.Args() {
		base := filepath.Join(*out, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		if _, err := os.Stat(base + ".tokens"); err == nil {
			continue
		}
		if err := writeFeatures(ctx, m, t, path, base); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// writeFeatures writes those of the first window of a file.
func writeFeatures(ctx context.Context, m *transcribe.Model, t *transcribe.Transcriber, path, base string) error {
	clip, err := audio.Open(ctx, path)
	if err != nil {
		return err
	}
	defer clip.Close()
	text, err := t.Transcribe(ctx, clip, transcribe.Callbacks{})
	if err != nil {
		return err
	}
	var tokens []tokenizer.Token
	for _, s := range text.Segments {
		if s.Seek == 0 {
			tokens = append(tokens, s.Tokens...)
		}
	}
	tokens = append(tokens, m.Tokenizer.EOT)
	if err := clip.Rewind(); err != nil {
		return err
	}
	spectrogram, err := audio.NewSpectrogram(ctx, clip, audio.Options{Bins: m.Dims.MelBins, Window: 2 * m.Dims.AudioPositions})
	if err != nil {
		return err
	}
	mel, err := spectrogram.Window(ctx, 0)
	if err != nil {
		return err
	}
	encoded, err := m.Encoder.Encode(ctx, mel)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, v := range encoded.Data {
		b.Write(binary.LittleEndian.AppendUint16(nil, float16.Fromfloat32(v).Bits()))
	}
	list, err := json.Marshal(tokens)
	if err != nil {
		return err
	}
	for suffix, data := range map[string][]byte{".f16": b.Bytes(), ".txt": []byte(m.Tokenizer.Decode(tokens)), ".tokens": list} {
		if err := os.WriteFile(base+suffix, data, 0o644); err != nil { //verity:writes the features asked for
			return err
		}
	}
	return nil
}

// totals are the sums of a measurement.
type totals struct {
	tokens, rounds, drafted, accepted int
	drafting, opening                 time.Duration
}

// measure simulates rounds.
func measure(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("measure", flag.ExitOnError)
	dir := f.String("features", "", "directory that features wrote to")
	head := f.String("head", "", "directory of the head")
	name := f.String("model", "", "directory or file of the model")
	language := f.String("language", "en", "language of the files")
	most := f.Int("draft-tokens", 8, "tokens of a draft")
	show := f.Bool("show", false, "print every round")
	f.Parse(args)
	c, err := model.Open(ctx, *name)
	if err != nil {
		return err
	}
	defer c.Close()
	t, err := tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab)
	if err != nil {
		return err
	}
	a, err := ctc.Load(os.DirFS(*head), nil, t)
	if err != nil {
		return err
	}
	spoken, ok := t.Language(*language)
	if !ok {
		return fmt.Errorf("language %q: the model does not know it", *language)
	}
	var sum totals
	for _, window := range f.Args() {
		if err := sum.add(a, t, c.Dims.AudioWidth, filepath.Join(*dir, window), spoken.Token, *most, *show); err != nil {
			return err
		}
	}
	fmt.Printf("%d windows, %d tokens: %.2f a round; %.2f of the drafted right; a draft takes %.0f µs, the head %.1f ms\n",
		f.NArg(), sum.tokens, float64(sum.tokens)/float64(sum.rounds), float64(sum.accepted)/float64(sum.drafted),
		float64(sum.drafting.Microseconds())/float64(sum.rounds), sum.opening.Seconds()*1000/float64(f.NArg()))
	return nil
}

// add simulates the rounds of a window.
func (s *totals) add(
	a *ctc.Assistant, t *tokenizer.Tokenizer, width int, path string, language tokenizer.Token, most int, show bool,
) error {
	b, err := os.ReadFile(path + ".f16")
	if err != nil {
		return err
	}
	list, err := os.ReadFile(path + ".tokens")
	if err != nil {
		return err
	}
	var target []tokenizer.Token
	if err := json.Unmarshal(list, &target); err != nil {
		return err
	}
	encoded := &encoder.Features{Width: width, Positions: len(b) / 2 / width}
	for i := 0; i < len(b); i += 2 {
		encoded.Data = append(encoded.Data, float16.Frombits(binary.LittleEndian.Uint16(b[i:])).Float32())
	}
	ctx := context.Background()
	d := a.Open(assistant.Window{Features: encoded})
	defer d.Close()
	d.Begin(decoder.SessionOptions{Prompt: []tokenizer.Token{t.SOT, language, t.Transcribe}}, nil)
	for at := 0; at < len(target); {
		began := time.Now()
		draft, err := d.Propose(ctx, nil, most)
		if err != nil {
			return err
		}
		s.drafting += time.Since(began)
		n := 0
		for n < len(draft) && at+n < len(target) && draft[n] == target[at+n] {
			n++
		}
		end := min(at+n+1, len(target))
		if show {
			fmt.Printf("  %-40q | %q\n", t.DecodeWithTimestamps(target[at:end]), t.DecodeWithTimestamps(draft))
		}
		if err := d.Commit(ctx, target[at:end]); err != nil {
			return err
		}
		s.rounds, s.tokens, s.drafted, s.accepted = s.rounds+1, s.tokens+end-at, s.drafted+len(draft), s.accepted+n
		at = end
	}
	opening := d.(assistant.CostReporter).Cost().Opening
	s.opening += opening
	s.drafting -= opening
	return nil
}
