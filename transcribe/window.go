package transcribe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/tokenizer"
	"verity/transcript"
)

// A network is the part of a Model that a Transcriber uses. Tests replace it.
type network interface {
	// encode prepares a window for decoding. mel has as many bins and frames as the
	// checkpoint wants, and the network may keep it. step gets the share of the work
	// that is done, from 0 to 1.
	encode(ctx context.Context, mel *audio.Mel, step func(share float64)) (window, error)
}

// A window is a stretch of audio that has been encoded.
type window interface {
	// languages returns the probability of each language, in the order of
	// Tokenizer.Languages.
	languages(ctx context.Context) ([]float32, error)

	// decode decodes the window once. step gets the number of tokens so far, now and then.
	decode(ctx context.Context, o decoder.SessionOptions, h help, step func(tokens int)) (decoding, error)

	// words returns the times of the words of a text. They depend on the window and the
	// text alone, not on how the text was decoded.
	words(ctx context.Context, q wordQuery) ([]wordTime, error)

	// timing returns how long encode took for the audio features and for the keys and
	// values that decoding attends to.
	timing() (encode, crossKV time.Duration)

	// close gives the window's memory back.
	close()
}

// A help says what may draft in a decoding: the assistant, unless plain, and a text, unless
// nil.
type help struct {
	plain  bool
	text   *assistant.Follower
	window assistant.TextWindow
}

// A decoding is the result of decoding a window once. It has no marks where none are known.
type decoding struct {
	assistant.Result
	noSpeechProb float32 // that the window holds no speech; 0 if the vocabulary has no token for it
}

