// Bridge lets the suites of tools/proof, which are in Python, call Verity's packages. It reads one JSON object
// a line from standard input and writes one for each:
//
//	{"call": "normalize", "name": "english", "texts": ["two"]}
//	{"texts": ["2"]}
//
// An object that cannot be answered gets {"error": "…"}.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strings"

	"verity/audio"
	"verity/tokenizer"
	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

// A request has the fields that its call needs.
type request struct {
	Call string `json:"call"`

	Name  string   `json:"name"` // of a normalizer
	Texts []string `json:"texts"`

	Ref, Hyp []string // by line

	Vocabulary int               `json:"vocabulary"`
	Text       string            `json:"text"`
	Tokens     []tokenizer.Token `json:"tokens"`
	Language   string            `json:"language"`

	Path    string    `json:"path"`
	File    string    `json:"file"` // to write the samples to
	Samples []float32 `json:"samples"`
	PadMel  bool      `json:"pad_mel"`
	Bins    int       `json:"bins"`

	Transcript transcript.Transcript `json:"transcript"`
	Options    transcript.Subtitles  `json:"options"`
}

// An answer has the fields that its call returns.
type answer map[string]any

// calls are what a suite can ask for.
var calls = map[string]func(context.Context, request) (answer, error){
	"normalize": normalized,
	"align":     aligned,
	"score":     scored,
	"tokenizer": withTokenizer(specials),
	"encode":    withTokenizer(encoded),
	"decode":    withTokenizer(decoded),
	"split":     withTokenizer(split),
	"sound":     sound,
	"subtitles": subtitles,
	"cues":      cues,
	"logmel":    logMel,
}

func main() {
	log.SetOutput(io.Discard) // the reader of FLAC writes a line for each odd frame
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bridge:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	decoder, buffer := json.NewDecoder(in), bufio.NewWriter(out)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	for {
		var r request
		if err := decoder.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(reply(r)); err != nil {
			return err
		}
		if err := buffer.Flush(); err != nil {
			return err
		}
	}
}

func reply(r request) answer {
	call, ok := calls[r.Call]
	if !ok {
		return answer{"error": fmt.Sprintf("no call %q", r.Call)}
	}
	a, err := call(context.Background(), r)
	if err != nil {
		return answer{"error": err.Error()}
	}
	return a
}

func normalized(_ context.Context, r request) (answer, error) {
	f, err := normalize.ByName(r.Name)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(r.Texts))
	for i, t := range r.Texts {
		texts[i] = f(t)
	}
	return answer{"texts": texts}, nil
}

// aligned returns the alignment of each pair of lines, as [operation, word of ref, word of hyp].
func aligned(ctx context.Context, r request) (answer, error) {
	var aligner wer.Aligner
	var words wer.Vocabulary
	alignments := make([][][]any, len(r.Ref))
	for i := range r.Ref {
		pairs, err := aligner.Align(ctx, words.Words(nil, r.Ref[i]), words.Words(nil, r.Hyp[i]))
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			alignments[i] = append(alignments[i], []any{p.Op.String(), p.Ref, p.Hyp})
		}
	}
	return answer{"alignments": alignments}, nil
}

// scored returns the counts and rates of the words and characters of all lines together, as eval has them.
func scored(ctx context.Context, r request) (answer, error) {
	var scorer wer.Scorer
	var corpus wer.Corpus
	for i := range r.Ref {
		s, err := scorer.Score(ctx, r.Ref[i], r.Hyp[i])
		if err != nil {
			return nil, err
		}
		corpus.Add(s)
	}
	return answer{"words": measured(corpus.Words), "chars": measured(corpus.Chars)}, nil
}

func measured(c wer.Counts) answer {
	return answer{
		"hits": c.Hits, "substitutions": c.Subs, "deletions": c.Dels, "insertions": c.Ins,
		"rate": c.Rate(), "mer": c.MER(), "wil": c.WIL(), "wip": c.WIP(),
	}
}

