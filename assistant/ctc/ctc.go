// Package ctc drafts from the output of the encoder: a small network, trained by connectionist
// temporal classification, reads letters from it, and a search with a list of words makes
// text of them. A draft costs next to nothing, since the encoder has run anyway, and needs no
// other model.
//
//	features [1500][512] → Head → Frames [750][symbols] → search, from the committed text on → letters → tokens
//
// The decoder's committed tokens are a constraint: the search continues at the frames where they
// end, so a wrong word costs one round and no more.
//
// Sources: Graves et al. 2006, "Connectionist temporal classification"; Hannun et al. 2014,
// arXiv:1408.2873 (prefix beam search).
package ctc

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/encoder"
	"verity/internal/formats/safetensors"
	"verity/internal/formats/weights"
	"verity/internal/input"
	"verity/model"
	"verity/parallel"
	"verity/tokenizer"
)

// An Assistant drafts what a [Head] reads from the encoder's output. It is safe for concurrent use.
type Assistant struct {
	head      *Head
	alphabet  *alphabet
	tokenizer *tokenizer.Tokenizer
	files     fs.FS
	languages map[string]func() *Words // built on first use

	searches sync.Pool // of *search

	source   *encoder.Encoder // of another model; nil if the head reads the target's features
	bins     int              // mel bins that source takes
	encoding chan struct{}    // holds a value while source runs
}

// WithEncoder returns the same assistant for targets with another encoder: it runs e, which
// the head was trained for, on each window that it drafts for. e takes bins mel bins, at most those of the window,
// and at least its frames.
func (a *Assistant) WithEncoder(e *encoder.Encoder, bins int) *Assistant {
	return &Assistant{
		head: a.head, alphabet: a.alphabet, tokenizer: a.tokenizer, files: a.files, languages: a.languages,
		source: e, bins: bins, encoding: make(chan struct{}, 1),
	}
}

// Encoder returns the encoder of WithEncoder; nil without one.
func (a *Assistant) Encoder() *encoder.Encoder { return a.source }

// Operations returns the multiplications of reading letters from some positions of an encoder.
func (a *Assistant) Operations(positions int) int {
	h := a.head
	weights := h.width * (stemTaps*h.in + len(h.blocks)*(blockTaps+1)*h.width + h.symbols)
	return weights * positions / stride
}

// runHead runs the head on a window, and first the encoder if the assistant has its own. It returns what
// this costs. Windows are encoded one after another, so that each is timed alone.
func (a *Assistant) runHead(ctx context.Context, w assistant.Window) (f *Frames, cost assistant.Cost, err error) {
	features := w.Features
	began := time.Now()
	if a.source != nil {
		select {
		case a.encoding <- struct{}{}:
		case <-ctx.Done():
			return nil, cost, context.Cause(ctx)
		}
		defer func() { <-a.encoding }()
		began = time.Now()
		if features, err = a.source.Encode(ctx, w.Mel.WithBins(a.bins), nil); err != nil {
			return nil, cost, err
		}
	}
	f, err = a.head.Run(features, audiblePositions(w.Mel))
	return f, assistant.Cost{Opening: time.Since(began), Positions: features.Positions}, err
}

// audiblePositions returns the number of the encoder's positions before the silence at the end of a window, where
// the log-mel is at its floor, plus a margin. Without a log-mel it returns the largest integer.
func audiblePositions(m *audio.Mel) int {
	const margin = 25 // positions of 20 ms: the encoder looks around
	if m == nil || len(m.Data) == 0 {
		return math.MaxInt
	}
	floor, frames := m.Data[m.Frames-1], 0
	for b := range m.Bins {
		bin := m.Data[b*m.Frames:][:m.Frames]
		end := m.Frames
		for end > frames && bin[end-1] == floor {
			end--
		}
		frames = end
	}
	return (frames+1)/2 + margin
}

// StepBytes returns 0: a draft costs next to nothing once the head has run.
func (a *Assistant) StepBytes() int64 { return 0 }

// Open postpones the head until the first draft.
func (a *Assistant) Open(w assistant.Window) assistant.Drafter {
	s, _ := a.searches.Get().(*search)
	if s == nil {
		s = new(search)
	}
	return &drafter{a: a, window: w, search: s}
}

// wordsOf returns the words of a language, or nil if there are none.
func (a *Assistant) wordsOf(language string) *Words {
	if words := a.languages[language]; words != nil {
		return words()
	}
	return nil
}

//go:embed base
var base embed.FS

// drafterDir is the directory of a checkpoint that may hold a head for its encoder.
const drafterDir = "drafter"

// For returns the assistant for a checkpoint: of the directory drafter in its directory, or the
// built-in one if the encoder is that of Whisper base. It returns nil without an error if there is none.
func For(c *model.Checkpoint, pool *parallel.Pool, t *tokenizer.Tokenizer) (*Assistant, error) {
	if own, err := loadOwn(c, pool, t); own != nil || err != nil {
		return own, err
	}
	if fits, err := fitsBuiltIn(c); !fits || err != nil {
		return nil, err
	}
	files, err := fs.Sub(base, "base")
	if err != nil {
		return nil, err
	}
	return Load(files, pool, t)
}

