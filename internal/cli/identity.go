package cli

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

	"verity/internal/machine"
	"verity/internal/options"
	"verity/model"
	"verity/synth"
	"verity/transcribe"
	"verity/transcript"
)

// identity describes a run in its records: made are the flags that decide the records.
func identity(l *loaded, flags *modelFlags, made *pflag.FlagSet, dataset string) transcript.Maker {
	m := maker(l, flags, made)
	m.Dataset, m.Machine, m.Threads = dataset, machineName(), l.Threads()
	for _, name := range []string{"model", "assistant", "draft-from", "threads"} {
		delete(m.Options, name)
	}
	return *m
}

// maker describes what makes transcripts: made are the flags that decide them. The
// precision is known once the model is loaded.
func maker(l *loaded, flags *modelFlags, made *pflag.FlagSet) *transcript.Maker {
	by := &transcript.Maker{
		Program: code(), Model: flags.name, ModelID: fingerprint(l.checkpoint),
		Assistant: assistantName(flags), Options: map[string]string{},
	}
	if synth.Planted(l.checkpoint.FS()) != nil {
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
func precisions(l *loaded, flags *modelFlags) (target, drafts string) {
	if l.Model != nil {
		target = l.Encoder().Precision().String()
	}
	switch transcribe.Method(flags.assistant.method(flags.name)) {
	case transcribe.None, transcribe.NGram, transcribe.Bigram:
		return target, ""
	}
	return target, flags.assistant.inPrecision().String()
}

// assistantName returns the name of the assistant that the flags select; empty means
// none.
func assistantName(m *modelFlags) string {
	var names []string
	if m.assistant.from != "" {
		names = append(names, "text of "+m.assistant.from)
	}
	if name := m.assistant.method(m.name); name != string(transcribe.None) {
		names = append(names, name)
	}
	return strings.Join(names, ", then ")
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
		case kv.Key == "vcs.revision" && strings.HasPrefix(kv.Value, version): // a version that is a commit
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

// resident is how much memory this process has in use, 0 if the system does not
// say.
func resident() int64 {
	debug.FreeOSMemory()
	now, _, _ := machine.Resident()
	return now
}
