package cli

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"verity"
	"verity/internal/input"
	"verity/internal/machine"
	"verity/model"
	"verity/model/synth"
	"verity/transcribe"
	"verity/transcript"
)

// Identity describes a run of a model by flags over a dataset in its records: what Maker says, with the machine.
func Identity(l *verity.Model, flags *ModelFlags, textFlags *pflag.FlagSet, dataset string) transcript.Provenance {
	m := maker(l, flags, textFlags)
	m.Dataset, m.Machine, m.Threads = dataset, runtime.GOOS+"/"+runtime.GOARCH, l.Pool.Threads()
	if cpu := machine.CPU(); cpu != runtime.GOARCH {
		m.Machine += ", " + cpu
	}
	for _, name := range []string{"model", "assistant", "draft-from", "threads"} {
		delete(m.Options, name)
	}
	return *m
}

// Maker describes what makes the transcripts of a run.
func (r *Run) Maker(l *verity.Model) *transcript.Provenance { return maker(l, &r.Model, r.TextFlags) }

func maker(l *verity.Model, flags *ModelFlags, textFlags *pflag.FlagSet) *transcript.Provenance {
	var drafting []string
	if flags.Assistant.From != "" {
		drafting = append(drafting, "text of "+flags.Assistant.From)
	}
	method := flags.Assistant.For(flags.Name)
	if l.Model.Assisted() {
		drafting = append(drafting, method)
	}
	by := &transcript.Provenance{
		Program: Code(), Model: flags.Name, ModelID: fingerprint(l.Checkpoint),
		Precision: l.Encoder.Precision().String(), Assistant: strings.Join(drafting, ", then "), Options: map[string]string{},
	}
	if synth.Planted(l.Checkpoint.FS()) != nil {
		by.Model += " (planted text)"
		by.Planted = true
	}
	switch transcribe.Method(method) {
	case transcribe.None, transcribe.Encoder, transcribe.NGram, transcribe.Bigram:
	default:
		by.AssistantPrecision = transcribe.AssistantPrecision(flags.Assistant.Precision).String()
	}
	textFlags.VisitAll(func(f *pflag.Flag) {
		if v := f.Value.String(); v != Find(f.Name).DefaultText() {
			if f.Name == "terms" || f.Name == "speaker-names" {
				v += " " + contentHash(v)
			}
			by.Options[f.Name] = v
		}
	})
	return by
}

// contentHash returns a hash of a small file, so that a run over other terms is not taken for the same.
func contentHash(path string) string {
	text, err := input.Read(context.Background(), path, transcribe.MaxTermsText)
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Code is the version of this program, with the commit it was built from if that is known.
func Code() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	s := Version
	for _, kv := range info.Settings {
		switch {
		case kv.Key == "vcs.revision" && strings.HasPrefix(kv.Value, Version): // a version that is a commit
			s = kv.Value[:min(len(kv.Value), 12)]
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
	err := c.Reading(func() error {
		for _, name := range slices.Sorted(slices.Values(c.Names())) {
			w, err := c.Weight(name)
			if err != nil {
				continue // not part of the network
			}
			fmt.Fprintln(h, name, w)
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(w.Data))))
			h.Write(w.Data[:min(len(w.Data), 256)])
			h.Write(w.Data[max(0, len(w.Data)-256):])
		}
		return nil
	})
	if err != nil {
		return "changed"
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Resident gives free memory back to the system and returns how many bytes this process still
// uses; 0 if the system does not report them.
func Resident() int64 {
	debug.FreeOSMemory()
	now, _, _ := machine.Resident()
	return now
}
