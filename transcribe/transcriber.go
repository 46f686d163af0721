package transcribe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/internal/option"
	"verity/tokenizer"
	"verity/transcript"
)

// A Transcriber turns clips into transcripts. It is immutable and safe for concurrent use.
type Transcriber struct {
	model            *Model
	network          network
	opt              Options
	rules            []decoder.Rule
	prompt           []tokenizer.Token        // InitialPrompt
	prefix           []tokenizer.Token        // Prefix
	hotwords         []tokenizer.Token        // Hotwords
	replacer         *transcript.Replacer     // of Terms; nil if they replace nothing
	language         *tokenizer.Language      // nil: detect
	allowed          []bool                   // which of the model's languages detection may choose; nil: all
	draftCues        []transcript.Cue         // the text to draft from
	draftText        *assistant.ReferenceText // made of draftCues; nil without a text
	draftTranscriber *Transcriber             // writes the text to draft from if there is none; nil without a draft model
	alignCues        []transcript.Cue         // the text to align; nil without one
	warnsUseless     bool                     // warns if the text to draft from was useless
	pass             Pass                     // over live sound, if it is one
}

// New checks the options against the model. The error joins an *OptionError for each wrong option, or says what the model
// lacks.
func New(m *Model, o Options) (*Transcriber, error) { return newTranscriber(m, m, o) }

func newTranscriber(m *Model, n network, o Options) (*Transcriber, error) {
	o = o.WithDefaults()
	t := &Transcriber{model: m, network: n, opt: o}
	if err := option.Join(o.check(), t.setLanguage()); err != nil {
		return nil, err
	}
	if err := option.Join(t.setTexts(), t.setRules()); err != nil {
		return nil, err
	}
	t.replacer = replacerOf(o.Terms)
	if n, most := o.AudioContext, m.Dims.AudioPositions; n < WholeWindows || n > most {
		return nil, option.New("AudioContext", n,
			fmt.Sprintf("must be from 1 to %d, the model's positions of 20 ms", most))
	}
	t.opt.chunks = cmp.Or(o.chunks, chunksFor(m.Dims))
	if o.BeamSize > 1 && m.policies != nil {
		level := slog.LevelInfo
		if m.mayIdle {
			level = slog.LevelWarn
		}
		o.Log.Log(context.Background(), level, "beam search works without drafts: the assistant is not used", "beam_size", o.BeamSize)
	}
	t.setDraftTranscriber()
	return t, nil
}

// A Pass says how live sound is transcribed once more, by [Transcriber.ForPass].
type Pass struct {
	Language, Prompt string // in place of those of the options

	// Spoken means that a detector has heard speech: the text is not checked for it.
	Spoken bool

	// Provisional text is replaced by that of another pass, so nothing is decoded twice: the temperature is 0, text in
	// doubt stands, and speech without words stays so.
	Provisional bool
}

// ForPass returns a Transcriber like t for one pass over live sound. All else stays, also the text to draft from and the
// draft model with the options that New gave it. It is cheap.
func (t *Transcriber) ForPass(p Pass) (*Transcriber, error) {
	n, o := *t, t.opt
	o.Language, o.Multilingual = p.Language, o.Multilingual && p.Language == ""
	o.InitialPrompt, o.SkipSpeechCheck = p.Prompt, o.SkipSpeechCheck || p.Spoken
	if n.pass = p; p.Provisional {
		o.Temperatures = []float64{0}
	}
	n.opt, n.language, n.allowed = o, nil, nil
	var err error
	n.prompt, err = n.encodeText("InitialPrompt", p.Prompt)
	return &n, option.Join(o.check(), n.setLanguage(), err)
}

// multilingual reports whether prompts name a language and a task.
func (t *Transcriber) multilingual() bool { return t.model.Generation.Multilingual }

// setLanguage looks up the language of the options, or the only one that the model knows.
func (t *Transcriber) setLanguage() error {
	known := t.model.Tokenizer.Languages()
	if t.opt.Multilingual && (!t.multilingual() || len(known) < 2) {
		return option.New("Multilingual", true, "the model knows one language only; leave it out")
	}
	if !t.multilingual() {
		english, ok := t.model.Tokenizer.Language("en")
		if !ok {
			english = tokenizer.Language{Code: "en", Name: "English"}
		}
		const reason = "the model knows English only; take one whose name has no .en"
		if l := t.opt.Language; l != "" && !slices.ContainsFunc(strings.Split(l, ","), english.Is) {
			return option.New("Language", t.opt.Language, reason)
		}
		if t.opt.Task == Translate {
			return option.New("Task", t.opt.Task, reason)
		}
		t.language = &english
		return nil
	}
	switch {
	case len(known) == 0:
		return errors.New("transcribe: the configuration says that the model is multilingual, " +
			"but its vocabulary names no language")
	case t.opt.Language != "":
		t.allowed = make([]bool, len(known))
		several := strings.Split(t.opt.Language, ",")
		for _, one := range several {
			i := slices.IndexFunc(known, func(l tokenizer.Language) bool { return l.Is(one) })
			if i < 0 {
				return option.New("Language", one, "the model does not know it; it knows "+languageList(known)+
					". Leave it out to detect it")
			}
			t.allowed[i], t.language = true, &known[i]
		}
		if len(several) > 1 {
			t.language = nil
		}
	case len(known) == 1:
		t.language = &known[0]
	}
	return nil
}