// withTokenizer answers with the tokenizer of the request's vocabulary.
func withTokenizer(call func(*tokenizer.Tokenizer, request) answer) func(context.Context, request) (answer, error) {
	return func(_ context.Context, r request) (answer, error) {
		t, err := tokenizer.Embedded(r.Vocabulary)
		if err != nil {
			return nil, err
		}
		return call(t, r), nil
	}
}

func specials(t *tokenizer.Tokenizer, _ request) answer {
	var codes []string
	var tokens []tokenizer.Token
	for _, l := range t.Languages() {
		codes, tokens = append(codes, l.Code), append(tokens, l.Token)
	}
	return answer{
		"sot": t.SOT, "eot": t.EOT, "transcribe": t.Transcribe, "translate": t.Translate, "no_timestamps": t.NoTimestamps,
		"timestamp_begin": t.TimestampBegin, "no_speech": t.NoSpeech, "languages": codes, "language_tokens": tokens,
	}
}

func encoded(t *tokenizer.Tokenizer, r request) answer { return answer{"tokens": t.Encode(r.Text)} }

func decoded(t *tokenizer.Tokenizer, r request) answer {
	return answer{"text": t.Decode(r.Tokens), "with_timestamps": t.DecodeWithTimestamps(r.Tokens)}
}

func split(t *tokenizer.Tokenizer, r request) answer {
	words, groups := t.SplitToWords(r.Tokens, r.Language)
	return answer{"words": words, "groups": groups}
}

// sound writes the samples of Path to File, as little-endian float32. It returns the warnings, and whether Verity read the file by
// itself, or passed it to ffmpeg.
func sound(ctx context.Context, r request) (answer, error) {
	own := true
	clip, pcm, err := samples(ctx, audio.Input{FFmpeg: audio.FFmpegNever}, r.Path)
	if err != nil {
		own = false
		if clip, pcm, err = samples(ctx, audio.Input{}, r.Path); err != nil {
			return nil, err
		}
	}
	raw, err := binary.Append(nil, binary.LittleEndian, pcm)
	if err != nil {
		return nil, err
	}
	return answer{"warnings": clip.Warnings(), "start": clip.Start(), "own": own},
		os.WriteFile(r.File, raw, 0o600)
}

func samples(ctx context.Context, in audio.Input, path string) (*audio.Clip, []float32, error) {
	clip, err := in.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer clip.Close()
	pcm, err := clip.Samples(math.MaxInt)
	return clip, pcm, err
}

// subtitles writes a transcript in the format Name.
func subtitles(_ context.Context, r request) (answer, error) {
	var b strings.Builder
	err := transcript.Options{Subtitles: r.Options}.Write(&b, transcript.Format(r.Name), &r.Transcript)
	return answer{"text": b.String()}, err
}

// cues returns what Verity reads in subtitles.
func cues(_ context.Context, r request) (answer, error) {
	list, err := transcript.Read(r.Name, []byte(r.Text))
	found := []answer{}
	for _, c := range list {
		found = append(found, answer{"start": c.Start, "end": c.End, "text": c.Text})
	}
	return answer{"cues": found}, err
}

// logMel returns the first window of a file, or of samples, by bin.
func logMel(ctx context.Context, r request) (answer, error) {
	m, frames, err := window(ctx, r)
	if err != nil {
		return nil, err
	}
	return answer{"bins": m.Bins, "frames": m.Frames, "of_clip": frames, "data": m.Data}, nil
}

// window returns the first window of the sound of r, and how many frames the whole has.
func window(ctx context.Context, r request) (*audio.Mel, int, error) {
	clip := audio.FromSamples("samples", r.Samples)
	if r.Path != "" {
		var err error
		if clip, err = audio.Open(ctx, r.Path); err != nil {
			return nil, 0, err
		}
	}
	defer clip.Close()
	o := audio.Options{Bins: r.Bins, Pad: audio.PadAudio}
	if r.PadMel {
		o.Pad = audio.PadMel
	}
	s, err := audio.NewSpectrogram(ctx, clip, o)
	if err != nil {
		return nil, 0, err
	}
	m, err := s.Window(ctx, 0)
	return m, s.Frames(), err
}
