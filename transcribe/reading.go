package transcribe

import (
	"context"
	"log/slog"
	"time"

	"verity/audio"
	"verity/decoder"
	"verity/tokenizer"
	"verity/transcript"
)

// A source gives the windows of one clip. *audio.Spectrogram implements it.
type source interface {
	Frames() int
	Seconds() float64
	Hash() uint64
	Window(ctx context.Context, frame int) (*audio.Mel, error)
}

// A reading is one clip on its way to a transcript.
type reading struct {
	t        *Transcriber
	log      *slog.Logger
	name     string
	src      source
	watch    Watch
	at       cursor
	silence  float32 // the mel of it, where a span ends inside the clip
	heard    Window  // the window the language was detected in, until it is decoded
	language tokenizer.Language
	start    []tokenizer.Token // of every window's prompt, known with the language
	history  history
	segments []transcript.Segment
	stats    transcript.Stats
	proof    proof
}

func (t *Transcriber) newReading(name string, src source, w Watch) *reading {
	return &reading{
		t: t, log: t.opt.Log.With("audio", name), name: name, src: src, watch: w,
		at:      cursor{todo: stretches(t.opt.Clips, src.Frames())},
		history: newHistory(t.prompt), proof: newProof(),
	}
}

// run reads window after window. first is the window to detect the language in,
// nil for the source's own.
func (r *reading) run(ctx context.Context, first *audio.Mel) error {
	if r.src.Frames() == 0 {
		r.log.Warn("the audio is shorter than 10 ms: there is nothing to hear", "seconds", r.src.Seconds())
	}
	defer r.forget()
	if err := r.setLanguage(ctx, first); err != nil {
		return err
	}
	if err := r.setSilence(ctx); err != nil {
		return err
	}
	r.progress()
	limit := r.t.model.Dims.WindowFrames()
	for size := r.at.next(limit); size > 0; size = r.at.next(limit) {
		advance, err := r.window(ctx, size)
		if err != nil {
			return err
		}
		r.at.seek += advance
		r.progress()
	}
	return ctx.Err()
}

// window hears and decodes one window, size frames of it, and returns how far to
// move on.
func (r *reading) window(ctx context.Context, size int) (advance int, err error) {
	w, err := r.listen(ctx, size)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	res, err := r.decode(ctx, w)
	if err != nil {
		return 0, err
	}
	r.stats.Windows++
	if r.t.gates.silent(res) {
		r.stats.Silent++
		r.log.Debug("no speech", "seek", r.at.seek, "no_speech_prob", res.noSpeech, "avg_logprob", res.logProb)
		return size, nil
	}
	pieces, advance := cut(r.t.model.Tokenizer, res.tokens, size)
	if advance <= 0 {
		// Upstream would hear the same window for ever.
		r.stats.Stuck++
		r.log.Warn("timestamps lead nowhere: the window is taken for one segment", "seek", r.at.seek)
		pieces, advance = whole(r.t.model.Tokenizer, res.tokens, size), size
	}
	r.keep(r.clear(pieces, res), res)
	// A vocabulary may have timestamps that lie behind a short window.
	return min(advance, r.t.model.Dims.WindowFrames()), nil
}

// listen hears the window at the cursor, with silence behind size frames.
func (r *reading) listen(ctx context.Context, size int) (Window, error) {
	filled := r.at.seek+size < r.src.Frames() && size < r.t.model.Dims.WindowFrames()
	if w := r.heard; w != nil && r.at.seek == 0 && !filled {
		r.heard = nil
		return w, nil // encoding it again would cost as much as decoding it
	}
	r.forget()
	began := time.Now()
	mel, err := r.src.Window(ctx, r.at.seek)
	if err != nil {
		return nil, err
	}
	if filled {
		fillFrom(mel, size, r.silence)
	}
	r.stats.Seconds.Mel += time.Since(began).Seconds()
	return r.hear(ctx, mel)
}

// forget closes the window that was heard for its language alone.
func (r *reading) forget() {
	if r.heard != nil {
		r.heard.Close()
		r.heard = nil
	}
}

func (r *reading) hear(ctx context.Context, mel *audio.Mel) (Window, error) {
	w, err := r.t.model.Listener.Listen(ctx, mel)
	if err != nil {
		return nil, err
	}
	encode, cross := w.Took()
	r.stats.Seconds.Encode += encode.Seconds()
	r.stats.Seconds.CrossKV += cross.Seconds()
	return w, nil
}

// fillFrom sets all frames of mel from size on to v.
func fillFrom(mel *audio.Mel, size int, v float32) {
	for b := range mel.Bins {
		row := mel.Data[b*mel.Frames : (b+1)*mel.Frames]
		for i := size; i < len(row); i++ {
			row[i] = v
		}
	}
}

