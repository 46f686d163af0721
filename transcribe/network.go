package transcribe

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/internal/timing"
	"verity/tokenizer"
	"verity/transcript"
)

// A network encodes windows. *Model implements it; tests replace it.
type network interface {
	// encode prepares a window for decoding. mel has the bins and frames that the checkpoint expects, and may
	// be retained. step receives the share of the work that is done, from 0 to 1; times are added to s.
	encode(ctx context.Context, mel *audio.Mel, s *transcript.Seconds, step func(share float64)) (encodedWindow, error)
}

// An encodedWindow is a window of audio, ready to be decoded.
type encodedWindow interface {
	// languages returns the probability of each language, in the order of Tokenizer.Languages.
	languages(ctx context.Context) ([]float32, error)

	// decode decodes the window once. step receives the number of tokens so far.
	decode(ctx context.Context, o decodeOptions, step func(tokens int)) (decodedWindow, error)

	// words returns the times of the words of a text within the first frames of the window.
	// start is the start of the sequence: start-of-transcript, language, task. The times
	// depend on the window and the text alone, not on how the text was decoded.
	// letters makes them more precise, and takes longer.
	words(
		ctx context.Context, start, text []tokenizer.Token, language string, frames int, letters bool,
	) ([]wordTime, error)

	// close frees the memory of the window.
	close()
}

// decodeOptions say how to decode a window once.
type decodeOptions struct {
	decoder.SessionOptions
	search decoder.SearchOptions
	stop   func(decoder.Choice) bool // see assistant.Options.Stop
	drafts draftSources
}

// draftSources are what may draft while a window is decoded: the model's assistant, and a text
// unless it is nil.
type draftSources struct {
	withoutAssistant bool
	text             *assistant.TextProposer
	window           assistant.TextWindow
}

// A decodedWindow is the result of decoding a window once. A beam search leaves Marks empty.
type decodedWindow struct {
	assistant.Result
	noSpeechProb float32 // that the window holds no speech; 0 if the vocabulary has no token for it
}

