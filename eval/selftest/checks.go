package selftest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/decoder/schedule"
	"verity/parallel"
	"verity/tokenizer"
	"verity/transcript"
)

// signal returns a window of log-mel made by a rule: rising tones with noise, in the
// range of speech.
func signal(bins, frames int) *audio.Mel {
	m := &audio.Mel{Bins: bins, Frames: frames}
	m.Data = make([]float32, m.Bins*m.Frames)
	state := uint32(1)
	for i := range m.Data {
		state = state*1664525 + 1013904223
		bin, frame := i/m.Frames, i%m.Frames
		v := float32(state>>16)/65536*0.5 - 0.5
		if (frame/8+bin)%m.Bins < 6 {
			v += 1
		}
		m.Data[i] = v
	}
	return m
}

// mostRows is the longest pass that is checked.
const mostRows = 16

// checkRows runs the text in passes of 1 to 16 rows, each after a refused draft.
func checkRows(ctx context.Context, t *trial) (string, int64, error) {
	values := int64(0)
	for m := 1; m <= mostRows; m++ {
		n, err := t.passes(ctx, t.Decoder, m)
		values += n
		if err != nil {
			return "", values, fmt.Errorf("passes of %d rows: %w", m, err)
		}
	}
	return fmt.Sprintf("1 to %d tokens in a pass, after refused drafts, against one at a time", mostRows), values, nil
}

// passes runs the text m rows at a time and compares each row with itself alone.
func (t *trial) passes(ctx context.Context, d *decoder.Decoder, m int) (values int64, err error) {
	s := d.NewStream(t.cross)
	defer s.Close()
	vocab := t.Checkpoint.Dims.Vocab
	logits := make([]float32, m*vocab)
	for p := 0; p < len(t.alone); {
		rows := make([]decoder.Row, min(m, len(t.alone)-p))
		for i := range rows { // a draft that will be refused
			rows[i] = decoder.Row{Stream: s, Position: p + i,
				Token: tokenizer.Token((p*31 + i*7) % vocab), NoLogits: true}
		}
		if err := d.Step(ctx, rows, nil); err != nil {
			return values, err
		}
		s.Cut(p)
		for i := range rows {
			rows[i].Token, rows[i].NoLogits = t.tokens[p+i], false
		}
		if err := d.Step(ctx, rows, logits); err != nil {
			return values, err
		}
		for i := range rows {
			values += int64(vocab)
			if !same(logits[i*vocab:(i+1)*vocab], t.alone[p+i]) {
				return values, differs("row %d of %d at position %d", i, len(rows), p+i)
			}
		}
		p += len(rows)
	}
	return values, nil
}

// checkThreads repeats passes of 1 and 6 rows on other thread counts.
func checkThreads(ctx context.Context, t *trial) (string, int64, error) {
	values := int64(0)
	for _, threads := range t.pools() {
		pool := parallel.New(threads)
		defer pool.Close()
		for _, m := range []int{1, 6} {
			n, err := t.passes(ctx, t.Decoder.WithPool(pool), m)
			values += n
			if err != nil {
				return "", values, fmt.Errorf("%d threads, passes of %d rows: %w", threads, m, err)
			}
		}
	}
	p := t.pools()
	return fmt.Sprintf("%d and %d threads against %d", p[0], p[1], t.Pool.Threads()), values, nil
}

// checkBatches decodes the text in eight streams at once, each at its own position, as a
// batch of files would.
func checkBatches(ctx context.Context, t *trial) (string, int64, error) {
	const members = 8
	batch := schedule.New(t.Decoder)
	var all [members]*schedule.Member
	for i := range all {
		all[i] = batch.Join()
	}
	var wg sync.WaitGroup
	var errs [members]error
	var values [members]int64
	for i := range members {
		wg.Go(func() {
			defer all[i].Leave()
			values[i], errs[i] = t.member(ctx, all[i], 1+i*2)
		})
	}
	wg.Wait()
	sum := int64(0)
	for i := range members {
		sum += values[i]
		if errs[i] != nil {
			return "", sum, fmt.Errorf("member %d of %d: %w", i, members, errs[i])
		}
	}
	return fmt.Sprintf("%d streams decoded together against one alone", members), sum, nil
}

// member runs the text as a member of a batch: a prompt of prompt tokens, then token by token.
func (t *trial) member(ctx context.Context, m *schedule.Member, prompt int) (values int64, err error) {
	s := t.Decoder.NewStream(t.cross)
	defer s.Close()
	var own []float32
	prompt = min(prompt, len(t.alone)-1)
	for p := 0; p < len(t.alone); {
		n := 1
		if p == 0 {
			n = prompt
		}
		rows := make([]decoder.Row, n)
		for i := range rows {
			rows[i] = decoder.Row{Stream: s, Position: p + i, Token: t.tokens[p+i], NoLogits: i < n-1}
		}
		logits, err := m.Run(ctx, rows, &own)
		if err != nil {
			return values, err
		}
		p += n
		values += int64(len(logits))
		if !same(logits, t.alone[p-1]) {
			return values, differs("position %d", p-1)
		}
	}
	return values, nil
}