// languageList names the first few of the known languages.
func languageList(known []tokenizer.Language) string {
	const most = 8
	list := make([]string, 0, most)
	for _, l := range known[:min(len(known), most)] {
		list = append(list, l.Code+" ("+l.Name+")")
	}
	text := strings.Join(list, ", ")
	if len(known) > most {
		text += fmt.Sprintf(" and %d more", len(known)-most)
	}
	return text
}

// encodeText returns the tokens of the text of an option, with a space before it.
func (t *Transcriber) encodeText(field, text string) ([]tokenizer.Token, error) {
	if text = tokenizer.Strip(text); text == "" {
		return nil, nil
	}
	tokens, err := t.model.Tokenizer.EncodeStrict(" " + text)
	if err != nil {
		return nil, option.New(field, text, err.Error())
	}
	return tokens, nil
}

// setTexts encodes the texts that windows begin with or continue. The prefix and the
// hotwords take at most half of the room for previous text.
func (t *Transcriber) setTexts() error {
	var errs [3]error
	t.prompt, errs[0] = t.encodeText("InitialPrompt", t.opt.InitialPrompt)
	t.prefix, errs[1] = t.encodeText("Prefix", t.opt.Prefix)
	t.hotwords, errs[2] = t.encodeText("Hotwords", t.opt.Hotwords)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	room := t.promptRoom()
	if n := len(t.prompt); n > room {
		t.opt.Log.Warn(fmt.Sprintf("the initial prompt has %d tokens, more than %d: only its end is used", n, room))
	}
	room /= 2
	if n := len(t.prefix); n > room {
		return option.New("Prefix", tokenizer.Strip(t.opt.Prefix),
			fmt.Sprintf("it is too long: got %d tokens, want at most %d", n, room))
	}
	if n := len(t.hotwords); n > room {
		t.opt.Log.Warn(fmt.Sprintf("the hotwords have %d tokens, more than %d: only their beginning is used", n, room))
		t.hotwords = t.hotwords[:room]
	}
	return nil
}

// promptRoom returns how many tokens of previous text fit into a prompt.
func (t *Transcriber) promptRoom() int { return t.model.Dims.TextPositions/2 - 1 }

// setRules makes the logit rules.
func (t *Transcriber) setRules() error {
	tok := t.model.Tokenizer
	if t.opt.WithoutTimestamps && tok.NoTimestamps == tokenizer.None {
		return option.New("WithoutTimestamps", true, "the vocabulary has no token for it")
	}
	if t.opt.Task == Translate && tok.Translate == tokenizer.None {
		return option.New("Task", t.opt.Task, "the vocabulary has no token for it")
	}
	for _, s := range t.opt.SuppressTokens {
		if s < -1 || int(s) >= t.model.Dims.Vocab {
			return option.New("SuppressTokens", s, fmt.Sprintf("must be -1 or a token below %d", t.model.Dims.Vocab))
		}
	}
	if t.opt.WordTimestamps && tok.NoTimestamps == tokenizer.None {
		return option.New("WordTimestamps", true,
			"the vocabulary has no token for timestamps off, which finding words needs")
	}
	matching, err := t.suppressedByExpression()
	if err != nil {
		return err
	}
	terms, err := decoder.NewTermBias(tok, biasOf(t.opt.Terms))
	if bad, ok := errors.AsType[*decoder.TermError](err); ok {
		return option.New("Terms", bad.Text, bad.Err.Error())
	} else if err != nil {
		return err
	}
	t.rules = decoder.Rules(tok, t.model.Generation, decoder.RuleOptions{
		WithoutTimestamps:   t.opt.WithoutTimestamps,
		SuppressTokens:      t.opt.SuppressTokens,
		Forbidden:           matching,
		MaxInitialTimestamp: t.opt.MaxInitialTimestamp,
		Terms:               terms,
		Repetition:          t.opt.Repetition,
	})
	return nil
}

// suppressedByExpression returns the text tokens that SuppressExpression forbids.
//
// Source: ggml-org/whisper.cpp@233fe1f src/whisper.cpp, suppress_regex: it has to match the whole of a token.
func (t *Transcriber) suppressedByExpression() (list []tokenizer.Token, err error) {
	x := t.opt.SuppressExpression
	if x == nil {
		return nil, nil
	}
	whole, err := regexp.Compile(`\A(?:` + x.String() + `)\z`)
	if err != nil {
		return nil, option.New("SuppressExpression", x, err.Error())
	}
	for tok := range t.model.Tokenizer.EOT {
		if whole.Match(t.model.Tokenizer.Bytes(tok)) {
			list = append(list, tok)
		}
	}
	switch {
	case len(list) == 0:
		return nil, option.New("SuppressExpression", x, "matches no token")
	case len(list) == int(t.model.Tokenizer.EOT):
		return nil, option.New("SuppressExpression", x, "matches every token")
	}
	return list, nil
}

