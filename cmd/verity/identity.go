package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"verity/audio"
	"verity/eval"
	"verity/model"
	"verity/report"
	"verity/synth"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// A modelEngine is an eval.Engine that knows which words were drafted.
type modelEngine struct {
	*transcribe.Transcriber
	tok      *tokenizer.Tokenizer
	decoding func() time.Duration // so far
}

// engineOf makes an engine of a model.
func engineOf(m *transcribe.Model, o transcribe.Options) (eval.Engine, error) {
	o.MarkDrafts = true
	t, err := transcribe.New(m, o)
	if err != nil {
		return nil, inFlag(err)
	}
	return modelEngine{t, m.Tokenizer, m.Decoding}, nil
}

// Decoding implements eval.Clock.
func (e modelEngine) Decoding() time.Duration { return e.decoding() }

// Transcribe implements eval.Engine.
func (e modelEngine) Transcribe(ctx context.Context, clip *audio.Clip) (*transcript.Transcript, error) {
	return e.Transcriber.Transcribe(ctx, clip, transcribe.Watch{})
}

// Pieces implements eval.Marker: a word is accepted if all its tokens were
// drafted. Without any draft there are no pieces.
func (e modelEngine) Pieces(s transcript.Segment, language string) (pieces []report.Piece) {
	if !slices.Contains(s.Accepted, true) {
		return nil
	}
	var text []tokenizer.Token
	var drafted []bool
	for i, t := range s.Tokens {
		if e.tok.IsText(t) {
			text, drafted = append(text, t), append(drafted, s.Accepted[i])
		}
	}
	words, groups := e.tok.SplitToWords(text, language)
	for i, w := range words {
		n := len(groups[i])
		pieces = append(pieces, report.Piece{Text: w, Accepted: !slices.Contains(drafted[:n], false)})
		drafted = drafted[n:]
	}
	return pieces
}

// identity says what makes records: made are the flags that decide on them.
func identity(e *engine, flags *modelFlags, made *pflag.FlagSet, dataset string) report.Run {
	threads := flags.threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	r := report.Run{
		Code: code(), Model: flags.name, ModelID: fingerprint(e.checkpoint), Dataset: dataset,
		Assistant: drafterOf(flags), Machine: machine(), Threads: threads, Options: map[string]string{},
	}
	if synth.Planted(e.checkpoint.FS()) != nil {
		r.Model += " (planted text)"
		r.Planted = true
	}
	made.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains([]string{"model", "assistant", "threads"}, f.Name) {
			r.Options[f.Name] = f.Value.String()
		}
	})
	return r
}

// drafterOf names the assistant that the flags come to; empty means none.
func drafterOf(m *modelFlags) string {
	switch {
	case m.assistant.name == "none", m.assistant.name == "auto" && m.name != demoName:
		return ""
	case m.assistant.name == "auto":
		return demoName
	}
	return m.assistant.name
}

// code is the version of this program: with the commit, if it was built from one.
func code() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	s := version
	for _, kv := range info.Settings {
		switch {
		case kv.Key == "vcs.revision":
			s += " " + kv.Value[:min(len(kv.Value), 12)]
		case kv.Key == "vcs.modified" && kv.Value == "true":
			s += "+changes"
		}
	}
	return s
}

// fingerprint is a hash of the names, shapes, types and both ends of all weights:
// enough to tell checkpoints apart without reading gigabytes.
func fingerprint(c *model.Checkpoint) string {
	h := sha256.New()
	for _, name := range slices.Sorted(slices.Values(c.Names())) {
		t, err := c.Tensor(name)
		if err != nil {
			continue // not one of the network's
		}
		fmt.Fprintln(h, name, t.Shape, t.DType)
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(t.Data))))
		h.Write(t.Data[:min(len(t.Data), 256)])
		h.Write(t.Data[max(0, len(t.Data)-256):])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// machine says what this ran on.
func machine() string {
	s := runtime.GOOS + "/" + runtime.GOARCH
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return s
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
			return s + ", " + strings.TrimSpace(v)
		}
	}
	return s
}

// resident is how much memory this process has in use, 0 if the system does not
// say.
func resident() int64 {
	debug.FreeOSMemory()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
