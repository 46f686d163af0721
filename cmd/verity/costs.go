package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"verity/assistant"
)

// A memory keeps what auto policies learn of time, from one run to the next, in a
// file for each machine, model and precision. It decides on time alone, never on
// text, so nothing that goes wrong with it is more than a line of a debug log.
type memory struct {
	path string
	work work
	auto *assistant.Auto
}

// A work is what costs depend on.
type work struct {
	Machine, Model, Precision     string
	Assistant, AssistantPrecision string
	Shortlist                     int
	Threads                       int
	Disabled                      string // instruction sets, by VERITY_DISABLE
}

// A remembered is the content of the file.
type remembered struct {
	Schema string          `json:"schema"`
	Work   work            `json:"work"`
	Costs  assistant.Costs `json:"costs"`
}

const costsSchema = "verity.costs/2"

// remember gives the engine's auto policies a memory. VERITY_CACHE is the
// directory instead of the user's own; off keeps nothing.
func (m *modelFlags) remember(l *loaded) {
	if _, none := l.Assistant().(assistant.Off); none || m.assistant.policy != "auto" || m.assistant.tokens.fixed {
		return
	}
	dir := os.Getenv("VERITY_CACHE")
	if dir == "off" {
		return
	}
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			slog.Debug("costs of drafting are not kept", "error", err)
			return
		}
		dir = filepath.Join(user, "verity")
	}
	k := &memory{auto: m.assistant.auto, work: work{
		Machine: machine(), Model: fingerprint(l.checkpoint), Precision: m.precision.String(),
		Assistant: m.assistant.name, AssistantPrecision: m.assistant.precision.String(),
		Shortlist: m.assistant.shortlist,
		Threads:   l.Threads(), Disabled: os.Getenv("VERITY_DISABLE"),
	}}
	if full, err := filepath.Abs(m.assistant.name); err == nil && m.assistant.name != demoName {
		if _, err := os.Stat(full); err == nil {
			k.work.Assistant = full
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", k.work))
	k.path = filepath.Join(dir, "costs-"+hex.EncodeToString(sum[:8])+".json")
	k.read()
	l.closers = append(l.closers, k)
}

// read recalls the last run, if there was one.
func (k *memory) read() {
	raw, err := os.ReadFile(k.path)
	if err != nil {
		slog.Debug("no costs of drafting from an earlier run", "error", err)
		return
	}
	var r remembered
	if err := json.Unmarshal(raw, &r); err != nil || r.Schema != costsSchema || r.Work != k.work {
		slog.Debug("costs of drafting cannot be used", "file", k.path, "error", err)
		return
	}
	k.auto.Recall(r.Costs) // or not, if they cannot be true: it learns
}

// Close writes what was learnt. Nobody must decode any more.
func (k *memory) Close() error {
	costs, enough := k.auto.Costs()
	if !enough {
		return nil
	}
	raw, err := json.MarshalIndent(remembered{costsSchema, k.work, costs}, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(k.path), 0o777)
	}
	if err == nil {
		err = replace(k.path, slices.Concat(raw, []byte("\n")))
	}
	if err != nil {
		slog.Debug("costs of drafting are not kept", "error", err)
	}
	return nil
}
