package transcribe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
	"time"

	"verity/audio"
	"verity/decoder"
	"verity/internal/zlibsize"
	"verity/tokenizer"
	"verity/transcript"
)

// After maxFailures windows in which drafting failed, the rest of the clip is decoded without
// the assistant. The next clip tries the assistant again.
const maxFailures = 3

// An attempt is a window decoded once, with the measures that the gates check.
type attempt struct {
	decodedWindow
	tokens      []tokenizer.Token // without end-of-text
	logProbs    []float32         // of each token
	temperature float64
	logProb     float64 // mean of all tokens and end-of-text
	compression float64
	noSpeech    float64
	failed      bool // every temperature was refused
	repeated    bool // it repeats what was said repeatedly
}

// ended reports whether the model wrote end-of-text.
func (a *attempt) ended() bool { return len(a.Choices) > len(a.tokens) }

// decode decodes a window at rising temperatures until the gates accept it. If none do, upstream keeps the last
// attempt; otherwise the best one stands.
func (r *transcription) decode(ctx context.Context, w *window) error {
	if w.attempt != nil {
		return nil
	}
	if r.isShort(w) {
		if stands, err := r.decodeShort(ctx, w); stands || err != nil {
			return err
		}
	}
	o := r.decodeOptions(w)
	var all []attempt
	for i := range r.t.opt.Temperatures {
		made, stands, err := r.decodeAt(ctx, w, &o, i)
		if err != nil {
			return err
		}
		if !r.t.opt.mustRetry(stands) {
			w.attempt = &stands
			return nil
		}
		all = append(all, made...)
	}
	a := all[len(all)-1]
	if r.t.opt.Strategy != Upstream {
		a = r.t.opt.best(all)
		a.failed = true
	}
	w.attempt = &a
	return nil
}

// decodeAt decodes a window at the i-th temperature, and searches for a better text if the first is in doubt. It returns
// what it made, and the attempt that stands if the gates accept it.
func (r *transcription) decodeAt(
	ctx context.Context, w *window, o *decodeOptions, i int,
) (made []attempt, stands attempt, err error) {
	o.setTemperature(&r.t.opt, i)
	first, err := r.decodeOnce(ctx, w, o)
	if err != nil || i > 0 || !r.t.opt.isDoubtful(first) {
		return []attempt{first}, first, err
	}
	o.search.Beams = doubtBeams
	second, err := r.decodeOnce(ctx, w, o)
	if err != nil {
		return nil, attempt{}, err
	}
	made = []attempt{first, second}
	if lost := r.skipped(w, second) >= r.skipped(w, first)+seconds(leastGap); lost && !r.t.opt.mustRetry(first) {
		return made, first, nil
	}
	return made, r.t.opt.best(made), nil
}

// saidRepeatedly reports whether a repetitive attempt is what somebody says, such as a prayer or a refrain. A loop of the model
// does not end, is heard by no detector, or says its sentence more often than anybody speaks.
func (r *transcription) saidRepeatedly(ctx context.Context, w *window, a attempt) (bool, error) {
	const leastLogProb, leastCovered, mostPerUtterance = -0.5, 0.8, 1.5
	src, ok := r.src.(sampler)
	if !ok || r.t.opt.Strategy == Upstream || !r.t.opt.repetitive(a) || !a.ended() || a.logProb < leastLogProb || r.t.opt.speechless(a) {
		return false, nil
	}
	pcm, err := src.Samples(ctx, w.seek, w.size)
	if err != nil {
		return false, err
	}
	pieces, _ := splitAtTimestamps(r.t.model.Tokenizer, a.tokens, w.size)
	utterances := edgeVAD.Speech(pcm)
	heard, covered := 0.0, 0.0
	for _, u := range utterances {
		start, end := float64(u.Start)/audio.SampleRate, float64(u.End)/audio.SampleRate
		heard += end - start
		for _, p := range pieces {
			covered += max(0, min(end, p.end)-max(start, p.start))
		}
	}
	n := repetitions(textOf(r.t.model.Tokenizer, a.tokens))
	return n > 1 && n <= mostPerUtterance*float64(len(utterances)) && covered >= leastCovered*heard, nil
}

// repetitions returns how often tokens repeat their beginning; 0 if they do not.
func repetitions(tokens []tokenizer.Token) float64 {
	const leastEqual = 0.7 // a comma may stand for a full stop
	for period := 1; 2*period <= len(tokens); period++ {
		equal := 0
		for i, t := range tokens[period:] {
			if t == tokens[i] {
				equal++
			}
		}
		if float64(equal) >= leastEqual*float64(len(tokens)-period) {
			return float64(len(tokens)) / float64(period)
		}
	}
	return 0
}