// Has reports whether there is an assistant for a checkpoint, without loading the built-in one.
func Has(c *model.Checkpoint) (bool, error) {
	if own, err := loadOwn(c, nil, nil); own != nil || err != nil {
		return own != nil, err
	}
	return fitsBuiltIn(c)
}

// loadOwn loads the assistant in the directory of a checkpoint; nil if there is none.
func loadOwn(c *model.Checkpoint, pool *parallel.Pool, t *tokenizer.Tokenizer) (*Assistant, error) {
	own, err := fs.Sub(c.FS(), drafterDir)
	if err != nil || !input.Exists(own, headFile) {
		return nil, nil
	}
	a, err := Load(own, pool, t)
	if err == nil && a.head.in != c.Dims.AudioWidth {
		err = fmt.Errorf("%s: got the head of an encoder of width %d, want %d", headFile, a.head.in, c.Dims.AudioWidth)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w; train it for this model (tools/drafter) or remove the directory", c.Name, drafterDir, err)
	}
	return a, nil
}

// fitsBuiltIn reports whether the built-in assistant is for a checkpoint.
func fitsBuiltIn(c *model.Checkpoint) (bool, error) {
	b, err := base.ReadFile("base/" + headFile)
	if err != nil {
		return false, err
	}
	head, err := weights.FromBytes(headFile, b, safetensors.Parse)
	if err != nil {
		return false, err
	}
	norm, _ := head.Entry("encoder_norm")
	return hasEncoderNorm(c, norm.Tensor().Float32())
}

// hasEncoderNorm reports whether the last norm of c's encoder has a gain, up to rounding: by it an
// encoder is recognized.
func hasEncoderNorm(c *model.Checkpoint, want []float32) (same bool, err error) {
	const (
		name     = "encoder.layer_norm.weight"
		rounding = 1.0 / 512 // of binary16 and bfloat16
	)
	if c.Dims.AudioWidth != len(want) || !c.Has(name) {
		return false, nil
	}
	err = c.Reading(func() error {
		w, err := c.Weight(name)
		if err != nil {
			return err
		}
		same = slices.EqualFunc(w.Tensor().Float32(), want, func(got, want float32) bool {
			return math.Abs(float64(got-want)) <= rounding*math.Abs(float64(want))
		})
		return nil
	})
	return same, err
}

const headFile = "head.safetensors"

// Load reads the assistant of a model from a directory:
//
//	head.safetensors    the weights, see [LoadHead]
//	symbols.txt         the characters that the head writes, without the blank, in order
//	words-XX.gz         the words of language XX, see [ReadWords]
//	pairs-XX.gz         optional: which words follow others, see [ReadWords]
//
// It drafts nothing in languages without words. The files must not change while it is used.
func Load(files fs.FS, pool *parallel.Pool, t *tokenizer.Tokenizer) (*Assistant, error) {
	head, err := input.ReadFS(files, headFile, maxHeadBytes)
	if err != nil {
		return nil, err
	}
	h, err := LoadHead(headFile, head, pool)
	if err != nil {
		return nil, err
	}
	symbols, err := input.ReadFS(files, "symbols.txt", maxListBytes)
	if err != nil {
		return nil, err
	}
	a := &Assistant{head: h, alphabet: newAlphabet([]rune(string(symbols))), tokenizer: t, files: files}
	if n := len(a.alphabet.runes); n != h.symbols {
		return nil, fmt.Errorf("symbols.txt: got %d characters, want %d: one less than head.safetensors has outputs",
			n-1, h.symbols-1)
	}
	lists, err := fs.Glob(files, "words-*.gz")
	if err != nil {
		return nil, err
	}
	a.languages = map[string]func() *Words{}
	for _, name := range lists {
		language := strings.TrimSuffix(strings.TrimPrefix(name, "words-"), ".gz")
		a.languages[language] = sync.OnceValue(func() *Words { return a.readWords(language) })
	}
	return a, nil
}

// Bounds of what files may hold: a list, also once unpacked, and a head.
const (
	maxListBytes = 16 << 20
	maxHeadBytes = 64 << 20
)

// readWords reads the words of a language. Without them nothing is drafted, which costs only time,
// so an unreadable list counts as none.
func (a *Assistant) readWords(language string) *Words {
	list, listErr := unpack(a.files, "words-"+language+".gz")
	pairs, pairsErr := unpack(a.files, "pairs-"+language+".gz")
	w, err := ReadWords(list, pairs)
	if err != nil || listErr != nil || pairsErr != nil && !errors.Is(pairsErr, fs.ErrNotExist) {
		return nil
	}
	return w
}

func unpack(files fs.FS, name string) ([]byte, error) {
	b, err := input.ReadFS(files, name, maxListBytes)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxListBytes))
}