// Transcribe transcribes a clip, also while its sound is still arriving. If it fails on the way, it
// returns what it has together with the error; with a text to align (WithText), nothing. After Model.Close the error is [ErrClosed].
func (t *Transcriber) Transcribe(ctx context.Context, clip *audio.Clip, w Callbacks) (*transcript.Transcript, error) {
	if t.model.closed.Load() {
		return nil, ErrClosed
	}
	if clip.IsLive() {
		return t.transcribeStream(ctx, clip, w)
	}
	transcribe := t.transcribeWithDraft
	if t.opt.VAD != nil {
		transcribe = t.transcribeSpeech
	}
	watch := w
	if t.opt.Speakers != nil {
		watch = t.beforeSpeakers(w)
	}
	if t.alignCues != nil {
		watch.Segment = nil
	}
	tr, err := transcribe(ctx, clip, watch)
	if t.alignCues != nil {
		if err == nil {
			err = t.writeText(ctx, clip, tr, w)
		}
		if err != nil {
			return nil, err
		}
	}
	if tr == nil {
		return nil, err
	}
	ReportDamage(clip, tr, t.opt.Log)
	if t.opt.Speakers != nil {
		err = t.addSpeakers(ctx, clip, tr, err, w)
	}
	return tr, err
}

// transcribeFile transcribes all sound of a clip.
func (t *Transcriber) transcribeFile(ctx context.Context, clip *audio.Clip, w Callbacks) (*transcript.Transcript, error) {
	began := time.Now()
	s, err := audio.NewSpectrogram(ctx, clip, t.melOptions())
	if err != nil {
		return nil, err
	}
	return t.transcribeSource(ctx, clip.Name(), soundFile{s}, began, w)
}

// transcribeStream transcribes a clip while its sound arrives.
func (t *Transcriber) transcribeStream(ctx context.Context, clip *audio.Clip, w Callbacks) (*transcript.Transcript, error) {
	switch {
	case t.opt.Chunked:
		return nil, option.New("Chunked", true, "needs a file: sound that is still arriving cannot be cut")
	case t.opt.VAD != nil:
		return nil, option.New("VAD", true,
			"needs a file: speech cannot be found in advance in sound that is still arriving")
	case t.opt.Speakers != nil:
		return nil, option.New("Speakers", "voice",
			"needs a file: voices cannot be compared in sound that is still arriving")
	case t.alignCues != nil:
		return nil, errors.New("a text can be aligned with a file, not with sound that is still arriving")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	live, err := audio.NewLive(ctx, clip, 0, t.melOptions())
	if err != nil {
		return nil, err
	}
	tr, err := t.transcribeSource(ctx, clip.Name(), live, time.Now(), w)
	if err == nil && live.Frames() != audio.Unknown { // else the clip is still being read
		ReportDamage(clip, tr, t.opt.Log)
	}
	return tr, err
}

// ReportDamage logs what is damaged or missing in a clip that has been read to its end, and
// records it in the transcript.
func ReportDamage(clip *audio.Clip, tr *transcript.Transcript, log *slog.Logger) {
	for _, what := range clip.Warnings() {
		log.Warn(what, "audio", clip.Name())
	}
	tr.Warnings, tr.Truncated = clip.Warnings(), clip.Truncated()
	for _, g := range clip.Damaged() {
		tr.Damaged = append(tr.Damaged, transcript.Gap(g))
	}
}

// melOptions returns the shape of the windows that the model reads.
func (t *Transcriber) melOptions() audio.Options {
	return audio.Options{Bins: t.model.Dims.MelBins, Window: t.windowFrames(), Pad: t.opt.Pad}
}

// transcribeSource transcribes a source that was opened at the time began.
func (t *Transcriber) transcribeSource(
	ctx context.Context, name string, src source, began time.Time, w Callbacks,
) (*transcript.Transcript, error) {
	replacer := t.replacer
	if t.opt.Speakers != nil {
		replacer = nil // it replaces what the cuts at speakers leave
	}
	if report := w.Segment; report != nil && replacer != nil {
		w.Segment = func(s transcript.Segment) { report(replacer.Segment(s)) }
	}
	r := t.newTranscription(name, src, w)
	r.stats.Seconds.Mel = time.Since(began).Seconds()
	err := r.transcribeSpans(ctx)
	r.warnUseless()
	r.warnIdle()
	r.warnGaps()
	r.warnLanguage()
	r.stats.Seconds.Total = time.Since(began).Seconds() - r.stats.Seconds.Measuring
	tr := r.transcript()
	replacer.Transcript(tr)
	return tr, err
}