// skipped returns how many seconds of a window an attempt passes over without text.
func (r *transcription) skipped(w *window, a attempt) float64 {
	pieces, advance := splitAtTimestamps(r.t.model.Tokenizer, a.tokens, w.size)
	left := seconds(advance)
	for _, p := range pieces {
		left -= p.end - p.start
	}
	return max(0, left) // a model may write times after the end
}

// decodeOnce decodes a window once, and records the attempt.
func (r *transcription) decodeOnce(ctx context.Context, w *window, o *decodeOptions) (attempt, error) {
	began, temperature := time.Now(), r.t.opt.Temperatures[o.Sampling.Attempt]
	d, err := w.encoded.decode(ctx, *o, func(tokens int) { r.reportDecoding(w, tokens) })
	if err != nil {
		return attempt{}, err
	}
	o.drafts.withoutAssistant = o.drafts.withoutAssistant || d.ProposerErr != nil
	a := newAttempt(r.t.model.Tokenizer, d, temperature)
	if a.repeated, err = r.saidRepeatedly(ctx, w, a); err != nil {
		return attempt{}, err
	}
	r.recordAttempt(w, a, time.Since(began))
	r.log.Debug("decoded", "seek", w.seek, "temperature", temperature, "sequences", o.search.Size(),
		"tokens", len(a.tokens), "avg_logprob", a.logProb, "compression_ratio", a.compression,
		"no_speech_prob", a.noSpeech, "refused", r.t.opt.mustRetry(a))
	return a, nil
}

// recordAttempt adds an attempt to the statistics and to the hashes. Rounds are numbered through
// the whole transcript.
func (r *transcription) recordAttempt(w *window, a attempt, took time.Duration) {
	for i := range a.Marks {
		a.Marks[i].Round += r.stats.Drafts.Rounds
	}
	if a.ProposerErr != nil {
		a.Stats.Broken = a.ProposerErr.Error()
		if r.failures.Add(1) == 1 {
			r.log.Warn("decoding continues without the assistant; the text is the same", "error", a.ProposerErr)
		}
	}
	r.stats.Add(a.Stats)
	r.stats.Seconds.Decode += took.Seconds() - a.Stats.Seconds.Measuring
	r.stats.Attempts++
	r.stats.Tokens += len(a.Choices)
	r.choices.add(w.seek, a.temperature, a.decodedWindow)
}

// setTemperature sets the i-th temperature, and the search at it.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, decode_with_fallback.
func (o *decodeOptions) setTemperature(from *Options, i int) {
	temperature := from.Temperatures[i]
	o.Sampling.Temperature, o.Sampling.Attempt = float32(temperature), i
	o.search = decoder.SearchOptions{LengthPenalty: from.LengthPenalty}
	if temperature == 0 {
		o.search.Beams, o.search.Patience = from.BeamSize, from.Patience
	} else {
		o.search.Samples = from.BestOf
	}
}

// newAttempt measures a decoded window.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, DecodingTask.run.
func newAttempt(t *tokenizer.Tokenizer, d decodedWindow, temperature float64) attempt {
	a := attempt{decodedWindow: d, temperature: temperature, noSpeech: float64(d.noSpeechProb)}
	for _, c := range d.Choices {
		if c.Token != t.EOT {
			a.tokens, a.logProbs = append(a.tokens, c.Token), append(a.logProbs, c.LogProb)
		}
	}
	a.logProb = meanLogProb(d.Choices, len(a.tokens))
	a.compression = compressionRatio(tokenizer.Strip(upstreamText(t, a.tokens)))
	return a
}

// meanLogProb returns the sum of the log-probabilities of all choices, divided by the number of
// tokens plus one. The one stands for end-of-text, even if the sequence stopped before it.
func meanLogProb(choices []decoder.Choice, tokens int) float64 {
	sum := 0.0
	for _, c := range choices {
		sum += float64(c.LogProb)
	}
	return sum / float64(tokens+1)
}

// compressionRatio returns the bytes of text divided by their size after zlib.
//
// Source: openai/whisper@c0d2f62 whisper/utils.py, compression_ratio.
func compressionRatio(text string) float64 {
	return float64(len(text)) / float64(zlibsize.Len(text))
}