// setSilence finds the mel of silence, if a span ends inside the clip: any cell
// of a window that lies behind its end.
func (r *reading) setSilence(ctx context.Context) error {
	if r.t.opt.Pad == audio.PadMel {
		return nil // zeros
	}
	for _, s := range r.at.todo {
		if s.start < s.end && s.end < r.src.Frames() {
			limit := r.t.model.Dims.WindowFrames()
			mel, err := r.src.Window(ctx, r.src.Frames()+limit)
			if err != nil {
				return err
			}
			r.silence = mel.Data[mel.Frames/2]
			return nil
		}
	}
	return nil
}

// decode decodes w at rising temperatures until the gates let it pass, or the
// temperatures are used up: then the last result stands, as in upstream.
func (r *reading) decode(ctx context.Context, w Window) (result, error) {
	o := r.session()
	var res result
	for attempt, temperature := range r.t.opt.Temperatures {
		began := time.Now()
		o.Sampling.Temperature, o.Sampling.Attempt = float32(temperature), attempt
		d, err := w.Decode(ctx, o)
		if err != nil {
			return result{}, err
		}
		r.stats.Seconds.Decode += time.Since(began).Seconds()
		r.count(d)
		r.proof.add(r.at.seek, temperature, d)
		res = judge(r.t.model.Tokenizer, d, temperature)
		refused := r.t.gates.refuse(res)
		r.log.Debug("decoded", "seek", r.at.seek, "temperature", temperature, "tokens", len(res.tokens),
			"avg_logprob", res.logProb, "compression_ratio", res.compression, "no_speech_prob", res.noSpeech, "refused", refused)
		if !refused {
			break
		}
	}
	return res, nil
}

// count adds an attempt to the statistics.
func (r *reading) count(d Decoding) {
	if d.Broken != nil {
		d.Stats.Broken = d.Broken.Error()
	}
	r.stats.Add(d.Stats)
	r.stats.Attempts++
	r.stats.Tokens += len(d.Choices)
	if d.Warn {
		r.log.Warn("decoding goes on without an assistant; the text is the same", "error", d.Broken)
	}
}

// session says how to decode the window at the cursor.
func (r *reading) session() decoder.SessionOptions {
	room := r.t.promptRoom()
	previous := r.history.shown(room, r.t.opt.CarryInitialPrompt)
	prompt, sot := assemble(r.t.model.Tokenizer, previous, r.start, room)
	return decoder.SessionOptions{
		Prompt: prompt, SOT: sot, NoSpeech: r.t.model.Tokenizer.NoSpeech,
		Rules: r.t.rules,
		Sampling: decoder.Sampling{
			TopK: r.t.opt.TopK, TopP: float32(r.t.opt.TopP),
			Seed: r.t.opt.Seed, Audio: r.src.Hash(), Window: r.at.seek,
		},
	}
}

// clear makes segments of the pieces, which are res.tokens cut up. One that takes no time or says nothing
// keeps its place, but loses its text and tokens.
func (r *reading) clear(pieces []piece, res result) []transcript.Segment {
	offset := seconds(r.at.seek)
	segments := make([]transcript.Segment, len(pieces))
	accepted := res.accepted
	if !r.t.opt.MarkDrafts {
		accepted = nil
	}
	for i, p := range pieces {
		s := transcript.Segment{
			ID: len(r.segments) + i, Seek: r.at.seek,
			Start: offset + p.start, End: offset + p.end,
			Text: r.t.model.Tokenizer.Decode(p.tokens), Tokens: p.tokens,
			Temperature: res.temperature, AvgLogProb: res.logProb,
			CompressionRatio: res.compression, NoSpeechProb: res.noSpeech,
		}
		if len(accepted) > 0 {
			s.Accepted, accepted = accepted[:len(p.tokens)], accepted[len(p.tokens):]
		}
		if s.Start == s.End || s.Line() == "" {
			s.Text, s.Tokens, s.Accepted = "", []tokenizer.Token{}, nil
		}
		segments[i] = s
	}
	return segments
}

// maxPromptTemperature is the highest temperature whose text later windows are
// shown. Source: openai/whisper@c0d2f62 whisper/transcribe.py.
const maxPromptTemperature = 0.5

// keep adds segments to the transcript and to what later windows see.
func (r *reading) keep(segments []transcript.Segment, res result) {
	tokens := make([][]tokenizer.Token, len(segments))
	for i, s := range segments {
		tokens[i] = s.Tokens
		if r.watch.Segment != nil {
			r.watch.Segment(s)
		}
	}
	r.segments = append(r.segments, segments...)
	r.history.add(tokens, r.t.opt.ForgetPrevious || res.temperature > maxPromptTemperature)
}

func (r *reading) progress() {
	if r.watch.Progress != nil {
		total := r.src.Seconds()
		r.watch.Progress(min(seconds(r.at.seek), total), total)
	}
}

// transcript returns what there is so far.
func (r *reading) transcript() *transcript.Transcript {
	return &transcript.Transcript{
		Name: r.name, Text: spell(r.t.model.Tokenizer, r.history.text()),
		Language: r.language.Code, Duration: r.src.Seconds(),
		Segments: r.segments, Stats: r.stats, Proof: r.proof.sum(),
	}
}