// encode computes the features of mel and the cross-attention keys and values of every decoder layer. It uses
// every thread; between layers, windows that are being decoded run their passes.
func (m *Model) encode(
	ctx context.Context, mel *audio.Mel, s *transcript.Seconds, step func(share float64),
) (encodedWindow, error) {
	w := &modelWindow{Model: m}
	layers, done := m.Dims.AudioLayers+m.Dims.TextLayers, 0
	err := m.Batch.WithAllThreads(ctx, func(between func()) error {
		began := time.Now()
		pause := func() { // not counted
			at := time.Now()
			between()
			done++
			step(float64(done) / float64(layers))
			began = began.Add(time.Since(at))
		}
		f, err := m.Encoder.Encode(ctx, mel, pause)
		if err != nil {
			return err
		}
		s.Encode += time.Since(began).Seconds()
		began = time.Now()
		if w.cross, err = m.Decoder.Cross(ctx, f, pause); err != nil {
			return err
		}
		s.CrossKV += time.Since(began).Seconds()
		w.drafts = m.Assistant.Open(assistant.Window{Features: f, Mel: mel})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// A modelWindow is an encodedWindow of a Model.
type modelWindow struct {
	*Model
	cross  *decoder.Cross
	drafts assistant.Drafter
}

func (w *modelWindow) close() {
	w.drafts.Close()
	w.cross.Close()
}

func (w *modelWindow) languages(ctx context.Context) ([]float32, error) {
	return w.Decoder.DetectLanguage(ctx, w.cross, w.Tokenizer.SOT, w.Tokenizer.Languages())
}

// decode shares its passes with all windows that are being decoded at the same time.
func (w *modelWindow) decode(ctx context.Context, o decodeOptions, step func(tokens int)) (decodedWindow, error) {
	member := w.Batch.Join()
	defer member.Leave()
	o.Runner = member
	if o.search.Size() > 1 {
		return w.decodeSeveral(ctx, o)
	}
	s, err := w.Decoder.NewSession(w.cross, o.SessionOptions)
	if err != nil {
		return decodedWindow{}, err
	}
	defer s.Close()
	var policy assistant.Policy
	if w.policies != nil && !o.drafts.withoutAssistant {
		policy = w.policies.Get().(assistant.Policy)
		defer w.policies.Put(policy)
	}
	proposer, policy := w.proposer(o, policy)
	verifier, meter := w.verifier(s, proposer, o.Sampling)
	d, err := assistant.Generate(ctx, verifier, proposer, assistant.Options{
		EOT: w.Tokenizer.EOT, Limit: s.Limit(), Policy: policy, Stop: o.stop, Progress: step,
		Clock: func() time.Duration { return w.Batch.Busy() - meter.Took() },
	})
	if err != nil {
		return decodedWindow{}, err
	}
	d.Stats.Seconds.Measuring = meter.Took().Seconds()
	d.Stats.Seconds.Rules, d.Stats.Passes = s.RulesTime.Seconds(), traffic(s.Traffic())
	drafts := &d.Stats.Drafts
	drafts.Compared, drafts.Overlap = meter.Positions, meter.Overlap
	if text := o.drafts.text; text != nil {
		accepted, lost, found := text.Counts()
		drafts.FromText, drafts.TextLost, drafts.TextFound = accepted, lost, len(found)
		for _, at := range found {
			if at < len(d.Marks) {
				d.Marks[at].Resumed = true
			}
		}
	}
	return decodedWindow{d, s.NoSpeechProb}, nil
}

// proposer returns the proposer of an attempt and its policy. policy is the assistant's; nil without one.
func (w *modelWindow) proposer(o decodeOptions, policy assistant.Policy) (assistant.Proposer, assistant.Policy) {
	var p assistant.Proposer = assistant.None{}
	h := o.drafts
	if !h.withoutAssistant {
		w.drafts.Begin(o.SessionOptions, policy)
		p = w.drafts
	}
	// Rejection sampling and the overlap meter compare the assistant's probabilities, so the assistant
	// must draft every token: the text drafts none.
	if h.text == nil || w.overlap || w.rejection && o.Sampling.Temperature > 0 {
		return p, policy
	}
	h.text.Begin(h.window)
	textPolicy := w.textPolicy
	if w.newPolicy != nil {
		textPolicy = nil
		if policy == nil {
			policy = w.newPolicy()
		}
	}
	g := assistant.NewTextThenModel(h.text, textPolicy, p, policy)
	return g, g
}

// decodeSeveral decodes the window in several sequences. It does not use the assistant.
func (w *modelWindow) decodeSeveral(ctx context.Context, o decodeOptions) (decodedWindow, error) {
	began := time.Now()
	o.search.EOT = w.Tokenizer.EOT
	found, err := w.Decoder.Search(ctx, w.cross, o.SessionOptions, o.search)
	if err != nil {
		return decodedWindow{}, err
	}
	d := decodedWindow{assistant.Result{Choices: found.Hypotheses[0].Choices}, found.NoSpeechProb}
	d.Stats.Drafts.Rounds, d.Stats.Drafts.Tokens = found.Passes, len(d.Choices)
	d.Stats.Seconds.Verify, d.Stats.Seconds.Rules = time.Since(began).Seconds(), found.RulesTime.Seconds()
	d.Stats.Passes = traffic(found.Traffic)
	return d, nil
}

// words runs the text through the decoder once more, and again in letters.
func (w *modelWindow) words(
	ctx context.Context, start, text []tokenizer.Token, language string, frames int, letters bool,
) ([]wordTime, error) {
	tok, positions := w.Tokenizer, frames/framesPerStep
	if len(text) == 0 || positions == 0 {
		return nil, nil
	}
	text = append(slices.Clone(text), tok.EOT)
	begins, probs, err := w.force(ctx, start, text, true, positions)
	if err != nil {
		return nil, err
	}
	words, groups := tok.SplitToWords(text, language)
	edges, at := make([]float64, len(groups)), 0
	for i, g := range groups {
		edges[i] = float64(begins[at])
		at += len(g)
	}
	// Where no spaces separate words, each character is one, so that letters add nothing.
	if letters && slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, " ") }) {
		if err := w.refine(ctx, edges, start, words, groups, positions); err != nil {
			return nil, err
		}
	}
	return timesOf(edges, probs, words, groups), nil
}

// force runs a text that ends with end-of-text through the decoder. It returns the audio position at which each token
// begins, and the probabilities of all but the last if they are wanted. Like encoding, it alternates with the decoding
// of other windows.
func (w *modelWindow) force(
	ctx context.Context, start, text []tokenizer.Token, wantProbs bool, positions int,
) (begins []int, probs []float32, err error) {
	o := decoder.AlignOptions{
		Tokens: slices.Concat(start, []tokenizer.Token{w.Tokenizer.NoTimestamps}, text),
		First:  len(start) + 1, Below: w.Tokenizer.EOT, Heads: w.alignmentHeads(), Positions: positions,
	}
	if !wantProbs {
		o.First = len(o.Tokens)
	}
	var a *decoder.Alignment
	err = w.Batch.WithAllThreads(ctx, func(between func()) (err error) {
		o.Yield = between
		a, err = w.Decoder.Align(ctx, w.cross, o)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return timing.Begins(timing.Cost(w.Pool, a.Weights, positions, len(start))), a.Probs, nil
}

func traffic(t decoder.Traffic) transcript.Traffic {
	return transcript.Traffic{Bytes: t.Bytes, Seconds: t.Busy.Seconds()}
}

// verifier returns the verifier of drafts and the meter that compares probabilities, which stays
// empty unless that was requested.
func (w *modelWindow) verifier(
	s *decoder.Session, p assistant.Proposer, sampling decoder.Sampling,
) (assistant.Verifier, *assistant.OverlapMeter) {
	switch {
	case w.rejection && sampling.Temperature > 0:
		r := assistant.NewRejectionVerifier(s, p, sampling)
		return r, &r.OverlapMeter
	case w.overlap:
		m := assistant.MeasureOverlap(s, p, cmp.Or(sampling.Temperature, 1))
		return m, m
	}
	return s, new(assistant.OverlapMeter)
}