// checkDrafts decodes the window with every assistant, at temperature 0 in drafts of 1, 3
// and 8, at 0.8 of 2 and 5, and compares tokens and log-probabilities with plain
// decoding. (The tests cover any length at any temperature: each decoding of a large
// model takes half a second.)
func checkDrafts(ctx context.Context, t *trial) (string, int64, error) {
	type drafter struct {
		name string
		open opener
	}
	drafters := []drafter{{"nonsense", babbling(t.Tokenizer)},
		{"lookup", t.opener(&assistant.NGram{EOT: t.Tokenizer.EOT, Shortest: 1})}}
	if t.Assistant != nil {
		drafters = append(drafters, drafter{"the assistant", t.opener(t.Assistant)})
	}
	values, drafted := int64(0), 0
	for _, at := range []struct {
		temperature float32
		lengths     []int
	}{{0, []int{1, 3, 8}}, {0.8, []int{2, 5}}} {
		want, _, err := t.decode(ctx, t.opener(assistant.None{}), 0, at.temperature)
		if err != nil {
			return "", values, err
		}
		for _, d := range append(drafters, drafter{"text", following(t.Tokenizer, want)}) {
			lengths := at.lengths
			switch d.name {
			case "lookup": // seldom finds a draft of full length
				lengths = lengths[len(lengths)-1:]
			case "text":
				lengths = []int{assistant.MaxTextDraft}
			}
			for _, n := range lengths {
				got, stats, err := t.decode(ctx, d.open, n, at.temperature)
				if err != nil {
					return "", values, err
				}
				values += int64(len(got))
				drafted += stats.Drafted
				if !sameChoices(got, want) {
					return "", values, differs("%s, drafts of %d, temperature %v", d.name, n, at.temperature)
				}
			}
		}
	}
	if drafted == 0 {
		return "", values, fmt.Errorf("nothing was drafted, so nothing is proven")
	}
	return fmt.Sprintf("tokens and log-probabilities with drafts (%d tokens) against plain decoding", drafted), values, nil
}

// An opener returns a proposer for one decoding, and the function that closes it.
type opener func(o decoder.SessionOptions, p assistant.Policy) (assistant.Proposer, func())

func (t *trial) opener(a assistant.Assistant) opener {
	return func(o decoder.SessionOptions, p assistant.Policy) (assistant.Proposer, func()) {
		d := a.Open(t.window)
		d.Begin(o, p)
		return d, d.Close
	}
}

func (t *trial) decode(
	ctx context.Context, open opener, n int, temperature float32,
) ([]decoder.Choice, transcript.Drafts, error) {
	o := decoder.SessionOptions{
		Prompt: t.prompt(), NoSpeech: t.Tokenizer.NoSpeech,
		Rules:    decoder.Rules(t.Tokenizer, t.Checkpoint.Generation, decoder.RuleOptions{}),
		Sampling: decoder.Sampling{Temperature: temperature, Seed: 1},
	}
	s, err := t.Decoder.NewSession(t.cross, o)
	if err != nil {
		return nil, transcript.Drafts{}, err
	}
	defer s.Close()
	p := assistant.Constant(n)
	l, end := open(o, p)
	defer end()
	g, err := assistant.Generate(ctx, s, l, assistant.Options{EOT: t.Tokenizer.EOT,
		Limit: s.Limit(t.positions), Policy: p})
	if err != nil {
		return nil, transcript.Drafts{}, err
	}
	if err := g.ProposerErr; err != nil {
		return nil, transcript.Drafts{}, err
	}
	return g.Choices, g.Stats.Drafts, nil
}

func sameChoices(got, want []decoder.Choice) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		if got[i].Token != want[i].Token || !same([]float32{got[i].LogProb}, []float32{want[i].LogProb}) {
			return false
		}
	}
	return true
}

// following drafts from the text of the chosen tokens, with every third word wrong.
func following(tok *tokenizer.Tokenizer, choices []decoder.Choice) opener {
	var tokens []tokenizer.Token
	for _, c := range choices {
		tokens = append(tokens, c.Token)
	}
	list := strings.Fields(tok.Decode(tokens))
	for i := 2; i < len(list); i += 3 {
		list[i] = "<|endoftext|>"
	}
	text := assistant.NewReferenceText(tok, []transcript.Cue{{Text: strings.Join(list, " ")}})
	return func(decoder.SessionOptions, assistant.Policy) (assistant.Proposer, func()) {
		if text == nil { // no word was chosen
			return assistant.None{}, func() {}
		}
		f := text.NewProposer()
		f.Begin(assistant.TextWindow{End: 30, Clip: 30, Timestamps: true})
		return f, func() {}
	}
}

// A babble drafts text, timestamps and ends without regard to the audio.
type babble struct {
	tok   *tokenizer.Tokenizer
	state uint32
}

func babbling(tok *tokenizer.Tokenizer) opener {
	return func(decoder.SessionOptions, assistant.Policy) (assistant.Proposer, func()) {
		return &babble{tok: tok}, func() {}
	}
}

func (b *babble) Propose(_ context.Context, dst []tokenizer.Token, limit int) ([]tokenizer.Token, error) {
	for range limit {
		b.state = b.state*1664525 + 1013904223
		switch b.state >> 30 {
		case 0:
			dst = append(dst, b.tok.EOT)
		case 1:
			dst = append(dst, b.tok.TimestampBegin+tokenizer.Token(b.state>>16%50))
		default:
			dst = append(dst, tokenizer.Token(b.state>>8)%b.tok.EOT)
		}
	}
	return dst, nil
}

func (*babble) Commit(context.Context, []tokenizer.Token) error { return nil }