// upstreamText returns the text whose compression upstream measures. It lacks timestamps but spells
// out other special tokens, which a model may choose amid the text and a transcript never holds.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, Tokenizer.decode.
func upstreamText(t *tokenizer.Tokenizer, tokens []tokenizer.Token) string {
	kept := make([]tokenizer.Token, 0, len(tokens))
	for _, tok := range tokens {
		if !t.IsTimestamp(tok) {
			kept = append(kept, tok)
		}
	}
	return t.DecodeWithTimestamps(kept)
}

// repetitive, unlikely and speechless are the three gates.
func (o *Options) repetitive(a attempt) bool {
	return !a.repeated && a.compression > o.MaxCompressionRatio
}
func (o *Options) unlikely(a attempt) bool   { return a.logProb < o.MinLogProb }
func (o *Options) speechless(a attempt) bool { return a.noSpeech > o.MaxNoSpeech }

// mustRetry reports whether a window must be decoded again at the next temperature. If
// it probably holds no speech, unlikely text is accepted.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, decode_with_fallback.
func (o *Options) mustRetry(a attempt) bool {
	if o.speechless(a) && o.unlikely(a) {
		return false
	}
	return o.repetitive(a) || o.unlikely(a)
}

// A window whose first attempt is less likely than doubtLogProb, or repetitive, is decoded a second time
// with doubtBeams sequences; docs/ACCURACY.md has the measurements.
const (
	doubtLogProb = -0.35
	doubtBeams   = 5
)

// isDoubtful reports whether a search in several sequences may find better words than a, the first attempt. A
// caller that allows one temperature wants one attempt.
func (o *Options) isDoubtful(a attempt) bool {
	firstGreedy := a.temperature == 0 && o.BeamSize <= 1 && len(o.Temperatures) > 1
	speech := !o.speechless(a) || !o.unlikely(a)
	return o.Strategy != Upstream && firstGreedy && speech && (o.repetitive(a) || a.logProb < doubtLogProb && !math.IsInf(o.MinLogProb, -1))
}

// best returns the likeliest of the attempts that are not repetitive. If all are, it is the one that repeats
// least.
//
// Source: SYSTRAN/faster-whisper@1.2.1 faster_whisper/transcribe.py, generate_with_fallback. It keeps the
// likeliest if all are repetitive.
func (o *Options) best(all []attempt) attempt {
	excess := func(a attempt) float64 {
		if !o.repetitive(a) {
			return 0
		}
		return a.compression - o.MaxCompressionRatio
	}
	return slices.MaxFunc(all, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(excess(b), excess(a)), cmp.Compare(a.logProb, b.logProb))
	})
}

// silent reports whether to skip the window: its no-speech probability is high and its mean log-probability
// is not high enough to overrule that. With the log-probability gate off, text never overrules it.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, "no voice activity check".
func (o *Options) silent(a attempt) bool {
	likely := !math.IsInf(o.MinLogProb, -1) && a.logProb > o.MinLogProb
	return o.speechless(a) && !likely
}

// A choiceHash hashes the decoder's choices and their log-probabilities in every attempt at every
// window, also where they lead to no segment.
type choiceHash struct{ tokens, logProbs hash.Hash }

func newChoiceHash() choiceHash { return choiceHash{sha256.New(), sha256.New()} }

// add hashes an attempt at the window that begins at a frame.
func (p choiceHash) add(seek int, temperature float64, d decodedWindow) {
	tokens := binary.LittleEndian.AppendUint64(nil, uint64(seek))
	tokens = binary.LittleEndian.AppendUint64(tokens, uint64(len(d.Choices)))
	logProbs := binary.LittleEndian.AppendUint64(nil, math.Float64bits(temperature))
	logProbs = binary.LittleEndian.AppendUint32(logProbs, math.Float32bits(d.noSpeechProb))
	for _, c := range d.Choices {
		tokens = binary.LittleEndian.AppendUint32(tokens, uint32(c.Token))
		logProbs = binary.LittleEndian.AppendUint32(logProbs, math.Float32bits(c.LogProb))
	}
	p.tokens.Write(tokens)
	p.logProbs.Write(logProbs)
}

// join adds the hashes of a chunk.
func (p choiceHash) join(chunk choiceHash) {
	p.tokens.Write(chunk.tokens.Sum(nil))
	p.logProbs.Write(chunk.logProbs.Sum(nil))
}

// sum returns the first 16 bytes of each hash in hexadecimal.
func (p choiceHash) sum() transcript.ChoiceHashes {
	text := func(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
	return transcript.ChoiceHashes{Tokens: text(p.tokens), LogProbs: text(p.logProbs)}
}
