package setup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"verity/internal/command"
	"verity/internal/machine"
	"verity/internal/options"
	"verity/model"
	"verity/synth"
	"verity/transcribe"
	"verity/transcript"
)

// Identity describes a run in its records: made are the flags that decide the records.
func Identity(l *Model, flags *ModelFlags, made *pflag.FlagSet, dataset string) transcript.Maker {
	m := Maker(l, flags, made)
	m.Dataset, m.Machine, m.Threads = dataset, machineName(), l.Threads()
	for _, name := range []string{"model", "assistant", "draft-from", "threads"} {
		delete(m.Options, name)
	}
	return *m
}

// Maker describes what makes transcripts: made are the flags that decide them. The
// precision is known once the model is loaded.
func Maker(l *Model, flags *ModelFlags, made *pflag.FlagSet) *transcript.Maker {
	by := &transcript.Maker{
		Program: code(), Model: flags.Name, ModelID: fingerprint(l.Checkpoint),
		Assistant: assistantName(flags), Options: map[string]string{},
	}
	if synth.Planted(l.Checkpoint.FS()) != nil {
		by.Model += " (planted text)"
		by.Planted = true
	}
	by.Precision, by.AssistantPrecision = precisions(l, flags)
	made.VisitAll(func(f *pflag.Flag) {
		if v := f.Value.String(); v != options.Find(f.Name).Zero() {
			by.Options[f.Name] = v
		}
	})
	return by
}

// precisions returns the formats of the weights of a loaded model and of its assistant.
func precisions(l *Model, flags *ModelFlags) (target, drafts string) {
	if l.Model != nil {
		target = l.Encoder().Precision().String()
	}
	switch transcribe.Method(flags.Assistant.Method(flags.Name)) {
	case transcribe.None, transcribe.NGram, transcribe.Bigram:
		return target, ""
	}
	return target, flags.Assistant.inPrecision().String()
}

// assistantName returns the name of the assistant that the flags select; empty means
// none.
func assistantName(m *ModelFlags) string {
	var names []string
	if m.Assistant.From != "" {
		names = append(names, "text of "+m.Assistant.From)
	}
	if name := m.Assistant.Method(m.Name); name != string(transcribe.None) {
		names = append(names, name)
	}
	return strings.Join(names, ", then ")
}

// code is the version of this program: with the commit, if it was built from one.
func code() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return command.Version
	}
	s := command.Version
	for _, kv := range info.Settings {
		switch {
		case kv.Key == "vcs.revision" && strings.HasPrefix(kv.Value, command.Version): // a version that is a commit
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
	if err := c.Reading(func() error { hashEnds(h, c); return nil }); err != nil {
		return "changed"
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// hashEnds hashes both ends of all weights.
func hashEnds(h hash.Hash, c *model.Checkpoint) {
	for _, name := range slices.Sorted(slices.Values(c.Names())) {
		w, err := c.Weight(name)
		if err != nil {
			continue // not one of the network's
		}
		fmt.Fprintln(h, name, w)
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(w.Data))))
		h.Write(w.Data[:min(len(w.Data), 256)])
		h.Write(w.Data[max(0, len(w.Data)-256):])
	}
}

// machineName returns a description of this machine.
func machineName() string {
	s := runtime.GOOS + "/" + runtime.GOARCH
	if cpu := machine.CPU(); cpu != runtime.GOARCH {
		s += ", " + cpu
	}
	return s
}

// Resident is how much memory this process has in use, 0 if the system does not
// say.
func Resident() int64 {
	debug.FreeOSMemory()
	now, _, _ := machine.Resident()
	return now
}
