package transcribe

import (
	"context"
	"time"

	"verity/decoder"
	"verity/transcript"
)

// After maxFailures windows in which drafting failed, the rest of the clip is decoded
// without the assistant. The next clip tries it again.
const maxFailures = 3

// decode decodes the window at the cursor and counts the work.
func (r *transcription) decode(ctx context.Context, w window) (result, error) {
	res, tried, err := r.t.ladder(ctx, w, r.session(), r.helpAt(r.at.seek, r.history.text(), r.follower), r.decoding)
	r.count(r.at.seek, tried, res.marks)
	return res, err
}

// An attempt is a window decoded once.
type attempt struct {
	decoding
	result  result
	refused bool
	took    time.Duration
}

// ladder decodes w at rising temperatures until the gates let it pass, or the
// temperatures are used up: then the last result is kept, as in upstream. It calls step
// with the number of tokens of an attempt so far.
func (t *Transcriber) ladder(
	ctx context.Context, w window, o decoder.SessionOptions, h help, step func(tokens int),
) (res result, tried []attempt, err error) {
	for i, temperature := range t.opt.Temperatures {
		began := time.Now()
		o.Sampling.Temperature, o.Sampling.Attempt = float32(temperature), i
		o.Search = t.search(temperature)
		d, err := w.decode(ctx, o, h, step)
		if err != nil {
			return res, tried, err
		}
		a := attempt{decoding: d, took: time.Since(began)}
		h.plain = h.plain || d.broken != nil
		a.result = judge(t.model.Tokenizer, d, temperature)
		a.refused = t.gates.refuse(a.result)
		res, tried = a.result, append(tried, a)
		if !a.refused {
			break
		}
	}
	return res, tried, nil
}

// count adds the attempts at a window to the statistics and to the proof. marks are
// those of the last attempt; their rounds are renumbered for the transcript.
func (r *transcription) count(seek int, tried []attempt, marks []transcript.Mark) {
	for i, a := range tried {
		rounds := r.stats.Drafts.Rounds
		if a.broken != nil {
			a.stats.Broken = a.broken.Error()
			if r.failures.Add(1) == 1 {
				r.log.Warn("decoding goes on without an assistant; the text is the same", "error", a.broken)
			}
		}
		r.stats.Add(a.stats)
		r.stats.Seconds.Decode += a.took.Seconds()
		r.stats.Attempts++
		r.stats.Tokens += len(a.choices)
		r.proof.add(seek, a.result.temperature, a.decoding)
		if i == len(tried)-1 {
			for k := range marks {
				marks[k].Round += rounds
			}
		}
		r.log.Debug("decoded", "seek", seek, "temperature", a.result.temperature, "tokens", len(a.result.tokens),
			"avg_logprob", a.result.logProb, "compression_ratio", a.result.compression,
			"no_speech_prob", a.result.noSpeech, "refused", a.refused)
	}
}

// search says how many sequences are decoded at a temperature.
//
// Source: openai/whisper@c0d2f62 whisper/transcribe.py, decode_with_fallback.
func (t *Transcriber) search(temperature float64) decoder.SearchOptions {
	o := decoder.SearchOptions{LengthPenalty: t.opt.LengthPenalty}
	if temperature == 0 {
		o.Beams, o.Patience = t.opt.BeamSize, t.opt.Patience
	} else {
		o.Samples = t.opt.BestOf
	}
	return o
}
