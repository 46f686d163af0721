package decoder

import (
	"context"
	"fmt"
	"slices"

	"verity/encoder"
	"verity/internal/freelist"
	"verity/internal/kernel"
	"verity/internal/layer"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

// Options configures a Decoder: the same as an Encoder.
type Options = encoder.Options

// A Decoder is the text half of the network. Its weights are immutable and it
// is safe for concurrent use.
type Decoder struct {
	dims      model.Dims
	pool      *parallel.Pool
	precision precision.Precision
	embed     *kernel.Matrix // [vocab][width]
	tap       layer.Tap      // of the inputs of head
	head      *kernel.Matrix // the vocabulary head: embed, unless the checkpoint has its own
	positions []float32      // [TextPositions][width]
	blocks    []block
	norm      layer.Norm
	buffers   freelist.List[*buffers]
	streams   freelist.List[[]cache]
	crosses   freelist.List[[]cache]
	logits    freelist.List[[]float32]
}

// A block is one residual layer: x += self(norm(x)); x += cross(norm(x));
// x += mlp(norm(x)).
type block struct {
	norm1, norm2, norm3 layer.Norm
	qkv, out            layer.Linear // self-attention
	query, crossOut     layer.Linear // attention to the audio
	crossKV             layer.Linear // keys and values of the audio
	up, down            layer.Linear
}

// New reads the decoder of c.
func New(c *model.Checkpoint, o Options) (*Decoder, error) {
	p, err := layer.Resolve(c, o.Precision, o.Pool)
	if err != nil {
		return nil, err
	}
	const embed, untied = "decoder.embed_tokens.weight", "proj_out.weight"
	m, l := c.Dims, layer.NewLoader(c, p, o.Pool)
	d := &Decoder{dims: m, pool: o.Pool, precision: p}
	d.embed = l.Matrix(m.Vocab, m.TextWidth, embed)
	d.head, d.tap = d.embed, l.Tap(embed)
	if slices.Contains(c.Names(), untied) {
		d.head, d.tap = l.Matrix(m.Vocab, m.TextWidth, untied), l.Tap(untied)
	}
	d.positions = l.Floats("decoder.embed_positions.weight", m.TextPositions, m.TextWidth)
	d.blocks = make([]block, m.TextLayers)
	for i := range d.blocks {
		d.blocks[i] = loadBlock(l, fmt.Sprintf("decoder.layers.%d.", i), m)
	}
	d.norm = l.Norm("decoder.layer_norm", m.TextWidth)
	return d, l.Read()
}

func loadBlock(l *layer.Loader, at string, m model.Dims) block {
	w, audio := m.TextWidth, m.AudioWidth
	return block{
		norm1:    l.Norm(at+"self_attn_layer_norm", w),
		qkv:      l.Linear(w, w, at+"self_attn.q_proj", at+"self_attn.k_proj", at+"self_attn.v_proj"),
		out:      l.Linear(w, w, at+"self_attn.out_proj"),
		norm2:    l.Norm(at+"encoder_attn_layer_norm", w),
		query:    l.Linear(w, w, at+"encoder_attn.q_proj"),
		crossKV:  l.Linear(w, audio, at+"encoder_attn.k_proj", at+"encoder_attn.v_proj"),
		crossOut: l.Linear(w, w, at+"encoder_attn.out_proj"),
		norm3:    l.Norm(at+"final_layer_norm", w),
		up:       l.Linear(m.TextFFN, w, at+"fc1"),
		down:     l.Linear(w, m.TextFFN, at+"fc2"),
	}
}

// Dims returns the sizes of the network.
func (d *Decoder) Dims() model.Dims { return d.dims }

// WithPool returns the same decoder on another pool. It shares the weights, and has buffers and
// caches of its own.
func (d *Decoder) WithPool(p *parallel.Pool) *Decoder {
	return &Decoder{
		dims: d.dims, pool: p, precision: d.precision, embed: d.embed, head: d.head,
		positions: d.positions, blocks: d.blocks, norm: d.norm,
	}
}

// Precision returns the formats of weights, activations and caches, none of them automatic.
func (d *Decoder) Precision() precision.Precision { return d.precision }

// DetectLanguage returns the probability of each language, in the order of
// langs; they sum to one.
//
// Source: openai/whisper@c0d2f62 whisper/decoding.py, detect_language.
func (d *Decoder) DetectLanguage(
	ctx context.Context, c *Cross, sot tokenizer.Token, langs []tokenizer.Language,
) ([]float32, error) {
	if len(langs) == 0 {
		return nil, fmt.Errorf("decoder: the model knows no languages to detect")
	}
	s := d.NewStream(c)
	defer s.Close()
	logits := make([]float32, d.dims.Vocab)
	if err := d.Step(ctx, []Row{{Stream: s, Token: sot, WantLogits: true}}, logits); err != nil {
		return nil, err
	}
	probs := make([]float32, len(langs))
	for i, l := range langs {
		probs[i] = logits[l.Token]
	}
	kernel.Softmax(probs)
	return probs, nil
}

// A TokenMismatch is a special token that a configuration states at another id than a tokenizer.
type TokenMismatch struct {
	Field  string // eos_token_id, "lang_to_id <|en|>"
	Stated int32
	Token  tokenizer.Token
}

// TokenMismatches compares the ids in a configuration with a tokenizer: that of the same model, or
// that of the model it has to match. Of the languages it returns only the first that differs.
func TokenMismatches(t *tokenizer.Tokenizer, g model.Generation) (list []TokenMismatch) {
	compare := func(field string, stated int32, token tokenizer.Token) (moved bool) {
		moved = stated != model.NoToken && token != tokenizer.None && tokenizer.Token(stated) != token
		if moved {
			list = append(list, TokenMismatch{field, stated, token})
		}
		return moved
	}
	compare("eos_token_id", g.EOSToken, t.EOT)
	compare("decoder_start_token_id", g.DecoderStartToken, t.SOT)
	compare("no_timestamps_token_id", g.NoTimestampsToken, t.NoTimestamps)
	compare("prev_sot_token_id", g.PrevSOTToken, t.SOTPrev)
	for i, task := range []string{"transcribe", "translate"} {
		if id, stated := g.TaskToID[task]; stated {
			compare("task_to_id "+task, id, [...]tokenizer.Token{t.Transcribe, t.Translate}[i])
		}
	}
	for _, l := range t.Languages() {
		mark := "<|" + l.Code + "|>"
		if id, stated := g.LangToID[mark]; stated && compare("lang_to_id "+mark, id, l.Token) {
			break
		}
	}
	return list
}
