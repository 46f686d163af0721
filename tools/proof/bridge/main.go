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
	"verity/tools/must"
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
var calls = map[string]func(context.Context, request) answer{
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
	decoder, buffer := json.NewDecoder(os.Stdin), bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	for {
		var r request
		err := decoder.Decode(&r)
		if err == io.EOF {
			return
		}
		must.Do(err)
		must.Do(encoder.Encode(reply(r)))
		must.Do(buffer.Flush())
	}
}

// reply answers a request: with an error, if the call ends with a failure.
func reply(r request) (a answer) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			a = answer{"error": e.Error()}
		default:
			panic(e)
		}
	}()
	call, ok := calls[r.Call]
	if !ok {
		return answer{"error": fmt.Sprintf("no call %q", r.Call)}
	}
	return call(context.Background(), r)
}

// A failure is the error with which a call ends.
type failure struct{ error }

// mustCall returns v, or ends the call with a failure.
func mustCall[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

func normalized(_ context.Context, r request) answer {
	f := mustCall(normalize.ByName(r.Name))
	texts := make([]string, len(r.Texts))
	for i, t := range r.Texts {
		texts[i] = f(t)
	}
	return answer{"texts": texts}
}

// aligned returns the alignment of each pair of lines, as [operation, word of ref, word of hyp].
func aligned(ctx context.Context, r request) answer {
	var aligner wer.Aligner
	var words wer.Vocabulary
	alignments := make([][][]any, len(r.Ref))
	for i := range r.Ref {
		for _, p := range mustCall(aligner.Align(ctx, words.Words(nil, r.Ref[i]), words.Words(nil, r.Hyp[i]))) {
			alignments[i] = append(alignments[i], []any{p.Op.String(), p.Ref, p.Hyp})
		}
	}
	return answer{"alignments": alignments}
}

// scored returns the counts and rates of the words and characters of all lines together, as eval has them.
func scored(ctx context.Context, r request) answer {
	var scorer wer.Scorer
	var corpus wer.Corpus
	for i := range r.Ref {
		corpus.Add(mustCall(scorer.Score(ctx, r.Ref[i], r.Hyp[i])))
	}
	return answer{"words": measured(corpus.Words), "chars": measured(corpus.Chars)}
}

func measured(c wer.Counts) answer {
	return answer{
		"hits": c.Hits, "substitutions": c.Subs, "deletions": c.Dels, "insertions": c.Ins,
		"rate": c.Rate(), "mer": c.MER(), "wil": c.WIL(), "wip": c.WIP(),
	}
}

// withTokenizer answers with the tokenizer of the request's vocabulary.
func withTokenizer(call func(*tokenizer.Tokenizer, request) answer) func(context.Context, request) answer {
	return func(_ context.Context, r request) answer { return call(mustCall(tokenizer.Embedded(r.Vocabulary)), r) }
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
func sound(ctx context.Context, r request) answer {
	clip, pcm, err := samples(ctx, audio.Input{FFmpeg: audio.FFmpegNever}, r.Path)
	own := err == nil
	if !own {
		clip, pcm, err = samples(ctx, audio.Input{}, r.Path)
	}
	mustCall(clip, err)
	raw := mustCall(binary.Append(nil, binary.LittleEndian, pcm))
	return mustCall(answer{"warnings": clip.Warnings(), "start": clip.Start(), "own": own}, os.WriteFile(r.File, raw, 0o600))
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
func subtitles(_ context.Context, r request) answer {
	var b strings.Builder
	err := transcript.Options{Subtitles: r.Options}.Write(&b, transcript.Format(r.Name), &r.Transcript)
	return mustCall(answer{"text": b.String()}, err)
}

// cues returns what Verity reads in subtitles.
func cues(_ context.Context, r request) answer {
	found := []answer{}
	for _, c := range mustCall(transcript.Read(r.Name, []byte(r.Text))) {
		found = append(found, answer{"start": c.Start, "end": c.End, "text": c.Text})
	}
	return answer{"cues": found}
}

// logMel returns the first window of a file, or of samples, by bin.
func logMel(ctx context.Context, r request) answer {
	clip := audio.FromSamples("samples", r.Samples)
	if r.Path != "" {
		clip = mustCall(audio.Open(ctx, r.Path))
	}
	defer clip.Close()
	o := audio.Options{Bins: r.Bins, Pad: audio.PadAudio}
	if r.PadMel {
		o.Pad = audio.PadMel
	}
	s := mustCall(audio.NewSpectrogram(ctx, clip, o))
	m := mustCall(s.Window(ctx, 0))
	return answer{"bins": m.Bins, "frames": m.Frames, "of_clip": s.Frames(), "data": m.Data}
}