// encode computes the features of mel and the cross-attention keys and values of every
// decoder layer. It uses every thread; between layers, windows that are being decoded
// run their passes.
func (m *Model) encode(ctx context.Context, mel *audio.Mel, step func(share float64)) (window, error) {
	w := &encodedWindow{Model: m}
	layers, done := m.Dims.AudioLayers+m.Dims.TextLayers, 0
	err := m.batch.Encode(ctx, func(between func()) error {
		began := time.Now()
		pause := func() { // not counted
			at := time.Now()
			between()
			done++
			step(float64(done) / float64(layers))
			began = began.Add(time.Since(at))
		}
		f, err := m.encoder.EncodeInTurn(ctx, mel, pause)
		if err != nil {
			return err
		}
		w.encodeTime, began = time.Since(began), time.Now()
		if w.cross, err = m.decoder.CrossInTurn(ctx, f, pause); err != nil {
			return err
		}
		w.crossTime = time.Since(began)
		w.drafts = m.assistant.Open(assistant.Window{Features: f, Mel: mel})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// An encodedWindow is the window of a Model.
type encodedWindow struct {
	*Model
	cross                 *decoder.Cross
	drafts                assistant.Drafter
	encodeTime, crossTime time.Duration
}

func (w *encodedWindow) timing() (encode, crossKV time.Duration) { return w.encodeTime, w.crossTime }

func (w *encodedWindow) close() {
	w.drafts.Close()
	w.cross.Close()
}

func (w *encodedWindow) languages(ctx context.Context) ([]float32, error) {
	return w.decoder.DetectLanguage(ctx, w.cross, w.Tokenizer.SOT, w.Tokenizer.Languages())
}

// decode shares its passes with all windows that are being decoded at the same time.
func (w *encodedWindow) decode(
	ctx context.Context, o decoder.SessionOptions, h help, step func(tokens int),
) (decoding, error) {
	member := w.batch.Join()
	defer member.Leave()
	o.Stepper = member
	if o.Search.Size() > 1 {
		return w.search(ctx, o)
	}
	s, err := w.decoder.NewSession(w.cross, o)
	if err != nil {
		return decoding{}, err
	}
	defer s.Close()
	var policy assistant.Policy
	if w.policies != nil && !h.plain {
		policy = w.policies.Get().(assistant.Policy)
		defer w.policies.Put(policy)
	}
	proposer, policy := w.proposer(o, h, policy)
	verifier, overlap := w.verifier(s, proposer, o.Sampling)
	d, err := assistant.Generate(ctx, verifier, proposer, assistant.Options{
		EOT: w.Tokenizer.EOT, Limit: s.Limit(0), Policy: policy, Clock: w.batch.Busy, Step: step,
	})
	if err != nil {
		return decoding{}, err
	}
	d.Stats.Seconds.Rules, d.Stats.Passes = s.Judging().Seconds(), traffic(s.Traffic())
	drafts := &d.Stats.Drafts
	drafts.Weighed, drafts.Overlap = overlap.Positions, overlap.Sum
	if h.text != nil {
		accepted, lost, found := h.text.Counts()
		drafts.FromText, drafts.Lost, drafts.Found = accepted, lost, len(found)
		for _, at := range found {
			if at < len(d.Marks) {
				d.Marks[at].Found = true
			}
		}
	}
	return decoding{d, s.NoSpeechProb()}, nil
}

// proposer returns what drafts in an attempt, and its policy; policy is that of the
// assistant, or nil.
func (w *encodedWindow) proposer(o decoder.SessionOptions, h help, policy assistant.Policy) (assistant.Proposer, assistant.Policy) {
	var p assistant.Proposer = assistant.None{}
	if !h.plain {
		w.drafts.Begin(o, policy)
		p = w.drafts
	}
	// The probabilities of a model's drafts are compared where they are all of a draft.
	if h.text == nil || w.overlap || w.sampler == Rejection && o.Sampling.Temperature > 0 {
		return p, policy
	}
	h.text.Window(h.window)
	pace := w.pace
	if w.newPolicy != nil {
		pace = nil
		if policy == nil {
			policy = w.newPolicy()
		}
	}
	g := assistant.NewGuide(h.text, pace, p, policy)
	return g, g
}

// search decodes the window in several sequences. It does not use the assistant.
func (w *encodedWindow) search(ctx context.Context, o decoder.SessionOptions) (decoding, error) {
	began := time.Now()
	found, err := w.decoder.Search(ctx, w.cross, o, w.Tokenizer.EOT, 0)
	if err != nil {
		return decoding{}, err
	}
	d := decoding{assistant.Result{Choices: found.Hypotheses[0].Choices}, found.NoSpeechProb}
	d.Stats.Drafts.Rounds = found.Passes
	d.Stats.Seconds.Verify, d.Stats.Seconds.Rules = time.Since(began).Seconds(), found.Judging.Seconds()
	d.Stats.Passes = traffic(found.Traffic)
	return d, nil
}

// words runs the text through the decoder once more. Like encoding, it takes turns with
// the decoding of other windows.
func (w *encodedWindow) words(ctx context.Context, q wordQuery) ([]wordTime, error) {
	tok, positions := w.Tokenizer, q.frames/framesPerStep
	if len(q.text) == 0 || positions == 0 {
		return nil, nil
	}
	var a *decoder.Alignment
	err := w.batch.Encode(ctx, func(between func()) (err error) {
		a, err = w.decoder.Align(ctx, w.cross, decoder.AlignOptions{
			Tokens: slices.Concat(q.start, []tokenizer.Token{tok.NoTimestamps}, q.text, []tokenizer.Token{tok.EOT}),
			First:  len(q.start) + 1, Below: tok.EOT, Heads: q.heads, Positions: positions, Between: between,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	words, groups := tok.SplitToWords(append(slices.Clone(q.text), tok.EOT), q.language)
	return timesOf(a, positions, len(q.start), words, groups), nil
}

func traffic(t decoder.Traffic) transcript.Traffic {
	return transcript.Traffic{Bytes: t.Bytes, Seconds: t.Busy.Seconds()}
}

// verifier returns the verifier of drafts, and where it sums the overlap of the
// distributions of model and assistant.
func (w *encodedWindow) verifier(
	s *decoder.Session, p assistant.Proposer, sampling decoder.Sampling,
) (assistant.Verifier, *assistant.Overlap) {
	switch {
	case w.sampler == Rejection && sampling.Temperature > 0:
		r := assistant.Reject(s, p, sampling)
		return r, &r.Overlap
	case w.overlap:
		x := assistant.MeasureOverlap(s, p, cmp.Or(sampling.Temperature, 1))
		return x, &x.Overlap
	}
	return s, new(assistant.Overlap)
}
